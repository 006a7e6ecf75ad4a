// SPDX-License-Identifier: Apache-2.0
//
// Accumulators used as expressions: over their operands, or over the elements of a single array.
#include <algorithm>

#include "base/error_codes.h"
#include "base/interruptible_sort.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/accumulate/count_argument.h"
#include "expr/accumulate/percentile.h"
#include "expr/accumulate/standard_deviation.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"
#include "expr/summation.h"

namespace quire::expr::agg {

namespace {

// Calls `take` on every operand, or on the elements of the only operand when it is an array.
template <typename Take>
Status ForEachValue(const Call& call, EvalContext& eval, Take take) {
  for (size_t i = 0; i < call.size(); ++i) {
    ASSIGN_OR_RETURN(Value value, call.Get(i, eval));
    if (call.size() == 1 && value.is_array()) {
      for (const bson::Element& element : value.AsArray()) {
        take(element.value());
      }
    } else {
      take(value);
    }
  }
  return Status::Ok();
}

Result<Value> EvalExtreme(const Call& call, EvalContext& eval, int sign) {
  Value best;
  RETURN_IF_ERROR(ForEachValue(call, eval, [&](const Value& value) {
    if (!value.nullish() && (best.missing() || sign * CompareValues(eval, value, best) > 0)) {
      best = value;
    }
  }));
  return best.missing() ? Value::Null() : best;
}

Result<StandardDeviation> Deviation(const Call& call, EvalContext& eval) {
  StandardDeviation deviation;
  RETURN_IF_ERROR(ForEachValue(call, eval, [&](const Value& value) {
    if (value.is_number()) {
      deviation.Add(bson::ToDouble(value));
    }
  }));
  return deviation;
}

}  // namespace

Result<Value> EvalSum(const Call& call, EvalContext& eval) {
  Summation sum;
  RETURN_IF_ERROR(ForEachValue(call, eval, [&](const Value& value) {
    if (value.is_number()) {
      sum.Add(value);
    }
  }));
  return sum.Sum();
}

Result<Value> EvalAvg(const Call& call, EvalContext& eval) {
  Summation sum;
  RETURN_IF_ERROR(ForEachValue(call, eval, [&](const Value& value) {
    if (value.is_number()) {
      sum.AddAsDouble(value);
    }
  }));
  return sum.count() == 0 ? Value::Null() : sum.Mean();
}

Result<Value> EvalMin(const Call& call, EvalContext& eval) { return EvalExtreme(call, eval, -1); }

Result<Value> EvalMax(const Call& call, EvalContext& eval) { return EvalExtreme(call, eval, 1); }

Result<Value> EvalStdDevPop(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(StandardDeviation deviation, Deviation(call, eval));
  return deviation.Population();
}

Result<Value> EvalStdDevSamp(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(StandardDeviation deviation, Deviation(call, eval));
  return deviation.Sample();
}

// Operands: n, input.
Result<Value> EvalFirstN(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value n_value, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value input, call.Get(1, eval));
  ASSIGN_OR_RETURN(int64_t count, CheckArrayCount(n_value));
  if (input.nullish()) {
    return Value::Null();
  }
  if (!input.is_array()) {
    return Status(5788200, "Input must be an array, but got " + TypeText(input));
  }
  std::vector<Value> values;
  bool extreme = call.name() == "$minN" || call.name() == "$maxN";
  for (const bson::Element& element : input.AsArray()) {
    if (!extreme || !element.value().nullish()) {
      values.push_back(element.value());
    }
  }
  if (extreme) {
    int sign = call.name() == "$minN" ? 1 : -1;
    RETURN_IF_ERROR(InterruptibleStableSort(
        values.begin(), values.end(),
        [&](const Value& a, const Value& b) { return sign * CompareValues(eval, a, b) < 0; }));
  }
  auto n = static_cast<size_t>(std::min<int64_t>(count, static_cast<int64_t>(values.size())));
  size_t start = call.name() == "$lastN" ? values.size() - n : 0;
  ArrayResult result;
  for (size_t i = start; i < start + n; ++i) {
    result.Push(values[i]);
  }
  return result.Finish(eval);
}

Result<int64_t> CheckArrayCount(const Value& value) {
  if (!value.is_number()) {
    return Status(5787902, "Value for 'n' must be of integral type, but found " + Show(value));
  }
  auto n = AsInt64Exact(value);
  if (!n) {
    return Status(5787903, "Value for 'n' must be of integral type, but found " + Show(value));
  }
  if (*n <= 0) {
    return Status(5787908, "'n' must be greater than 0, found " + Show(value));
  }
  return *n;
}

namespace {

class PercentileCall final : public Expression {
 public:
  PercentileCall(const OperatorRow& row, PercentileSpec spec) : row_(row), spec_(std::move(spec)) {}
  Result<Value> Evaluate(EvalContext& eval) const override {
    ASSIGN_OR_RETURN(Value input, spec_.input->Evaluate(eval));
    std::vector<double> values;
    if (input.is_array()) {
      for (const bson::Element& element : input.AsArray()) {
        if (element.value().is_number()) {
          values.push_back(bson::ToDouble(element.value()));
        }
      }
    } else if (input.is_number()) {
      values.push_back(bson::ToDouble(input));
    }
    return ComputePercentiles(spec_, &values, eval.arena);
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    return spec_.input->AddDependencies(fields);
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    SerializePercentile(name, row_.name, spec_, out);
  }

 private:
  const OperatorRow& row_;
  PercentileSpec spec_;
};

}  // namespace

Result<ExpressionPtr> ParsePercentileCall(const OperatorRow& row, const Value& spec,
                                          ParseScope& scope) {
  ASSIGN_OR_RETURN(PercentileSpec parsed, ParsePercentileSpec(row.name, spec, scope));
  bool constant = parsed.input->constant() != nullptr;
  auto call = std::make_unique<PercentileCall>(row, std::move(parsed));
  if (constant) {
    return FoldConstant(*call, scope);
  }
  return ExpressionPtr(std::move(call));
}

}  // namespace quire::expr::agg
