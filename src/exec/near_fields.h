// SPDX-License-Identifier: Apache-2.0
//
// The fields in which $geoNear tells the distance and the location it was measured to.
#pragma once

#include <memory>
#include <string>

#include "exec/nested_field.h"
#include "exec/unary.h"

namespace quire::exec {

struct NearFields {
  FieldPath distance;  // empty: not wanted
  FieldPath location;  // empty: not wanted; written after the distance
  double multiplier = 1;
};

class SetNearFields final : public Unary {
 public:
  // `fields` outlives it.
  SetNearFields(std::unique_ptr<Operator> input, const NearFields* fields)
      : Unary(std::move(input)), fields_(fields) {}

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  const NearFields* fields_;
  std::string with_distance_;
  std::string with_location_;
};

}  // namespace quire::exec
