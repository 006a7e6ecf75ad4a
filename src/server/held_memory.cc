// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "server/held_memory_internal.h"
#include "server/timeouts_internal.h"

namespace quire::server {

bool HeldMemory::Note(Holder& holder, size_t bytes) {
  if (bytes == holder.bytes) [[likely]] {
    return true;
  }
  if (bytes <= kLittle && holder.bytes <= kLittle) {
    bytes_.fetch_add(bytes - holder.bytes, std::memory_order_relaxed);
    holder.bytes = bytes;
    return true;
  }
  MutexLock lock(mutex_);
  if (holder.ended) {
    return false;
  }
  if (bytes > kLittle && holder.bytes <= kLittle) {
    holder.since = NowMillis();
    holders_.insert(&holder);
  } else if (bytes <= kLittle) {
    holders_.erase(&holder);
  }
  const bool more = bytes > holder.bytes;
  bytes_.fetch_add(bytes - holder.bytes, std::memory_order_relaxed);
  holder.bytes = bytes;
  if (more) {
    GiveWay();
  }
  return !holder.ended;
}

void HeldMemory::GiveWay() {
  while (bytes() > limit_ && !holders_.empty()) {
    Holder* slowest = Slowest();
    log::Warning("NETWORK", "Connections hold too much memory, closing the slowest",
                 {{"address", slowest->origin}, {"bytes", slowest->bytes}});
    (void)shutdown(slowest->fd, SHUT_RDWR);
    bytes_.fetch_sub(slowest->bytes, std::memory_order_relaxed);
    // Its count stays as it is, above a little, so that it comes here when it is next noted.
    slowest->ended = true;
    holders_.erase(slowest);
  }
}

Holder* HeldMemory::Slowest() const {
  const int64_t now = NowMillis();
  auto weight = [now](const Holder& holder) {
    return static_cast<double>(holder.bytes) * static_cast<double>(now - holder.since + 1);
  };
  std::map<std::string_view, double> by_origin;
  for (const Holder* holder : holders_) {
    by_origin[holder->origin] += weight(*holder);
  }
  const auto heaviest =
      std::max_element(by_origin.begin(), by_origin.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  Holder* slowest = nullptr;
  for (Holder* holder : holders_) {
    if (holder->origin == heaviest->first &&
        (slowest == nullptr || weight(*holder) > weight(*slowest))) {
      slowest = holder;
    }
  }
  return slowest;
}

}  // namespace quire::server
