// SPDX-License-Identifier: Apache-2.0
//
// How many connections there may be, of all and of one address, and what is said of those refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "request/network_limits.h"

namespace quire::server {

// Safe for concurrent use.
class Admission {
 public:
  Admission(size_t most, const request::NetworkLimits* limits) : most_(most), limits_(limits) {}

  // Why not; empty: the connection is in, until Leave. Unix sockets count with all only.
  std::string_view Enter(const std::string& origin);
  void Leave(const std::string& origin);

  // Logs a refusal, at most once a second, with the number of those not logged.
  void Refused(std::string_view remote, std::string_view why);

 private:
  const size_t most_;
  const request::NetworkLimits* const limits_;
  Mutex mutex_;
  size_t all_ QUIRE_GUARDED_BY(mutex_) = 0;
  std::map<std::string, size_t> by_origin_ QUIRE_GUARDED_BY(mutex_);
  int64_t next_log_ QUIRE_GUARDED_BY(mutex_) = 0;
  int64_t not_logged_ QUIRE_GUARDED_BY(mutex_) = 0;
};

}  // namespace quire::server
