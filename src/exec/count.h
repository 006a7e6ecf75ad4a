// SPDX-License-Identifier: Apache-2.0
//
// $count: one row with the number of rows, none when there were none.
#pragma once

#include <cstdint>
#include <string>

#include "exec/unary.h"

namespace quire::exec {

class Count final : public Unary {
 public:
  Count(std::unique_ptr<Operator> input, std::string field)
      : Unary(std::move(input)), field_(std::move(field)) {}

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  std::string field_;
  int64_t n_ = 0;  // rows so far
  bool done_ = false;
  bson::Document document_;
};

}  // namespace quire::exec
