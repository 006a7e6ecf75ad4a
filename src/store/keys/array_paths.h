// SPDX-License-Identifier: Apache-2.0
//
// The paths at which a wildcard index has met arrays.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/mutex.h"

namespace quire::store {

// Safe for concurrent use. Paths are never forgotten.
class ArrayPaths {
 public:
  bool Has(std::string_view path) const {
    ReaderLock lock(mutex_);
    return known_.find(path) != known_.end();
  }
  bool empty() const {
    ReaderLock lock(mutex_);
    return known_.empty();
  }
  std::set<std::string, std::less<>> All() const {
    ReaderLock lock(mutex_);
    return known_;
  }
  void Add(const std::string& path) {
    WriterLock lock(mutex_);
    known_.insert(path);
  }

  // Whether the store knows the path as well.
  bool IsKept(std::string_view path) const {
    ReaderLock lock(mutex_);
    return kept_.find(path) != kept_.end();
  }
  void Keep(const std::string& path) {
    WriterLock lock(mutex_);
    known_.insert(path);
    kept_.insert(path);
  }

 private:
  mutable SharedMutex mutex_;
  std::set<std::string, std::less<>> known_ QUIRE_GUARDED_BY(mutex_);
  std::set<std::string, std::less<>> kept_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::store
