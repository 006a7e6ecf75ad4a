// SPDX-License-Identifier: Apache-2.0
//
// Arrays as sets, and $allElementsTrue and $anyElementTrue.
#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "base/try.h"
#include "bson/compare.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"
#include "expr/collation/collator.h"

namespace quire::expr::agg {

namespace {

using OrderedSet = std::set<Value, bson::ValueLess>;

OrderedSet MakeSet(const EvalContext& eval) {
  return OrderedSet(bson::ValueLess{eval.context != nullptr ? eval.context->collator : nullptr});
}

constexpr size_t kSetNode = 48;  // what a member of an OrderedSet takes at least

Status AddAll(const EvalContext& eval, std::string_view op, bson::View array, OrderedSet* out) {
  for (const bson::Element& element : array) {
    out->insert(element.value());
    RETURN_IF_ERROR(CheckBudget(eval, op, out->size() * kSetNode));
  }
  return Status::Ok();
}

Value ToArray(const OrderedSet& set, EvalContext& eval) {
  ArrayResult result;
  for (const Value& value : set) {
    result.Push(value);
  }
  return result.Finish(eval);
}

// The operands of an operator for which their order says nothing, constants last, as MongoDB puts
// them: where one is missing and another one wrong, that decides what is told.
std::vector<size_t> ConstantsLast(const Call& call) {
  std::vector<size_t> order(call.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_partition(order.begin(), order.end(),
                        [&](size_t i) { return call.operand(i).constant() == nullptr; });
  return order;
}

}  // namespace

Result<Value> EvalSetUnion(const Call& call, EvalContext& eval) {
  OrderedSet set = MakeSet(eval);
  for (size_t i : ConstantsLast(call)) {
    ASSIGN_OR_RETURN(Value value, call.Get(i, eval));
    if (value.nullish()) {
      return Value::Null();
    }
    if (!value.is_array()) {
      return Status(17043, "All operands of $setUnion must be arrays. One argument is of type: " +
                               TypeText(value));
    }
    RETURN_IF_ERROR(AddAll(eval, call.name(), value.AsArray(), &set));
  }
  return ToArray(set, eval);
}

Result<Value> EvalSetIntersection(const Call& call, EvalContext& eval) {
  OrderedSet common = MakeSet(eval);
  bool first = true;
  for (size_t i : ConstantsLast(call)) {
    ASSIGN_OR_RETURN(Value value, call.Get(i, eval));
    if (value.nullish()) {
      return Value::Null();
    }
    if (!value.is_array()) {
      return Status(17047,
                    "All operands of $setIntersection must be arrays. One argument is of type: " +
                        TypeText(value));
    }
    if (std::exchange(first, false)) {
      RETURN_IF_ERROR(AddAll(eval, call.name(), value.AsArray(), &common));
      continue;
    }
    OrderedSet next = MakeSet(eval);
    RETURN_IF_ERROR(AddAll(eval, call.name(), value.AsArray(), &next));
    if (next.size() < common.size()) {
      common.swap(next);
    }
    std::erase_if(common, [&](const Value& member) { return !next.contains(member); });
  }
  return ToArray(common, eval);
}

Result<Value> EvalSetDifference(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value a, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value b, call.Get(1, eval));
  if (a.nullish() || b.nullish()) {
    return Value::Null();
  }
  if (!a.is_array() || !b.is_array()) {
    return Status(a.is_array() ? 17049 : 17048,
                  "both operands of $setDifference must be arrays. One argument is of type: " +
                      TypeText(a.is_array() ? b : a));
  }
  OrderedSet seen = MakeSet(eval);
  RETURN_IF_ERROR(AddAll(eval, call.name(), b.AsArray(), &seen));
  ArrayResult result;
  for (const bson::Element& element : a.AsArray()) {
    RETURN_IF_ERROR(CheckBudget(eval, call.name()));
    if (seen.insert(element.value()).second) {
      result.Push(element.value());
    }
  }
  return result.Finish(eval);
}

Result<Value> EvalSetEquals(const Call& call, EvalContext& eval) {
  OrderedSet first = MakeSet(eval);
  bool equal = true;
  for (size_t i = 0; i < call.size(); ++i) {
    ASSIGN_OR_RETURN(Value value, call.Get(i, eval));
    if (!value.is_array()) {
      return Status(17044, "All operands of $setEquals must be arrays. " + std::to_string(i + 1) +
                               "-th argument is of type: " + TypeText(value));
    }
    if (i == 0) {
      RETURN_IF_ERROR(AddAll(eval, call.name(), value.AsArray(), &first));
      continue;
    }
    OrderedSet other = MakeSet(eval);
    RETURN_IF_ERROR(AddAll(eval, call.name(), value.AsArray(), &other));
    equal =
        equal && first.size() == other.size() &&
        std::equal(first.begin(), first.end(), other.begin(),
                   [&](const Value& x, const Value& y) { return CompareValues(eval, x, y) == 0; });
  }
  return Value(equal);
}

Result<ExpressionPtr> ParseSetEquals(const OperatorRow& row, const Value& spec, ParseScope& scope) {
  ASSIGN_OR_RETURN(Operands operands, ParseOperands(spec, scope));
  if (operands.size() < 2) {
    return Status(
        17045, "$setEquals needs at least two arguments had: " + std::to_string(operands.size()));
  }
  for (const ExpressionPtr& operand : operands) {
    if (operand->constant() != nullptr && !operand->constant()->is_array()) {
      return FailConstant(
          Status(5887502, "All operands of $setEquals must be arrays. One argument is of type: " +
                              TypeText(*operand->constant())),
          scope);
    }
  }
  return MakeCall(row, std::move(operands), scope);
}

Result<Value> EvalSetIsSubset(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value a, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value b, call.Get(1, eval));
  if (!a.is_array() || !b.is_array()) {
    return Status(a.is_array() ? 17042 : 17046,
                  "both operands of $setIsSubset must be arrays. One argument is of type: " +
                      TypeText(a.is_array() ? b : a));
  }
  OrderedSet all = MakeSet(eval);
  RETURN_IF_ERROR(AddAll(eval, call.name(), b.AsArray(), &all));
  for (const bson::Element& element : a.AsArray()) {
    RETURN_IF_ERROR(CheckBudget(eval, call.name()));
    if (!all.contains(element.value())) {
      return Value(false);
    }
  }
  return Value(true);
}

namespace {

Result<bson::View> TruthArray(const Call& call, EvalContext& eval, int code) {
  ASSIGN_OR_RETURN(Value value, call.Get(0, eval));
  if (!value.is_array()) {
    return Status(
        code, std::string(call.name()) + "'s argument must be an array, but is " + TypeText(value));
  }
  return value.AsArray();
}

}  // namespace

Result<Value> EvalAllElementsTrue(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(bson::View array, TruthArray(call, eval, 17040));
  for (const bson::Element& element : array) {
    if (!IsTrue(element.value())) {
      return Value(false);
    }
  }
  return Value(true);
}

Result<Value> EvalAnyElementTrue(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(bson::View array, TruthArray(call, eval, 17041));
  for (const bson::Element& element : array) {
    if (IsTrue(element.value())) {
      return Value(true);
    }
  }
  return Value(false);
}

}  // namespace quire::expr::agg
