// SPDX-License-Identifier: Apache-2.0
#include "exec/join/lookup.h"

#include "base/try.h"

namespace quire::exec {

Result<bool> Lookup::Produce(OpContext& op, Row* row) {
  RETURN_IF_ERROR(op.CheckInterrupt());
  ASSIGN_OR_RETURN(bool more, input_->Next(op, row));
  if (!more) {
    return false;
  }
  constexpr size_t kMaxJoined = size_t{100} << 20;
  ASSIGN_OR_RETURN(auto inner, inner_(op, *row));
  array_.clear();
  bson::Builder array(&array_);
  Row found;
  for (;;) {
    ASSIGN_OR_RETURN(bool another, inner->Next(op, &found));
    if (!another) {
      break;
    }
    array.Push(found.document);
    if (array.size() > kMaxJoined) {
      return Status(4568, "Total size of documents matching the pipeline's $lookup stage exceeds " +
                              std::to_string(kMaxJoined) + " bytes");
    }
  }
  array.Close();
  document_.clear();
  SetNested(row->document, as_, bson::Value::Array(bson::View(array_.data())), &document_);
  row->document = bson::View(document_.data());
  return true;
}

}  // namespace quire::exec
