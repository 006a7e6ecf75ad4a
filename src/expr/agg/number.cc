// SPDX-License-Identifier: Apache-2.0
#include "bson/number.h"

#include "base/try.h"
#include "bson/compare.h"
#include "bson/decimal.h"
#include "expr/agg/number_internal.h"
#include "expr/agg/result_internal.h"
#include "expr/collation/collator.h"

namespace quire::expr::agg {

bool IsTrue(const Value& value) {
  switch (value.type()) {
    case Type::kMissing:
    case Type::kNull:
    case Type::kUndefined:
      return false;
    case Type::kBool:
      return value.AsBool();
    case Type::kInt32:
    case Type::kInt64:
      return value.AsInt64() != 0;
    case Type::kDouble:
    case Type::kDecimal128:
      return !bson::IsZero(value);
    default:
      return true;
  }
}

Result<int64_t> CoerceToLong(const Value& value) {
  if (!value.is_number()) {
    return Status(16004, "can't convert from BSON type " +
                             std::string(bson::TypeName(value.type())) + " to long");
  }
  if (value.type() == Type::kDecimal128) {
    // Rounded; what does not fit becomes the least long.
    return bson::decimal::ToInt64(value.AsDecimal(), bson::decimal::Rounding::kNearestEven)
        .value_or(INT64_MIN);
  }
  auto n = bson::TruncatedInt64(value);
  if (!n) {
    return Status(31109, "Can't represent " + std::string(bson::TypeName(value.type())) +
                             " value " + Show(value) + " as a long");
  }
  return *n;
}

std::optional<int64_t> IntegralIn(const Value& value, int64_t min, int64_t max) {
  auto n = bson::ExactInt64(value);
  return n && *n >= min && *n <= max ? std::optional<int64_t>(*n) : std::nullopt;
}

int CompareValues(const EvalContext& eval, const Value& a, const Value& b) {
  return bson::Compare(a, b, eval.context != nullptr ? eval.context->collator : nullptr);
}

}  // namespace quire::expr::agg
