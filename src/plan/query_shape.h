// SPDX-License-Identifier: Apache-2.0
//
// What queries have in common that differ only in constants.
#pragma once

#include <string>

#include "plan/query.h"

namespace quire::plan {

struct QueryShape {
  std::string key;             // equal for queries that may share a plan
  std::string query_hash;      // of filter, sort, projection and collation
  std::string plan_cache_key;  // of these and of which indexes the constants allow
};

// REQUIRES: query.filter.
QueryShape ShapeOf(const QuerySpec& query);
// The hash that explain shows of `query`, whose shape is `shape`: with what follows it in its
// pipeline.
std::string ExplainedHash(const QuerySpec& query, const QueryShape& shape);

}  // namespace quire::plan
