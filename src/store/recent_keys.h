// SPDX-License-Identifier: Apache-2.0
//
// What is known of an index's keys without a look into the store: every key above the floor that
// writers gave it since the process started is among the recent ones, or was it. A key above the
// floor that is not among them is new. Keys of documents mostly ascend, those made by drivers do;
// several clients ascend side by side, a little behind each other.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/keyed_hash.h"
#include "base/mutex.h"
#include "base/try.h"

namespace quire::store {

// Keys of which no more is kept than their hashes: it may take one for another. It grows with them.
class KeyHashes {
 public:
  size_t size() const { return size_; }
  bool Has(uint64_t hash) const { return !slots_.empty() && slots_[Find(hash)] != 0; }
  // REQUIRES: not 0, not there yet.
  void Add(uint64_t hash) {
    if (slots_.size() < 2 * (size_ + 1)) {
      Grow();
    }
    slots_[Find(hash)] = hash;
    ++size_;
  }

 private:
  // Where the hash is, or would be.
  size_t Find(uint64_t hash) const {
    size_t at = hash & (slots_.size() - 1);
    while (slots_[at] != 0 && slots_[at] != hash) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }
  void Grow() {
    constexpr size_t kFirst = 16;
    const std::vector<uint64_t> old =
        std::exchange(slots_, std::vector<uint64_t>(std::max(kFirst, 2 * slots_.size())));
    for (uint64_t hash : old) {
      if (hash != 0) {
        slots_[Find(hash)] = hash;
      }
    }
  }

  std::vector<uint64_t> slots_;  // a power of two of them; 0: free
  size_t size_ = 0;
};

// Safe for concurrent use. Keys that were given but not committed count: it may deny what is new,
// and never takes for new what is there, as long as every writer of the index asks before it
// commits.
class RecentKeys {
 public:
  // So many keys are remembered, and up to as many again.
  static constexpr size_t kRemembered = 4096;

  // Whether `key` is known to be new; it is not from now on. `read_last`, called by the first who
  // asks, gives the index's last key as its transaction sees it, or "".
  template <typename ReadLast>
  Result<bool> IsNew(std::string_view key, const ReadLast& read_last) {
    const uint64_t hash = KeyedHash(key) | 1;
    MutexLock lock(mutex_);
    if (!known_) {
      ASSIGN_OR_RETURN(floor_, read_last());
      known_ = true;
    }
    asked_ = true;
    if (key.compare(floor_) <= 0 || newer_.Has(hash) || older_.Has(hash)) {
      return false;
    }
    if (newer_.size() == kRemembered) {
      floor_ = std::max(std::move(floor_), std::exchange(highest_older_, highest_newer_));
      older_ = std::exchange(newer_, KeyHashes());
    }
    newer_.Add(hash);
    if (key.compare(highest_newer_) > 0) {
      highest_newer_ = key;
    }
    return true;
  }

  // Gives back what the recent keys take when nobody has asked since the last call; those that are
  // known to be new are above all of them then.
  void ForgetUnasked() {
    MutexLock lock(mutex_);
    if (std::exchange(asked_, false)) {
      return;
    }
    floor_ = std::max(std::move(floor_), highest_newer_);
    older_ = KeyHashes();
    newer_ = KeyHashes();
    highest_older_ = std::string();
  }

 private:
  Mutex mutex_;
  bool known_ QUIRE_GUARDED_BY(mutex_) = false;
  bool asked_ QUIRE_GUARDED_BY(mutex_) = false;
  std::string floor_ QUIRE_GUARDED_BY(mutex_);
  KeyHashes older_ QUIRE_GUARDED_BY(mutex_);
  KeyHashes newer_ QUIRE_GUARDED_BY(mutex_);
  std::string highest_older_ QUIRE_GUARDED_BY(mutex_);  // of them and those before
  std::string highest_newer_ QUIRE_GUARDED_BY(mutex_);  // of all
};

}  // namespace quire::store
