// SPDX-License-Identifier: Apache-2.0
#include "shard/change/traces.h"

#include <utility>

#include "shard/core/ledger.h"

namespace quire::shard {

bson::Document Traces::kept() const {
  const StepRequest::Name& name = step_.names.front();
  NameRecord record = context_.names.Get(name.id);
  return record.begun == name.step.stamp.number ? std::move(record.kept) : bson::Document();
}

Status Traces::Keep(const bson::Document& made) {
  const StepRequest::Name& name = step_.names.front();
  NameRecord record = context_.names.Get(name.id);
  if (record.begun == name.step.stamp.number && record.kept.bytes() == made.bytes()) {
    return Status::Ok();
  }
  record.kept = bson::Document(made.view());
  record.begun = name.step.stamp.number;
  return SaveName(context_, std::move(record));
}

std::optional<bson::Document> LeftToUndo(const NameRecord& record, const Stamp& stamp) {
  const bool begun = record.begun == stamp.number;
  if (!begun && !HasPrepared(record.known, stamp)) {
    return std::nullopt;
  }
  return begun ? bson::Document(record.kept.view()) : bson::Document();
}

}  // namespace quire::shard
