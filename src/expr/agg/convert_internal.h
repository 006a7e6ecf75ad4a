// SPDX-License-Identifier: Apache-2.0
//
// Conversion between types. Private to expr/agg.
#pragma once

#include <string_view>

#include "expr/agg/node_internal.h"

namespace quire::expr::agg {

// What to convert to.
struct ConvertTarget {
  Type type = Type::kMissing;
  uint8_t subtype = 0;      // of binary data
  std::string_view format;  // between binary data and strings
  bool big_endian = false;  // between binary data and numbers
};

// ConversionFailure when the value cannot be converted. REQUIRES: !value.nullish().
Result<Value> ConvertTo(const Value& value, const ConvertTarget& target, EvalContext& eval);
// The same where one side is binary data.
Result<Value> ConvertBinary(const Value& value, const ConvertTarget& target, EvalContext& eval);

// When the id was made, in seconds since 1970 (a signed 32-bit number).
int64_t ObjectIdSeconds(const bson::ObjectId& id);

}  // namespace quire::expr::agg
