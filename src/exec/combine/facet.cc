// SPDX-License-Identifier: Apache-2.0
#include "exec/combine/facet.h"

#include "base/try.h"
#include "exec/combine/row_spool.h"

namespace quire::exec {

constexpr size_t kMaxResult = size_t{100} << 20;

Result<bool> Facet::Produce(OpContext& op, Row* row) {
  if (done_) {
    return false;
  }
  done_ = true;
  auto spool = std::make_shared<RowSpool>(op.memory_limit, allow_disk_);
  for (;;) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, input_->Next(op, row));
    if (!more) {
      break;
    }
    RETURN_IF_ERROR(spool->Add(row->document));
  }
  counters_.spills = spool->spilled() ? 1 : 0;
  bson::Builder builder;
  for (const FacetBranch& branch : branches_) {
    ASSIGN_OR_RETURN(auto top, branch.build(op, RowSpool::Read(spool)));
    builder.BeginArray(branch.name);
    Row result;
    for (;;) {
      RETURN_IF_ERROR(op.CheckInterrupt());
      ASSIGN_OR_RETURN(bool more, top->Next(op, &result));
      if (!more) {
        break;
      }
      builder.Push(result.document);
      charge_.Set(builder.size());
      if (builder.size() > kMaxResult) {
        return Status(4031700, "document constructed by $facet is " +
                                   std::to_string(builder.size()) +
                                   " bytes, which exceeds the limit of " +
                                   std::to_string(kMaxResult) + " bytes");
      }
    }
    builder.End();
  }
  document_ = builder.Finish();
  *row = Row();
  row->document = document_.view();
  return true;
}

}  // namespace quire::exec
