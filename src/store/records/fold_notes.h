// SPDX-License-Identifier: Apache-2.0
//
// Numbers of groups that are worth folding (fold.h), noted by who meets them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "base/mutex.h"

namespace quire::store {

// Safe for concurrent use. Bounded: what has no room is noted by the next who meets it.
class FoldNotes {
 public:
  void Add(int64_t number) {
    constexpr size_t kMost = 1 << 16;
    MutexLock lock(mutex_);
    if (numbers_.size() < kMost) {
      numbers_.insert(number);
    }
  }
  // Takes out up to so many, the lowest first.
  std::vector<int64_t> Take(size_t most) {
    MutexLock lock(mutex_);
    std::vector<int64_t> taken;
    while (!numbers_.empty() && taken.size() < most) {
      taken.push_back(*numbers_.begin());
      numbers_.erase(numbers_.begin());
    }
    return taken;
  }

 private:
  Mutex mutex_;
  std::set<int64_t> numbers_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::store
