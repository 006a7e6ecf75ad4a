// SPDX-License-Identifier: Apache-2.0
//
// $addFields and $set.
#pragma once

#include <string>

#include "base/memory_charge.h"
#include "exec/evaluation.h"
#include "exec/unary.h"
#include "expr/projection/add_fields.h"

namespace quire::exec {

// `fields` and `context` outlive it.
class AddFields final : public Unary {
 public:
  AddFields(std::unique_ptr<Operator> input, const expr::AddFields* fields,
            const expr::Context* context)
      : Unary(std::move(input)), fields_(fields), evaluation_(context) {}

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  const expr::AddFields* fields_;
  Evaluation evaluation_;
  std::string document_;
  MemoryCharge charge_;
};

}  // namespace quire::exec
