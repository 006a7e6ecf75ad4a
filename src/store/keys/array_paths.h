// SPDX-License-Identifier: Apache-2.0
//
// The paths at which a wildcard index has met arrays.
#pragma once

#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>

namespace quire::store {

// Safe for concurrent use. Paths are never forgotten.
class ArrayPaths {
 public:
  bool Has(std::string_view path) const {
    std::shared_lock lock(mutex_);
    return known_.find(path) != known_.end();
  }
  bool empty() const {
    std::shared_lock lock(mutex_);
    return known_.empty();
  }
  std::set<std::string, std::less<>> All() const {
    std::shared_lock lock(mutex_);
    return known_;
  }
  void Add(const std::string& path) {
    std::unique_lock lock(mutex_);
    known_.insert(path);
  }

  // Those that the store knows as well.
  bool IsKept(std::string_view path) const {
    std::shared_lock lock(mutex_);
    return kept_.find(path) != kept_.end();
  }
  void Keep(const std::string& path) {
    std::unique_lock lock(mutex_);
    known_.insert(path);
    kept_.insert(path);
  }

 private:
  mutable std::shared_mutex mutex_;
  std::set<std::string, std::less<>> known_;  // protected by mutex_
  std::set<std::string, std::less<>> kept_;   // protected by mutex_
};

}  // namespace quire::store
