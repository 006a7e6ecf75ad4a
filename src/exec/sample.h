// SPDX-License-Identifier: Apache-2.0
//
// $sample: rows chosen at random.
#pragma once

#include <cstdint>
#include <random>

#include "exec/documents.h"
#include "exec/unary.h"

namespace quire::exec {

class Sample final : public Unary {
 public:
  Sample(std::unique_ptr<Operator> input, int64_t size)
      : Unary(std::move(input)),
        size_(static_cast<size_t>(size)),
        random_(std::random_device{}()) {}

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  Status Choose(OpContext& op);

  size_t size_;
  std::mt19937_64 random_;
  bool chosen_ = false;
  Documents::List rows_;
  size_t next_ = 0;
};

}  // namespace quire::exec
