// SPDX-License-Identifier: Apache-2.0
#include "command/auth/stranger_events.h"

#include <utility>

#include "base/keyed_hash.h"

namespace quire::command {

bool StrangerEvents::Take(std::string_view origin, std::chrono::seconds now) {
  MutexLock lock(mutex_);
  Place& place = places_[KeyedHash(origin) % places_.size()];
  if (place.second != now) {
    place = {now, 0};
  }
  if (place.told < kPerSecond) {
    ++place.told;
    return true;
  }
  if (untold_++ == 0) {
    counted_ = now;
  }
  return false;
}

int64_t StrangerEvents::TakeUntold(std::chrono::seconds now) {
  MutexLock lock(mutex_);
  return counted_ == now ? 0 : std::exchange(untold_, 0);
}

int64_t StrangerEvents::TakeRest() {
  MutexLock lock(mutex_);
  return std::exchange(untold_, 0);
}

}  // namespace quire::command
