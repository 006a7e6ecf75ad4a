// SPDX-License-Identifier: Apache-2.0
//
// $and, $or, $not and the comparisons.
#include "base/try.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"

namespace quire::expr::agg {

Result<Value> EvalAnd(const Call& call, EvalContext& eval) {
  for (size_t i = 0; i < call.size(); ++i) {
    ASSIGN_OR_RETURN(Value value, call.Get(i, eval));
    if (!IsTrue(value)) {
      return Value(false);
    }
  }
  return Value(true);
}

Result<Value> EvalOr(const Call& call, EvalContext& eval) {
  for (size_t i = 0; i < call.size(); ++i) {
    ASSIGN_OR_RETURN(Value value, call.Get(i, eval));
    if (IsTrue(value)) {
      return Value(true);
    }
  }
  return Value(false);
}

Result<Value> EvalNot(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value value, call.Get(0, eval));
  return Value(!IsTrue(value));
}

// A constant that decides alone makes the whole one, wherever it stands.
Result<ExpressionPtr> ParseAndOr(const OperatorRow& row, const Value& spec, ParseScope& scope) {
  ASSIGN_OR_RETURN(Operands operands, ParseOperands(spec, scope));
  bool decisive = row.evaluate == EvalOr;
  for (const ExpressionPtr& operand : operands) {
    if (operand->constant() != nullptr && IsTrue(*operand->constant()) == decisive) {
      return ExpressionPtr(std::make_unique<Constant>(Value(decisive)));
    }
  }
  return MakeCall(row, std::move(operands), scope);
}

namespace {

Result<int> CompareOperands(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value a, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value b, call.Get(1, eval));
  return CompareValues(eval, a, b);
}

}  // namespace

Result<Value> EvalCmp(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(int order, CompareOperands(call, eval));
  return Value(static_cast<int32_t>((order > 0) - (order < 0)));
}

Result<Value> EvalEq(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(int order, CompareOperands(call, eval));
  return Value(order == 0);
}

Result<Value> EvalNe(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(int order, CompareOperands(call, eval));
  return Value(order != 0);
}

Result<Value> EvalGt(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(int order, CompareOperands(call, eval));
  return Value(order > 0);
}

Result<Value> EvalGte(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(int order, CompareOperands(call, eval));
  return Value(order >= 0);
}

Result<Value> EvalLt(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(int order, CompareOperands(call, eval));
  return Value(order < 0);
}

Result<Value> EvalLte(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(int order, CompareOperands(call, eval));
  return Value(order <= 0);
}

}  // namespace quire::expr::agg
