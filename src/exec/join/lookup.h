// SPDX-License-Identifier: Apache-2.0
//
// $lookup: each row with the array of rows another source gives for it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/memory_charge.h"
#include "exec/nested_field.h"
#include "exec/unary.h"

namespace quire::exec {

class Lookup final : public Unary {
 public:
  // The source of the rows that belong to `row`.
  using Inner = std::function<Result<std::unique_ptr<Operator>>(OpContext& op, const Row& row)>;

  Lookup(std::unique_ptr<Operator> input, FieldPath as, Inner inner)
      : Unary(std::move(input)), as_(std::move(as)), inner_(std::move(inner)) {}

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  // Takes what belongs to the outer row into the array.
  Status Join(OpContext& op);

  FieldPath as_;
  Inner inner_;
  Row outer_;
  bool has_outer_ = false;            // a row that is not joined yet
  std::unique_ptr<Operator> joined_;  // what belongs to it; null: not opened
  std::string array_;
  std::optional<bson::Builder> builder_;  // of the array
  std::string document_;
  MemoryCharge charge_;
};

}  // namespace quire::exec
