// SPDX-License-Identifier: Apache-2.0
//
// The highest key that writers gave an index since the process started, or that it had before: a
// key above it is new, which needs no look into the store. Keys of documents mostly ascend, those
// made by drivers do.
#pragma once

#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/try.h"

namespace quire::store {

// Safe for concurrent use. Keys that were given but not committed count: it may be too high, never
// too low, as long as every writer of the index asks before it commits.
class HighestKey {
 public:
  // Whether `key` is above all of them; if so it is the highest from now on. `read_last`, called
  // by the first who asks, gives the index's last key as its transaction sees it, or "".
  template <typename ReadLast>
  Result<bool> Raise(std::string_view key, const ReadLast& read_last) {
    MutexLock lock(mutex_);
    if (!known_) {
      ASSIGN_OR_RETURN(highest_, read_last());
      known_ = true;
    }
    if (key <= highest_) {
      return false;
    }
    highest_ = key;
    return true;
  }

 private:
  Mutex mutex_;
  bool known_ QUIRE_GUARDED_BY(mutex_) = false;
  std::string highest_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::store
