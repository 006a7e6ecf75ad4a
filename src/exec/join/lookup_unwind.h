// SPDX-License-Identifier: Apache-2.0
//
// $lookup and the $unwind of its result in one: a row for each that another source gives.
#pragma once

#include <memory>
#include <string>

#include "base/memory_charge.h"
#include "exec/join/lookup.h"
#include "exec/unwind.h"

namespace quire::exec {

class LookupUnwind final : public Unary {
 public:
  LookupUnwind(std::unique_ptr<Operator> input, UnwindOptions unwind, Lookup::Inner inner)
      : Unary(std::move(input)), unwind_(std::move(unwind)), inner_(std::move(inner)) {}

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  // Shows the outer row with `joined` (missing: none) and its number.
  void Show(const bson::Value& joined, const bson::Value& index, Row* row);

  UnwindOptions unwind_;
  Lookup::Inner inner_;
  Row outer_;
  bool has_outer_ = false;            // whose rows are not all given yet
  std::unique_ptr<Operator> joined_;  // what belongs to it; null: not opened
  int64_t index_ = 0;
  std::string document_;
  std::string indexed_;
  MemoryCharge charge_;
};

}  // namespace quire::exec
