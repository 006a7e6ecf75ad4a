// SPDX-License-Identifier: Apache-2.0
//
// $replaceRoot and $replaceWith.
#pragma once

#include "exec/evaluation.h"
#include "exec/unary.h"

namespace quire::exec {

// `root` and `context` outlive it. Error 40228 when `root` gives no document.
class ReplaceRoot final : public Unary {
 public:
  ReplaceRoot(std::unique_ptr<Operator> input, const expr::agg::Expression* root,
              const expr::Context* context)
      : Unary(std::move(input)), root_(root), evaluation_(context) {}

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  const expr::agg::Expression* root_;
  Evaluation evaluation_;
};

}  // namespace quire::exec
