// SPDX-License-Identifier: Apache-2.0
//
// Settings of the whole cluster that commands act on. They are stored (admin.system.version,
// config.settings, config.clusterParameters) and read again at start.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/version.h"
#include "engine/engine.h"

namespace quire::command {

// Where they are stored; the featureCompatibilityVersion is in stored_version.h.
inline constexpr std::string_view kClusterParameters = "config.clusterParameters";
inline constexpr std::string_view kClusterSettings = "config.settings";
inline constexpr std::string_view kWriteBlockId = "userWriteBlockMode";

// Safe for concurrent use.
class ClusterSettings {
 public:
  // Reads what is stored.
  void Load(engine::Engine& engine);

  // featureCompatibilityVersion.
  std::string version();
  // Users' writes are refused (setUserWriteBlockMode), and why.
  bool writes_blocked() const { return writes_blocked_.load(std::memory_order_relaxed); }
  std::string block_reason();
  // maxTimeMS of reads that give none; 0: no limit.
  int64_t read_millis() const { return read_millis_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> writes_blocked_{false};
  std::atomic<int64_t> read_millis_{0};
  Mutex mutex_;
  std::string version_ QUIRE_GUARDED_BY(mutex_){kFeatureCompatibilityVersion};
  std::string block_reason_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::command
