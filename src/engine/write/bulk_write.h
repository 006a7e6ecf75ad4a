// SPDX-License-Identifier: Apache-2.0
//
// bulkWrite: inserts, updates and deletes on many collections, each answered on its own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/engine.h"
#include "request/bulk_write.h"
#include "request/call.h"

namespace quire::engine {

// What one operation did.
struct BulkItem {
  int32_t index = 0;
  request::BulkOperation::Kind kind = request::BulkOperation::Kind::kInsert;
  Status status;
  int64_t n = 0;
  int64_t modified = 0;
  std::optional<bson::OwnedValue> upserted;
};

struct BulkResult {
  std::vector<BulkItem> items;  // one per operation that was run, in order
  std::vector<int32_t> retried;
};

// An error that ends the whole command (rather than one operation) comes back as the Status.
Result<BulkResult> BulkWrite(const Operation& operation, const request::BulkWriteRequest& request,
                             request::OpSummary* summary);

}  // namespace quire::engine
