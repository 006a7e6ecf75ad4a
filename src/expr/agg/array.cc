// SPDX-License-Identifier: Apache-2.0
//
// Taking arrays apart and putting them together.
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"

namespace quire::expr::agg {

namespace {

// The element at `index`, counted from the end when negative; missing when there is none.
Value ElementAt(bson::View array, int64_t index) {
  if (index < 0) {
    index += static_cast<int64_t>(array.Count());
    if (index < 0) {
      return Value();
    }
  }
  for (const bson::Element& element : array) {
    if (index-- == 0) {
      return element.value();
    }
  }
  return Value();
}

Result<Value> EvalEnd(const Call& call, EvalContext& eval, int64_t index) {
  ASSIGN_OR_RETURN(Value array, call.Get(0, eval));
  if (array.nullish()) {
    return Value::Null();
  }
  if (!array.is_array()) {
    return Status(28689, std::string(call.name()) + "'s argument must be an array, but is " +
                             TypeText(array));
  }
  return ElementAt(array.AsArray(), index);
}

// A bound of $range.
Result<int64_t> RangeBound(const Value& value, std::string_view what, int type_code,
                           int value_code) {
  if (!value.is_number()) {
    return Status(type_code, "$range requires a numeric " + std::string(what) +
                                 " value, found value of type:" + TypeText(value));
  }
  auto n = AsInt32Exact(value);
  if (!n) {
    return Status(value_code, "$range requires a " + std::string(what) +
                                  " value that can be represented as a 32-bit integer, found "
                                  "value: " +
                                  Show(value));
  }
  return *n;
}

// An integer argument of $slice.
Result<int64_t> SliceArgument(const Value& value, std::string_view which, int type_code,
                              int value_code) {
  if (!value.is_number()) {
    return Status(type_code, std::string(which) +
                                 " argument to $slice must be a numeric value, but is of type: " +
                                 TypeText(value));
  }
  auto n = AsInt32Exact(value);
  if (!n) {
    return Status(value_code, std::string(which) +
                                  " argument to $slice can't be represented as a 32-bit integer: " +
                                  Show(value));
  }
  return *n;
}

Value CopyRange(bson::View array, int64_t start, int64_t count, EvalContext& eval) {
  ArrayResult result;
  int64_t i = 0;
  for (const bson::Element& element : array) {
    if (i >= start + count) {
      break;
    }
    if (i++ >= start) {
      result.Push(element.value());
    }
  }
  return result.Finish(eval);
}

}  // namespace

Result<Value> EvalArrayElemAt(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value array, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value index, call.Get(1, eval));
  if (array.nullish() || index.nullish()) {
    return Value::Null();
  }
  if (!array.is_array()) {
    return Status(28689,
                  "$arrayElemAt's first argument must be an array, but is " + TypeText(array));
  }
  if (!index.is_number()) {
    return Status(
        28690, "$arrayElemAt's second argument must be a numeric value, but is " + TypeText(index));
  }
  auto n = AsInt32Exact(index);
  if (!n) {
    return Status(28691,
                  "$arrayElemAt's second argument must be representable as a 32-bit "
                  "integer: " +
                      Show(index));
  }
  return ElementAt(array.AsArray(), *n);
}

Result<Value> EvalFirst(const Call& call, EvalContext& eval) { return EvalEnd(call, eval, 0); }

Result<Value> EvalLast(const Call& call, EvalContext& eval) { return EvalEnd(call, eval, -1); }

Result<Value> EvalConcatArrays(const Call& call, EvalContext& eval) {
  ArrayResult result;
  for (size_t i = 0; i < call.size(); ++i) {
    ASSIGN_OR_RETURN(Value value, call.Get(i, eval));
    if (value.nullish()) {
      return Value::Null();
    }
    if (!value.is_array()) {
      return Status(28664, "$concatArrays only supports arrays, not " + TypeText(value));
    }
    for (const bson::Element& element : value.AsArray()) {
      result.Push(element.value());
    }
    RETURN_IF_ERROR(CheckBudget(eval, call.name(), result.size()));
  }
  return result.Finish(eval);
}

Result<Value> EvalSize(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value value, call.Get(0, eval));
  if (!value.is_array()) {
    return Status(17124,
                  "The argument to $size must be an array, but was of type: " + TypeText(value));
  }
  return Value(static_cast<int32_t>(value.AsArray().Count()));
}

Result<Value> EvalIsArray(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value value, call.Get(0, eval));
  return Value(value.is_array());
}

Result<Value> EvalIn(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value wanted, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value array, call.Get(1, eval));
  if (!array.is_array()) {
    return Status(40081, "$in requires an array as a second argument, found: " + TypeText(array));
  }
  for (const bson::Element& element : array.AsArray()) {
    if (CompareValues(eval, wanted, element.value()) == 0) {
      return Value(true);
    }
  }
  return Value(false);
}

Result<Value> EvalIndexOfArray(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value array, call.Get(0, eval));
  if (array.nullish()) {
    return Value::Null();
  }
  if (!array.is_array()) {
    return Status(40090,
                  "$indexOfArray requires an array as a first argument, found: " + TypeText(array));
  }
  ASSIGN_OR_RETURN(Value wanted, call.Get(1, eval));
  int64_t start = 0;
  int64_t end = INT64_MAX;
  if (call.has(2)) {
    ASSIGN_OR_RETURN(Value value, call.Get(2, eval));
    ASSIGN_OR_RETURN(start,
                     CheckIndexOfPosition(call.name(), value, "starting", kIndexOfArrayCodes));
  }
  if (call.has(3)) {
    ASSIGN_OR_RETURN(Value value, call.Get(3, eval));
    ASSIGN_OR_RETURN(end, CheckIndexOfPosition(call.name(), value, "ending", kIndexOfArrayCodes));
  }
  int64_t i = 0;
  for (const bson::Element& element : array.AsArray()) {
    if (i >= end) {
      break;
    }
    if (i >= start && CompareValues(eval, wanted, element.value()) == 0) {
      return Value(static_cast<int32_t>(i));
    }
    ++i;
  }
  return Value(-1);
}

Result<Value> EvalReverseArray(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value array, call.Get(0, eval));
  if (array.nullish()) {
    return Value::Null();
  }
  if (!array.is_array()) {
    return Status(34435, "The argument to $reverseArray must be an array, but was of type: " +
                             TypeText(array));
  }
  std::vector<Value> values;
  for (const bson::Element& element : array.AsArray()) {
    values.push_back(element.value());
  }
  ArrayResult result;
  for (auto it = values.rbegin(); it != values.rend(); ++it) {
    result.Push(*it);
  }
  return result.Finish(eval);
}

Result<Value> EvalRange(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value from, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value to, call.Get(1, eval));
  ASSIGN_OR_RETURN(int64_t start, RangeBound(from, "starting", 34443, 34444));
  ASSIGN_OR_RETURN(int64_t end, RangeBound(to, "ending", 34445, 34446));
  int64_t step = 1;
  if (call.has(2)) {
    ASSIGN_OR_RETURN(Value by, call.Get(2, eval));
    ASSIGN_OR_RETURN(step, RangeBound(by, "step", 34447, 34448));
    if (step == 0) {
      return Status(34449, "$range requires a non-zero step value");
    }
  }
  int64_t count = (step > 0) == (end > start) ? (end - start) / step : 0;
  if (count > 0) {
    RETURN_IF_ERROR(CheckBudget(eval, "$range", static_cast<size_t>(count) * 16));
  }
  ArrayResult result;
  for (int64_t i = start; step > 0 ? i < end : i > end; i += step) {
    result.builder().Push(static_cast<int32_t>(i));
  }
  return result.Finish(eval);
}

Result<Value> EvalSlice(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value array, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value second, call.Get(1, eval));
  if (array.nullish() || second.nullish()) {
    return Value::Null();
  }
  if (!array.is_array()) {
    return Status(28724,
                  "First argument to $slice must be an array, but is of type: " + TypeText(array));
  }
  ASSIGN_OR_RETURN(int64_t n, SliceArgument(second, "Second", 28725, 28726));
  auto size = static_cast<int64_t>(array.AsArray().Count());
  int64_t start = 0;
  int64_t count = n;
  if (!call.has(2)) {
    start = n < 0 ? std::max<int64_t>(0, size + n) : 0;
    count = n < 0 ? size : n;
  } else {
    ASSIGN_OR_RETURN(Value third, call.Get(2, eval));
    if (third.nullish()) {
      return Value::Null();
    }
    ASSIGN_OR_RETURN(count, SliceArgument(third, "Third", 28727, 28728));
    if (count <= 0) {
      return Status(28729, "Third argument to $slice must be positive: " + Show(third));
    }
    start = n < 0 ? std::max<int64_t>(0, size + n) : n;
  }
  return CopyRange(array.AsArray(), start, count, eval);
}

}  // namespace quire::expr::agg
