// SPDX-License-Identifier: Apache-2.0
//
// SORT: takes in all rows, gives them out in order.
#pragma once

#include <string>

#include "exec/operator.h"
#include "exec/sort/sorter.h"
#include "exec/stepped_over.h"
#include "expr/sort/sort_key.h"

namespace quire::exec {

// `input`, `pattern` and `context` outlive it.
class Sort final : public SteppedOver {
 public:
  Sort(Operator* input, const expr::SortPattern* pattern, const expr::Context* context,
       SorterOptions options)
      : SteppedOver(input), pattern_(pattern), context_(context), sorter_(options) {}
  bool AtEnd() const override { return sorted_ && sorter_.AtEnd(); }

 protected:
  Result<Step> DoWork(OpContext& op, Row* row) override;

 private:
  Result<Step> TakeOne(OpContext& op, Row* row);

  const expr::SortPattern* pattern_;
  const expr::Context* context_;
  Sorter sorter_;
  bool sorted_ = false;
  std::string key_;
};

}  // namespace quire::exec
