// SPDX-License-Identifier: Apache-2.0
//
// What an administrator says about queries of one shape (setQuerySettings): which indexes they may
// use, or that they are refused. Kept in memory here; the command keeps them on disk.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "quire/bson.h"

namespace quire::engine {

struct QuerySetting {
  std::string hash;      // of the shape: 64 hexadecimal digits
  bson::Document query;  // a query of that shape; empty when only the hash was given
  bson::Document settings;
};

// Safe for concurrent use.
class QuerySettings {
 public:
  bool empty() const { return size_.load(std::memory_order_acquire) == 0; }
  std::optional<QuerySetting> Find(const std::string& hash) const;
  // What Put would make of it: fields of `settings` replace those that are there already.
  QuerySetting Merged(const std::string& hash, bson::View query, bson::View settings) const;
  void Put(QuerySetting setting);
  void Remove(const std::string& hash);
  std::vector<QuerySetting> All() const;

 private:
  mutable SharedMutex mutex_;
  std::map<std::string, QuerySetting> by_hash_ QUIRE_GUARDED_BY(mutex_);
  std::atomic<size_t> size_{0};
};

}  // namespace quire::engine
