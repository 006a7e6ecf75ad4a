// SPDX-License-Identifier: Apache-2.0
//
// Of how many commands of those who have not logged in the audit log is told: so many of an address
// in a second. The others are counted.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/mutex.h"

namespace quire::command {

// Safe for concurrent use. The memory is fixed: addresses may share a place, and what it allows.
class StrangerEvents {
 public:
  static constexpr int kPerSecond = 10;

  // Whether it is told of one more of the address; counts it otherwise.
  bool Take(std::string_view origin, std::chrono::seconds now);
  // How many were only counted since the last call that returned some: once in a second.
  int64_t TakeUntold(std::chrono::seconds now);
  // The same whenever it is.
  int64_t TakeRest();

 private:
  struct Place {
    std::chrono::seconds second{-1};
    int told = 0;
  };

  Mutex mutex_;
  std::array<Place, 1024> places_ QUIRE_GUARDED_BY(mutex_);
  int64_t untold_ QUIRE_GUARDED_BY(mutex_) = 0;
  std::chrono::seconds counted_ QUIRE_GUARDED_BY(mutex_){0};  // when the first of them was
};

}  // namespace quire::command
