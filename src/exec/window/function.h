// SPDX-License-Identifier: Apache-2.0
//
// Functions of $setWindowFields: each gives a value for every row of a partition.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "exec/evaluation.h"
#include "exec/window/counted_values.h"
#include "exec/window/frame.h"
#include "exec/window/partition_rows.h"
#include "expr/accumulate/accumulator.h"
#include "expr/agg/expression.h"
#include "expr/sort/sort_key.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::exec {

// The rows of one partition in order.
class Partition {
 public:
  Partition(const PartitionRows& rows, const expr::SortPattern& sort, const expr::Context* context)
      : rows_(rows), sort_(sort), context_(context), evaluation_(context) {}

  size_t size() const { return rows_.size(); }
  const expr::Context* context() const { return context_; }
  // The values of the first sort field.
  const std::vector<bson::Value>& keys();
  // Whether rows i and i - 1 are equal in the sort order. REQUIRES: i > 0.
  Result<bool> SameAsPrevious(size_t i);
  // Makes row i the document expressions read.
  expr::agg::EvalContext& At(size_t i);
  // Adds the expression's value at every row.
  Status EvaluateAll(const expr::agg::Expression& expression, CountedValues* values);

 private:
  const PartitionRows& rows_;
  const expr::SortPattern& sort_;
  const expr::Context* context_;
  Evaluation evaluation_;
  std::vector<bson::Value> keys_;
  Row row_;
};

// The values of a function for the rows of a partition, one after the other.
class WindowValues {
 public:
  virtual ~WindowValues() = default;
  // The next row's, valid until the next call; missing leaves the field out. REQUIRES: there is
  // one.
  virtual Result<bson::Value> Next() = 0;
};

// Immutable.
class WindowFunction {
 public:
  virtual ~WindowFunction() = default;
  // The partition is the result's alone and outlives it.
  virtual Result<std::unique_ptr<WindowValues>> Start(Partition& partition) const = 0;
};

// How the sort of the stage looks to its functions.
struct WindowSort {
  bool given = false;  // the stage has a sortBy
  size_t fields = 0;
  bool ascending = true;  // of the first field
};

// `function` is the field {$rank: {}} with the function's argument, whose bytes outlive the result;
// `bounds` null when there is no window. Errors FailedToParse, 5371601 to 5371603 and those of
// each function.
Result<std::unique_ptr<WindowFunction>> ParseWindowFunction(const bson::Element& function,
                                                            const WindowBounds* bounds,
                                                            const WindowSort& sort,
                                                            const expr::Context* context);

}  // namespace quire::exec
