// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/match/leaf.h"
#include "expr/match/parse_internal.h"

namespace quire::expr::match {
namespace {

Kind BitsKind(std::string_view name) {
  if (name == "$bitsAllSet") {
    return Kind::kBitsAllSet;
  }
  if (name == "$bitsAllClear") {
    return Kind::kBitsAllClear;
  }
  return name == "$bitsAnySet" ? Kind::kBitsAnySet : Kind::kBitsAnyClear;
}

std::string Show(const bson::Element& element) {
  return std::string(element.name()) + ": " + bson::ToJson(element.value());
}

Result<std::vector<uint32_t>> PositionsOfArray(bson::View items) {
  std::vector<uint32_t> positions;
  for (const bson::Element& item : items) {
    std::optional<int64_t> position = bson::ExactInt64(item.value());
    if (!position) {
      return Status(kBadValue, "bit positions must be an integer but got: " + Show(item));
    }
    if (*position < 0) {
      return Status(kBadValue, "bit positions must be >= 0 but got: " + Show(item));
    }
    if (*position > std::numeric_limits<int32_t>::max()) {
      return Status(kBadValue, "bit positions cannot be represented as a 32-bit signed integer: " +
                                   Show(item));
    }
    positions.push_back(static_cast<uint32_t>(*position));
  }
  return positions;
}

Result<std::vector<uint32_t>> PositionsOfNumber(const bson::Element& element) {
  bson::Value value = element.value();
  std::optional<int64_t> mask = bson::ExactInt64(value);
  if (!mask) {
    bool fraction = bson::TruncatedInt64(value).has_value();
    return Status(kFailedToParse,
                  (fraction ? "Expected an integer: " : "Cannot represent as a 64-bit integer: ") +
                      Show(element));
  }
  if (*mask < 0) {
    return Status(kFailedToParse, "Expected a non-negative number in: " + Show(element));
  }
  std::vector<uint32_t> positions;
  for (uint32_t i = 0; i < 64; ++i) {
    if (((static_cast<uint64_t>(*mask) >> i) & 1) != 0) {
      positions.push_back(i);
    }
  }
  return positions;
}

std::vector<uint32_t> PositionsOfBinary(std::string_view bytes) {
  std::vector<uint32_t> positions;
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    if (((static_cast<uint8_t>(bytes[i / 8]) >> (i % 8)) & 1) != 0) {
      positions.push_back(static_cast<uint32_t>(i));
    }
  }
  return positions;
}

Result<std::vector<uint32_t>> Positions(std::string_view path, const bson::Element& element) {
  bson::Value value = element.value();
  if (value.is_array()) {
    return PositionsOfArray(value.AsArray());
  }
  if (value.is_number()) {
    return PositionsOfNumber(element);
  }
  if (value.type() == bson::Type::kBinary) {
    return PositionsOfBinary(value.AsBinary());
  }
  return Status(
      kBadValue,
      std::string(path) + " takes an Array, a number, or a BinData but received: " + Show(element));
}

}  // namespace

Result<NodePtr> ParseBits(std::string_view path, const bson::Element& element, bson::View,
                          const ParseScope&) {
  ASSIGN_OR_RETURN(std::vector<uint32_t> positions, Positions(path, element));
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return NodePtr(std::make_shared<BitsNode>(BitsKind(element.name()), path, std::move(positions)));
}

}  // namespace quire::expr::match
