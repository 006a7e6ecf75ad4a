// SPDX-License-Identifier: Apache-2.0
#include "exec/facet.h"

#include "base/try.h"
#include "exec/documents.h"

namespace quire::exec {

Result<bool> Facet::Produce(OpContext& op, Row* row) {
  if (done_) {
    return false;
  }
  done_ = true;
  ASSIGN_OR_RETURN(Documents::List rows, ReadAll(op, *input_));
  auto shared = std::make_shared<const Documents::List>(std::move(rows));
  bson::Builder builder;
  for (const FacetBranch& branch : branches_) {
    ASSIGN_OR_RETURN(auto top, branch.build(op, std::make_unique<Documents>(shared)));
    builder.BeginArray(branch.name);
    Row result;
    for (;;) {
      ASSIGN_OR_RETURN(bool more, top->Next(op, &result));
      if (!more) {
        break;
      }
      builder.Push(result.document);
      if (builder.size() > op.memory_limit) {
        return Status(4031700, "document constructed by $facet is " +
                                   std::to_string(builder.size()) +
                                   " bytes, which exceeds the limit of " +
                                   std::to_string(op.memory_limit) + " bytes");
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
