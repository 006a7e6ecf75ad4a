// SPDX-License-Identifier: Apache-2.0
//
// Every query that a system sends, explained: none scans a collection or sorts in memory, and none
// looks at more keys than it returns, and one for each interval.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>

#include "patterns/testing/world.h"

namespace quire::patterns {

// Collects queries of any number of clients; those that differ in values alone are one path.
class QueryPaths : public QueryHook {
 public:
  void Asks(const bson::Document& query) override;

  // Asks explain about the queries of every path seen. `exceptions` are paths
  // ("find collection field,field", "aggregate collection $stage...") that look at more on purpose.
  // Every exception must have been seen.
  void ExpectIndexed(const Store& store, const std::set<std::string>& exceptions = {}) const;

 private:
  static constexpr size_t kPerPath = 5;

  mutable std::mutex mutex_;
  std::map<std::string, std::set<std::string>> queries_;  // by path, as JSON
};

}  // namespace quire::patterns
