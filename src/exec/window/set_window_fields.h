// SPDX-License-Identifier: Apache-2.0
//
// $setWindowFields: rows by partition and order, with fields computed over windows of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/nested_field.h"
#include "exec/sort/sorter.h"
#include "exec/unary.h"
#include "exec/window/function.h"

namespace quire::exec {

// Everything it points to outlives the operator.
struct WindowOptions {
  const expr::agg::Expression* partition_by = nullptr;  // null: one partition
  const expr::SortPattern* sort = nullptr;
  struct Output {
    FieldPath path;
    const WindowFunction* function;
  };
  std::vector<Output> outputs;
  const expr::Context* context = nullptr;
  bool allow_disk = false;
};

// Sorts through disk and keeps a large partition there when allowed; error 5643011 when that is not
// allowed, or when what is computed for the rows of one partition alone takes more than
// op.memory_limit.
class SetWindowFields final : public Unary {
 public:
  SetWindowFields(std::unique_ptr<Operator> input, WindowOptions options);

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  Status ReadInput(OpContext& op);
  Status NextPartition(OpContext& op);
  Status ComputeOutputs();
  Result<bson::OwnedValue> PartitionOf(const Row& row);
  void Show(size_t at, Row* row);

  WindowOptions options_;
  Evaluation evaluation_;
  std::unique_ptr<Sorter> sorter_;
  bool more_ = false;
  Row pending_;
  bson::OwnedValue pending_partition_;

  std::unique_ptr<PartitionRows> rows_;
  std::vector<std::vector<bson::OwnedValue>> results_;  // by output, then row
  size_t next_ = 0;
  std::string document_;
  std::string previous_;
};

}  // namespace quire::exec
