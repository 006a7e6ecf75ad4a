// SPDX-License-Identifier: Apache-2.0
#include "exec/combine/facet.h"

#include "base/try.h"

namespace quire::exec {

Status Facet::ReadInput(OpContext& op, Row* row) {
  if (spool_ == nullptr) {
    spool_ = std::make_shared<RowSpool>(op.memory_limit, allow_disk_);
  }
  for (;;) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, input_->Next(op, row));
    if (!more) {
      break;
    }
    RETURN_IF_ERROR(spool_->Add(row->document));
  }
  counters_.spills = spool_->spilled() ? 1 : 0;
  return Status::Ok();
}

Status Facet::RunBranch(OpContext& op, const FacetBranch& branch) {
  constexpr size_t kMaxResult = size_t{100} << 20;
  if (top_ == nullptr) {
    ASSIGN_OR_RETURN(top_, branch.build(op, RowSpool::Read(spool_)));
    builder_.BeginArray(branch.name);
  }
  Row result;
  for (;;) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, top_->Next(op, &result));
    if (!more) {
      break;
    }
    builder_.Push(result.document);
    charge_.Set(builder_.size());
    if (builder_.size() > kMaxResult) {
      return {4031700, "document constructed by $facet is " + std::to_string(builder_.size()) +
                           " bytes, which exceeds the limit of " + std::to_string(kMaxResult) +
                           " bytes"};
    }
  }
  builder_.End();
  top_.reset();
  return Status::Ok();
}

Result<bool> Facet::Produce(OpContext& op, Row* row) {
  if (done_) {
    return false;
  }
  if (!read_) {
    RETURN_IF_ERROR(ReadInput(op, row));
    read_ = true;
  }
  for (; branch_ < branches_.size(); ++branch_) {
    RETURN_IF_ERROR(RunBranch(op, branches_[branch_]));
  }
  done_ = true;
  spool_.reset();
  document_ = builder_.Finish();
  *row = Row();
  row->document = document_.view();
  return true;
}

}  // namespace quire::exec
