// SPDX-License-Identifier: Apache-2.0
//
// Writing documents. Each function runs its statements in storage transactions of their own
// (retried on conflict) or, inside a multi-document transaction, in that one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "request/call.h"
#include "request/crud.h"

namespace quire::engine {

struct WriteError {
  int32_t index;
  Status status;
};

struct Upserted {
  int32_t index;
  bson::OwnedValue id;
};

struct WriteResult {
  int64_t n = 0;
  int64_t modified = 0;
  std::vector<Upserted> upserted;
  std::vector<WriteError> errors;
  std::vector<int32_t> retried;  // numbers of statements that had been run before
};

// The commands insert, update and delete with all their statements. An error that ends the whole
// command (rather than one statement) comes back as the Status.
Result<WriteResult> Insert(const Operation& operation, const std::string& ns,
                           const request::InsertRequest& request);
Result<WriteResult> Update(const Operation& operation, const std::string& ns,
                           const request::UpdateRequest& request, request::OpSummary* summary);
Result<WriteResult> Delete(const Operation& operation, const std::string& ns,
                           const request::DeleteRequest& request, request::OpSummary* summary);

// Appends the reply of findAndModify: lastErrorObject and value.
Status FindAndModify(const Operation& operation, const std::string& ns,
                     const request::FindAndModifyRequest& request, request::OpSummary* summary,
                     bson::Builder* reply);

}  // namespace quire::engine
