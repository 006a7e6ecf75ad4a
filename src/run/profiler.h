// SPDX-License-Identifier: Apache-2.0
//
// The profiler: which finished operations are kept in their database's system.profile.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "expr/match/match.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "request/call.h"

namespace quire::run {

class Backend;

// The collection that keeps a database's operations.
std::string ProfileNamespace(std::string_view database);

// Safe for concurrent use.
class Profiler {
 public:
  // 0: nothing, 1: what is slow, 2: everything.
  struct Settings {
    int level = 0;
    std::shared_ptr<const expr::match::Filter> filter;  // null: by slowness; else it decides
  };

  Settings Get(std::string_view database);
  void Set(std::string_view database, Settings settings);
  // The database was dropped: its settings are the default again.
  void Forget(std::string_view database);
  // Whether its operations are looked at.
  bool Watches(std::string_view database);
  double sample_rate() const { return sample_rate_; }
  void SetSampleRate(double rate) { sample_rate_ = rate; }

  // Lets the backend keep the operation in system.profile when the settings ask for it.
  void Record(const request::Call& call, const Status& status, std::chrono::microseconds took,
              int64_t slow_millis, Backend& backend);

 private:
  // Recomputes active_.
  void Changed() QUIRE_REQUIRES(mutex_);

  std::atomic<bool> active_{false};  // some database has a level above 0
  std::atomic<double> sample_rate_{1.0};
  Mutex mutex_;
  std::map<std::string, Settings, std::less<>> databases_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::run
