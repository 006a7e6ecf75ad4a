// SPDX-License-Identifier: Apache-2.0
//
// The ends of a type's bracket in MongoDB's order, as one-sided comparisons reach them.
#pragma once

#include "quire/bson.h"

namespace quire::plan {

struct LowEnd {
  bson::OwnedValue value;
  bool inclusive = true;
};
struct HighEnd {
  bson::OwnedValue value;
  bool inclusive = true;  // false: the value is the first of the next type
};

LowEnd LowEndFor(bson::Type type);
HighEnd HighEndFor(bson::Type type);

}  // namespace quire::plan
