// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "request/network_stats.h"
#include "server/admission_internal.h"
#include "server/timeouts_internal.h"

namespace quire::server {

std::string_view Admission::Enter(const std::string& origin) {
  MutexLock lock(mutex_);
  if (all_ >= most_) {
    return "there are too many open connections";
  }
  if (!origin.empty()) {
    const auto share = static_cast<size_t>(
        request::ShareOf(static_cast<int64_t>(most_), limits_->connections_per_address.load()));
    size_t& mine = by_origin_[origin];
    if (mine >= share) {
      return "there are too many open connections from its address";
    }
    ++mine;
  }
  ++all_;
  return "";
}

void Admission::Leave(const std::string& origin) {
  MutexLock lock(mutex_);
  --all_;
  auto mine = by_origin_.find(origin);
  if (mine != by_origin_.end() && --mine->second == 0) {
    by_origin_.erase(mine);
  }
}

void Admission::Refused(std::string_view remote, std::string_view why) {
  constexpr int64_t kLogMillis = 1000;
  request::Network().connections_rejected.fetch_add(1, std::memory_order_relaxed);
  int64_t not_logged = 0;
  size_t count = 0;
  {
    MutexLock lock(mutex_);
    const int64_t now = NowMillis();
    if (now < next_log_) {
      ++not_logged_;
      return;
    }
    next_log_ = now + kLogMillis;
    not_logged = std::exchange(not_logged_, 0);
    count = all_;
  }
  log::Warning("NETWORK", "Connection refused because " + std::string(why),
               {{"remote", remote}, {"connectionCount", count}, {"refusedBefore", not_logged}});
}

}  // namespace quire::server
