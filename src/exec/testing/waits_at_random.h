// SPDX-License-Identifier: Apache-2.0
//
// An input that is not there yet at random points, for tests of what is built on it.
#pragma once

#include <memory>
#include <random>
#include <utility>

#include "exec/operator.h"

namespace quire::exec {

// Says NotYet before a row, or before the end, half of the time.
class WaitsAtRandom final : public Operator {
 public:
  WaitsAtRandom(std::unique_ptr<Operator> input, std::mt19937* random)
      : input_(std::move(input)), random_(*random) {}

  Result<bool> Next(OpContext& op, Row* row) override {
    *row = Row();  // what was shown before is gone
    if (random_() % 2 == 0) {
      return NotYet();
    }
    return input_->Next(op, row);
  }

 private:
  std::unique_ptr<Operator> input_;
  std::mt19937& random_;
};

}  // namespace quire::exec
