// SPDX-License-Identifier: Apache-2.0
//
// $setWindowFields: rows by partition and order, with fields computed over windows of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/memory_charge.h"
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

// Sorts through disk and keeps a large partition there when allowed. Errors: 5643011 when that is
// not allowed, and 5414201 when what a function holds takes more than op.memory_limit.
class SetWindowFields final : public Unary {
 public:
  SetWindowFields(std::unique_ptr<Operator> input, WindowOptions options);

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  Status ReadInput(OpContext& op);
  Status NextPartition(OpContext& op);
  Status StartFunctions();
  Result<bson::OwnedValue> PartitionOf(const Row& row);
  Status Show(OpContext& op, size_t at, Row* row);

  WindowOptions options_;
  Evaluation evaluation_;
  std::unique_ptr<Sorter> sorter_;
  bool read_ = false;  // the whole input
  bool more_ = false;
  Row pending_;
  bson::OwnedValue pending_partition_;

  std::unique_ptr<PartitionRows> rows_;
  // What is shown of an output; the partition is declared first, as it has to live longer.
  struct Running {
    std::unique_ptr<Partition> partition;
    std::unique_ptr<WindowValues> values;
  };
  std::vector<Running> running_;  // by output
  size_t next_ = 0;
  std::string document_;
  std::string previous_;
  MemoryCharge charge_;  // for both
};

}  // namespace quire::exec
