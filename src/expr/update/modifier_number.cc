// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/decimal.h"
#include "bson/number.h"
#include "expr/update/modifier_internal.h"

namespace quire::expr::update {

namespace {

using bson::Type;
using bson::Value;

// The integer in the narrowest type that is not narrower than both operands' types.
Value FitInteger(int64_t n, const Value& a, const Value& b) {
  bool both_int = a.type() == Type::kInt32 && b.type() == Type::kInt32;
  return both_int ? bson::NarrowInt(n) : Value(n);
}

Value ZeroOf(Type type) {
  switch (type) {
    case Type::kDecimal128:
      return Value(bson::decimal::kZero);
    case Type::kDouble:
      return Value(0.0);
    case Type::kInt64:
      return Value(int64_t{0});
    default:
      return Value(int32_t{0});
  }
}

struct Arithmetic {
  std::string_view name;
  std::string_view verb;  // as in "Cannot increment with non-numeric argument"
  // Nothing when 64 bits overflow.
  std::optional<Value> (*compute)(const Value& a, const Value& b);
};
constexpr Arithmetic kInc = {"$inc", "increment", bson::CheckedAdd};
constexpr Arithmetic kMul = {"$mul", "multiply", bson::CheckedMultiply};

class Number : public Modifier {
 public:
  Number(const Arithmetic& kind, const Value& operand) : kind_(kind), operand_(operand) {}

  Result<Effect> Apply(const Site& site, Value* result) const override {
    if (site.old.missing()) {
      *result = &kind_ == &kInc ? operand_ : *kind_.compute(ZeroOf(operand_.type()), operand_);
      return Effect::kSet;
    }
    if (!site.old.is_number()) {
      return Status(kTypeMismatch, "Cannot apply " + std::string(kind_.name) +
                                       " to a value of non-numeric type. " +
                                       DescribeId(site.document) + " has the field '" +
                                       std::string(site.path.substr(site.path.rfind('.') + 1)) +
                                       "' of non-numeric type " +
                                       std::string(bson::TypeName(site.old.type())));
    }
    std::optional<Value> computed = kind_.compute(site.old, operand_);
    if (!computed) {
      return Status(kBadValue, "Failed to apply " + std::string(kind_.name) +
                                   " operations to current value (" + bson::ToJson(site.old) +
                                   ") for document " + DescribeId(site.document));
    }
    *result = *computed;
    bool same = result->type() == site.old.type() && bson::CompareNumbers(*result, site.old) == 0;
    return same ? Effect::kNone : Effect::kSet;
  }

 private:
  const Arithmetic& kind_;
  Value operand_;
};

Result<std::unique_ptr<Modifier>> ParseNumber(const Arithmetic& kind,
                                              const bson::Element& argument) {
  Value operand = argument.value();
  if (!operand.is_number()) {
    return Status(kTypeMismatch,
                  "Cannot " + std::string(kind.verb) + " with non-numeric argument: {" +
                      std::string(argument.name()) + ": " + bson::ToJson(operand) + "}");
  }
  return std::unique_ptr<Modifier>(std::make_unique<Number>(kind, operand));
}

class Bit : public Modifier {
 public:
  struct Step {
    char kind;  // 'a', 'o', 'x'
    Value operand;
  };
  explicit Bit(std::vector<Step> steps) : steps_(std::move(steps)) {}

  Result<Effect> Apply(const Site& site, Value* result) const override {
    Value value = site.old.missing() ? Value(int32_t{0}) : site.old;
    if (value.type() != Type::kInt32 && value.type() != Type::kInt64) {
      return Status(kBadValue, "Cannot apply $bit to a value of non-integral type." +
                                   DescribeId(site.document) + " has the field " +
                                   std::string(site.path.substr(site.path.rfind('.') + 1)) +
                                   " of non-integer type " +
                                   std::string(bson::TypeName(value.type())));
    }
    for (const Step& step : steps_) {
      int64_t a = value.AsInt64();
      int64_t b = step.operand.AsInt64();
      int64_t n = step.kind == 'a' ? a & b : step.kind == 'o' ? a | b : a ^ b;
      value = FitInteger(n, value, step.operand);
    }
    *result = value;
    return value.BinaryEquals(site.old) ? Effect::kNone : Effect::kSet;
  }

 private:
  std::vector<Step> steps_;
};

}  // namespace

Result<std::unique_ptr<Modifier>> ParseInc(const bson::Element& argument, const Context*) {
  return ParseNumber(kInc, argument);
}

Result<std::unique_ptr<Modifier>> ParseMul(const bson::Element& argument, const Context*) {
  return ParseNumber(kMul, argument);
}

Result<std::unique_ptr<Modifier>> ParseBit(const bson::Element& argument, const Context*) {
  Value spec = argument.value();
  if (!spec.is_document()) {
    return Status(kBadValue, "The $bit modifier is not compatible with a " +
                                 std::string(bson::TypeName(spec.type())) +
                                 ". You must pass in an embedded document: "
                                 "{$bit: {field: {and/or/xor: #}}");
  }
  std::vector<Bit::Step> steps;
  for (const bson::Element& step : spec.AsDocument()) {
    Value operand = step.value();
    std::string_view name = step.name();
    if (name != "and" && name != "or" && name != "xor") {
      return Status(kBadValue, "The $bit modifier only supports 'and', 'or', and 'xor', not '" +
                                   std::string(name) + "' which is an unknown operator: {" +
                                   std::string(name) + ": " + bson::ToJson(operand) + "}");
    }
    if (operand.type() != Type::kInt32 && operand.type() != Type::kInt64) {
      return Status(kBadValue, "The $bit modifier field must be an Integer(32/64 bit); a '" +
                                   std::string(bson::TypeName(operand.type())) +
                                   "' is not supported here: {" + std::string(name) + ": " +
                                   bson::ToJson(operand) + "}");
    }
    steps.push_back({name[0], operand});
  }
  if (steps.empty()) {
    return Status(kBadValue,
                  "You must pass in at least one bitwise operation. The format is: "
                  "{$bit: {field: {and/or/xor: #}}");
  }
  return std::unique_ptr<Modifier>(std::make_unique<Bit>(std::move(steps)));
}

}  // namespace quire::expr::update
