// SPDX-License-Identifier: Apache-2.0
#include "exec/project.h"

#include "base/try.h"

namespace quire::exec {

Result<Step> Project::DoWork(OpContext& op, Row* row) {
  auto step = input_->Work(op, row);
  if (!step.ok() || *step != Step::kRow) {
    return step;
  }
  if (projection_ != nullptr) {
    projected_.clear();
    RETURN_IF_ERROR(projection_->Apply(row->document, &row->meta, &projected_));
    row->document = bson::View(projected_.data());
  }
  if (show_record_id_) {
    with_id_.clear();
    bson::Builder out(&with_id_);
    out.AppendFields(row->document).Append("$recordId", row->meta.record_id);
    out.Close();
    row->document = bson::View(with_id_.data());
  }
  return step;
}

Result<Step> ReturnKey::DoWork(OpContext& op, Row* row) {
  auto step = input_->Work(op, row);
  if (step.ok() && *step == Step::kRow) {
    row->document =
        row->meta.index_key.is_document() ? row->meta.index_key.AsDocument() : bson::View();
  }
  return step;
}

}  // namespace quire::exec
