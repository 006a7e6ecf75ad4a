// SPDX-License-Identifier: Apache-2.0
//
// The bulkWrite command of MongoDB 8.0: writes to many collections in one request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"
#include "request/crud.h"
#include "request/request.h"

namespace quire::request {

// One operation; which member counts is up to `kind`.
struct BulkOperation {
  enum class Kind { kInsert, kUpdate, kDelete };
  Kind kind = Kind::kInsert;
  size_t target = 0;  // position in BulkWriteRequest::targets
  bson::View document;
  UpdateStatement update;
  DeleteStatement remove;
};

struct BulkTarget {
  std::string ns;
  bson::Value collection_uuid;  // missing when not given
};

// Borrows from the command's bytes.
struct BulkWriteRequest {
  std::vector<BulkTarget> targets;
  std::vector<BulkOperation> operations;
  bool ordered = true;
  bool errors_only = false;
  bool bypass_validation = false;
  bool keep_empty_timestamps = false;  // bypassEmptyTsReplacement
  bson::View let;
  std::optional<int64_t> batch_size;

  static Result<BulkWriteRequest> Parse(const Request& request);
};

}  // namespace quire::request
