// SPDX-License-Identifier: Apache-2.0
//
// Which documents keep an index from being unique.
#pragma once

#include <cstddef>
#include <vector>

#include "base/op_context.h"
#include "store/catalog.h"
#include "store/transaction.h"

namespace quire::store {

// The records that share a key of the index, one group per key, `limit` groups at most.
// REQUIRES: index.keys_have_ids.
Result<std::vector<std::vector<RecordId>>> FindDuplicates(OpContext& op, Transaction& txn,
                                                          const IndexInfo& index, size_t limit);

}  // namespace quire::store
