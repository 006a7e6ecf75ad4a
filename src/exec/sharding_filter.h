// SPDX-License-Identifier: Apache-2.0
//
// SHARDING_FILTER: the rows that a shard may show to whoever comes through a router.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/try.h"
#include "exec/operator.h"

namespace quire::exec {

// Which documents of a sharded collection lie in the ranges of this shard. Immutable.
class Ownership {
 public:
  virtual ~Ownership() = default;
  virtual bool Owns(bson::View document) const = 0;
  // The fields by which it decides.
  virtual const std::vector<std::string>& paths() const = 0;
};

// Leaves out what the shard does not own: documents that were moved away and are not deleted yet,
// or have come and are not the shard's yet. Everything given outlives it.
class ShardingFilter final : public SteppedOperator {
 public:
  ShardingFilter(Operator* input, const Ownership* ownership)
      : input_(input), ownership_(*ownership) {}
  bool AtEnd() const override { return input_->AtEnd(); }
  // How many rows it has left out.
  uint64_t skipped() const { return skipped_; }

 protected:
  Result<Step> DoWork(OpContext& op, Row* row) override {
    ASSIGN_OR_RETURN(const Step step, input_->Work(op, row));
    if (step == Step::kRow && !ownership_.Owns(row->document)) {
      ++skipped_;
      return Step::kAgain;
    }
    return step;
  }

 private:
  Operator* input_;
  const Ownership& ownership_;
  uint64_t skipped_ = 0;
};

}  // namespace quire::exec
