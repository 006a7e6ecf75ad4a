// SPDX-License-Identifier: Apache-2.0
//
// One update or delete statement on its way through the engine; shared by update, delete,
// findAndModify and bulkWrite.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "engine/read/read.h"
#include "expr/update/update.h"
#include "request/call.h"
#include "request/crud.h"

namespace quire::engine {

struct ModifySpec {
  // What it changes: QueryOf the request, with the request's `let`. The collection is looked up by
  // Modify.
  plan::QuerySpec query;
  bson::Value update;  // missing: remove
  bson::View constants;
  bson::View array_filters;
  std::shared_ptr<const js::Scope> scripts;  // that its pipeline shares; null: one of its own
  bool multi = false;
  bool bypass_validation = false;
  bool keep_empty_timestamps = false;
  enum class Return { kNothing, kBefore, kAfter };
  Return want = Return::kNothing;
};

struct ModifyResult {
  int64_t n = 0;
  int64_t modified = 0;
  std::optional<bson::OwnedValue> upserted;
  std::optional<bson::Document> document;  // what findAndModify returns
  // A multi-document statement stopped here after changing some documents.
  Status stopped;
};

// The documents that a statement is about, without `let`, which the whole request has.
plan::QuerySpec QueryOf(const request::UpdateStatement& statement);
plan::QuerySpec QueryOf(const request::DeleteStatement& statement);
plan::QuerySpec QueryOf(const request::FindAndModifyRequest& request);

// The update as a whole.
ModifySpec SpecOf(const request::UpdateRequest& request, const request::UpdateStatement& statement);
ModifySpec SpecOf(const request::FindAndModifyRequest& request);

// The error that the update gives whatever it is applied to, for those who do not run it.
// `collection` may be null.
Status CheckUpdate(const Operation& operation, const ModifySpec& spec,
                   const store::CollectionInfo* collection);

// Runs the statement, remembering `answer(result)` in the same transaction when it is retryable.
using AnswerOf = std::function<bson::Document(const ModifyResult&)>;
Result<ModifyResult> Modify(const Operation& operation, const std::string& ns,
                            const ModifySpec& spec, int32_t statement, const AnswerOf& answer,
                            request::OpSummary* summary);

}  // namespace quire::engine
