// SPDX-License-Identifier: Apache-2.0
//
// Which index serves a query: by rule, and by trying.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/error.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

struct IndexAdvice {
  bson::Document keys;  // equality fields, then the sort's in its order, then ranges
  std::vector<std::string> warnings;
};

// `sort` fields may have a `-` in front: descending. A field counts once, in the first group.
IndexAdvice AdviseIndex(const std::vector<std::string>& equality,
                        const std::vector<std::string>& sort,
                        const std::vector<std::string>& range);

struct IndexTrial {
  std::string keys;  // as JSON
  int64_t keys_examined = 0;
  int64_t documents_examined = 0;
  int64_t returned = 0;
  bool sorts_in_memory = false;
};

// Runs the query with each of the indexes (JSON) and ranks them: fewest keys and documents
// examined first, those that sort in memory last. Indexes that did not exist are built and dropped
// again.
Result<std::vector<IndexTrial>> CompareIndexes(const Client& client, std::string_view database,
                                               std::string_view collection,
                                               const bson::Document& filter,
                                               const bson::Document& sort,
                                               const std::vector<std::string>& indexes);

}  // namespace quire::patterns
