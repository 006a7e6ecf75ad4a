// SPDX-License-Identifier: Apache-2.0
//
// The reply of bulkWrite: a cursor over what each operation did, and how many did what.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"
#include "request/bulk_write.h"

namespace quire::request {

// What one operation did: a document of the cursor.
struct BulkItem {
  int32_t index = 0;
  BulkOperation::Kind kind = BulkOperation::Kind::kInsert;
  Status status;
  int64_t n = 0;
  int64_t modified = 0;
  std::optional<bson::OwnedValue> upserted;

  // `kind` is known to who asked. ProtocolError when the document is no such item.
  static Result<BulkItem> Read(const bson::Argument& item, BulkOperation::Kind kind);
  bson::Document Write() const;
};

struct BulkWriteReply {
  std::vector<BulkItem> items;  // one per operation that was run, in order
  std::vector<int32_t> retried;

  // Appends what stands beside the cursor: the counts, and retriedStmtIds.
  void AppendTo(bson::Builder* reply) const;
};

}  // namespace quire::request
