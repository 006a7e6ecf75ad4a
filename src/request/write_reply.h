// SPDX-License-Identifier: Apache-2.0
//
// The reply of insert, update and delete: made by those who write, put together of several by those
// who send parts, read by those who asked.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::request {

// Of one document or statement.
struct WriteError {
  int32_t index;
  Status status;
};

struct Upserted {
  int32_t index;
  bson::OwnedValue id;
};

struct WriteReply {
  int64_t n = 0;
  int64_t modified = 0;  // of an update
  std::vector<Upserted> upserted = {};
  std::vector<WriteError> errors = {};
  std::vector<int32_t> retried = {};        // numbers of statements that had been run before
  bson::Document write_concern_error = {};  // {code, codeName, errmsg, errInfo}; empty: none

  // What the reply does not have counts as none. ProtocolError when the document is no such reply.
  static Result<WriteReply> Read(const bson::Argument& reply);
  // Appends all but `ok`; nModified when it is an update's.
  void AppendTo(bson::Builder* reply, bool update = false) const;
  // Takes in the reply to a part of the statements; `place` gives the index in the whole of what
  // was sent as the i-th of the part. What has an index stays in its order.
  void Add(WriteReply part, const std::function<int32_t(int32_t)>& place);

  // The first error of single documents or statements; Ok without one.
  Status FirstError() const { return errors.empty() ? Status::Ok() : errors.front().status; }
};

// The first error of single documents, or that of the write concern, in the reply to a write, with
// the reply as extra(); Ok when it has none. Any document may be given.
Status WriteErrorOf(const bson::Argument& reply);

// Appends retriedStmtIds, if there are some.
void AppendRetried(const std::vector<int32_t>& statements, bson::Builder* reply);

// The document of a writeConcernError; an empty `info` is left out.
bson::Document WriteConcernError(const Status& status, const bson::Argument& info);

}  // namespace quire::request
