// SPDX-License-Identifier: Apache-2.0
//
// How far the index builds under way are, for currentOp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/op_context.h"

namespace quire::store {

struct BuildProgress {
  std::string phase;  // "scanning collection"
  int64_t done = 0;
  int64_t total = 0;
};

// Safe for concurrent use.
class BuildTable {
 public:
  void Set(const OpContext& op, BuildProgress progress) {
    MutexLock lock(mutex_);
    builds_[&op] = std::move(progress);
  }
  void Remove(const OpContext& op) {
    MutexLock lock(mutex_);
    builds_.erase(&op);
  }
  std::optional<BuildProgress> Of(const OpContext& op) const {
    MutexLock lock(mutex_);
    auto it = builds_.find(&op);
    return it == builds_.end() ? std::nullopt : std::optional(it->second);
  }

 private:
  mutable Mutex mutex_;
  std::map<const OpContext*, BuildProgress> builds_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::store
