// SPDX-License-Identifier: Apache-2.0
#include "exec/project.h"

#include "base/try.h"
#include "bson/ordered.h"

namespace quire::exec {

Status Project::AddSortKey(Row* row) {
  std::string key;
  std::string type_bits;
  RETURN_IF_ERROR(sort_key_.pattern->AppendKey(row->document, &row->meta, *sort_key_.context, &key,
                                               &type_bits));
  sort_key_values_ = sort_key_.pattern->KeyValues(key, type_bits);
  row->meta.sort_key = bson::Value::Array(sort_key_values_.view());
  return Status::Ok();
}

void Project::NoteRecordId(const Row& row) {
  bson::Builder out;
  if (record_ids_ == RecordIds::kClusterKey) {
    bson::AppendAsOrdered("$recordId", row.document["_id"], cluster_collation_, &out);
  } else {
    out.Append("$recordId", row.meta.record_id);
  }
  record_id_ = out.Finish();
}

Result<Step> Project::DoWork(OpContext& op, Row* row) {
  auto step = StepOfInput(op, row);
  if (!step.ok() || *step != Step::kRow) {
    return step;
  }
  if (sort_key_.pattern != nullptr) {
    RETURN_IF_ERROR(AddSortKey(row));
  }
  if (record_ids_ != RecordIds::kNone) {
    NoteRecordId(*row);
  }
  if (projection_ != nullptr) {
    projected_.clear();
    RETURN_IF_ERROR(projection_->Apply(row->document, &row->meta, &projected_));
    charge_.Set(projected_.capacity());
    row->document = bson::View(projected_.data());
  }
  if (record_ids_ != RecordIds::kNone) {
    with_id_.clear();
    bson::Builder out(&with_id_);
    out.AppendFields(row->document).AppendFields(record_id_);
    out.Close();
    row->document = bson::View(with_id_.data());
  }
  return step;
}

Result<Step> ReturnKey::DoWork(OpContext& op, Row* row) {
  auto step = StepOfInput(op, row);
  if (step.ok() && *step == Step::kRow) {
    row->document =
        row->meta.index_key.is_document() ? row->meta.index_key.AsDocument() : bson::View();
  }
  return step;
}

}  // namespace quire::exec
