// SPDX-License-Identifier: Apache-2.0
//
// An operator with the time spent in it and below it.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "exec/operator.h"

namespace quire::exec {

class Timed final : public Operator {
 public:
  explicit Timed(std::unique_ptr<Operator> inner) : inner_(std::move(inner)) {}

  Result<bool> Next(OpContext& op, Row* row) override {
    auto start = std::chrono::steady_clock::now();
    Result<bool> more = inner_->Next(op, row);
    auto took = std::chrono::steady_clock::now() - start;
    micros_ +=
        static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(took).count());
    rows_ += more.ok() && *more ? 1 : 0;
    counters_ = inner_->counters();
    counters_.micros = micros_;
    counters_.returned = rows_;
    return more;
  }

 private:
  std::unique_ptr<Operator> inner_;
  uint64_t micros_ = 0;
  uint64_t rows_ = 0;
};

}  // namespace quire::exec
