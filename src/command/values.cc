// SPDX-License-Identifier: Apache-2.0
#include "command/values.h"

#include <chrono>
#include <cstdint>

#include "bson/number.h"

namespace quire::command {

void AppendCount(bson::Builder* out, std::string_view name, int64_t n) {
  if (n <= INT32_MAX) {
    out->Append(name, static_cast<int32_t>(n));
  } else {
    out->Append(name, n);
  }
}

bson::Date WallClock() {
  return {std::chrono::duration_cast<std::chrono::milliseconds>(
              std::chrono::system_clock::now().time_since_epoch())
              .count()};
}

bool Truthy(const bson::Value& value) {
  if (value.nullish()) {
    return false;
  }
  if (value.type() == bson::Type::kBool) {
    return value.AsBool();
  }
  return !value.is_number() || !bson::IsZero(value);
}

}  // namespace quire::command
