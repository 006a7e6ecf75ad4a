// SPDX-License-Identifier: Apache-2.0
//
// What the kinds of indexes share when they check a spec.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error_codes.h"
#include "bson/number.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::store {

inline Status RefusedIndex(std::string why) { return {kCannotCreateIndex, std::move(why)}; }

// The kind that a part of a pattern names, "" for a plain one.
inline std::string_view KindNameOf(const bson::Value& part) {
  return part.is_string() ? part.AsString() : std::string_view();
}

// An integer option; `otherwise` when it is not given, nothing when it is no whole number.
inline std::optional<int32_t> WholeOption(bson::View spec, std::string_view name,
                                          int32_t otherwise) {
  bson::Value value = spec[name];
  if (value.missing()) {
    return otherwise;
  }
  double number = value.is_number() ? bson::ToDouble(value) : 0.5;
  if (number != std::floor(number) || std::abs(number) > 1e9) {
    return std::nullopt;
  }
  return static_cast<int32_t>(number);
}

}  // namespace quire::store
