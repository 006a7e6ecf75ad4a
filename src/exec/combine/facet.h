// SPDX-License-Identifier: Apache-2.0
//
// $facet: several pipelines over the same rows, their results as arrays of one document.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/memory_charge.h"
#include "exec/combine/row_spool.h"
#include "exec/unary.h"

namespace quire::exec {

struct FacetBranch {
  std::string name;
  // The branch's operators on top of a source.
  std::function<Result<std::unique_ptr<Operator>>(OpContext& op, std::unique_ptr<Operator> source)>
      build;
};

// Error 4031700 when the result grows beyond 100 MB.
class Facet final : public Unary {
 public:
  Facet(std::unique_ptr<Operator> input, std::vector<FacetBranch> branches, bool allow_disk)
      : Unary(std::move(input)), branches_(std::move(branches)), allow_disk_(allow_disk) {}

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  Status ReadInput(OpContext& op, Row* row);
  Status RunBranch(OpContext& op, const FacetBranch& branch);

  std::vector<FacetBranch> branches_;
  bool allow_disk_;
  std::shared_ptr<RowSpool> spool_;  // the input's rows
  bool read_ = false;                // the whole input
  size_t branch_ = 0;                // the one that is run
  std::unique_ptr<Operator> top_;    // of it; null: not begun
  bson::Builder builder_;            // of the document
  bool done_ = false;
  bson::Document document_;
  MemoryCharge charge_;  // for it
};

}  // namespace quire::exec
