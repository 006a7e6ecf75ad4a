// SPDX-License-Identifier: Apache-2.0
//
// $unionWith: the rows of the input, then those of another source.
#pragma once

#include <functional>

#include "exec/unary.h"

namespace quire::exec {

using SourceFactory = std::function<Result<std::unique_ptr<Operator>>(OpContext& op)>;

class UnionWith final : public Unary {
 public:
  // `open` is called once the input has ended.
  UnionWith(std::unique_ptr<Operator> input, SourceFactory open)
      : Unary(std::move(input)), open_(std::move(open)) {}

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  SourceFactory open_;
  bool input_ended_ = false;
  std::unique_ptr<Operator> other_;
};

}  // namespace quire::exec
