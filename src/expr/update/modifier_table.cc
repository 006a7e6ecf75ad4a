// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "bson/compare.h"
#include "bson/number.h"
#include "expr/collation/collator.h"
#include "expr/update/modifier_internal.h"

namespace quire::expr::update {

namespace {

constexpr ModifierRow kModifiers[] = {
    // name, parse, creates, lenient_path, insert_only
    {"$set", ParseSet, true, false, false},
    {"$setOnInsert", ParseSet, true, false, true},
    {"$unset", ParseUnset, false, true, false},
    {"$inc", ParseInc, true, false, false},
    {"$mul", ParseMul, true, false, false},
    {"$min", ParseMin, true, false, false},
    {"$max", ParseMax, true, false, false},
    {"$currentDate", ParseCurrentDate, true, false, false},
    {"$bit", ParseBit, true, false, false},
    {"$push", ParsePush, true, false, false},
    {"$addToSet", ParseAddToSet, true, false, false},
    {"$pop", ParsePop, false, false, false},
    {"$pull", ParsePull, false, false, false},
    {"$pullAll", ParsePullAll, false, false, false},
};

}  // namespace

const ModifierRow* FindModifier(std::string_view name) {
  for (const ModifierRow& row : kModifiers) {
    if (row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

Result<int64_t> ParseInteger(const bson::Value& value, int code, std::string_view what) {
  std::optional<int64_t> n = bson::ExactInt64(value);
  if (!n) {
    return Status(code, "The value for " + std::string(what) +
                            " must be an integer value but was given: " + bson::ToJson(value));
  }
  return *n;
}

std::string DescribeId(bson::View document) {
  bson::Element id = document.Find("_id");
  if (!id.present()) {
    return "{ no id }";
  }
  return "{_id: " + bson::ToJson(id.value()) + "}";
}

int CompareValues(const bson::Value& a, const bson::Value& b, const Context* context) {
  return bson::Compare(a, b, context->collator);
}

}  // namespace quire::expr::update
