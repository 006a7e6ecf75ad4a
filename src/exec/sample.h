// SPDX-License-Identifier: Apache-2.0
//
// $sample: rows chosen at random.
#pragma once

#include <cstdint>
#include <random>

#include "exec/sort/sorter.h"
#include "exec/unary.h"

namespace quire::exec {

// Each row of the input draws a random key; the rows of the smallest keys come out, in their order.
// As the key stays with the row (Row::sort_key), samples of several inputs merged by it, and cut,
// are a sample of all of them.
class Sample final : public Unary {
 public:
  // `options.limit` is not looked at.
  Sample(std::unique_ptr<Operator> input, int64_t size, SorterOptions options)
      : Unary(std::move(input)),
        random_(std::random_device{}()),
        sorter_(WithLimit(options, size)) {}

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  static SorterOptions WithLimit(SorterOptions options, int64_t size) {
    options.limit = static_cast<uint64_t>(size);
    return options;
  }
  Status Choose(OpContext& op);

  std::mt19937_64 random_;
  Sorter sorter_;
  bool chosen_ = false;
};

}  // namespace quire::exec
