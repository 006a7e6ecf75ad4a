// SPDX-License-Identifier: Apache-2.0
//
// Accumulators used as expressions: over their operands, or over the elements of a single array.
#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"
#include "expr/accumulate/count_argument.h"
#include "expr/accumulate/percentile.h"
#include "expr/accumulate/standard_deviation.h"
#include "expr/accumulate/summation.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"
#include "expr/collation/collator.h"
#include "expr/sort/sort_key.h"

namespace quire::expr::agg {

namespace {

std::string TypeText(const Value& value) { return std::string(bson::TypeName(value.type())); }

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
      sum.Add(value);
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
    std::stable_sort(values.begin(), values.end(), [&](const Value& a, const Value& b) {
      return sign * CompareValues(eval, a, b) < 0;
    });
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
  PercentileCall(const Row& row, PercentileSpec spec) : row_(row), spec_(std::move(spec)) {}
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
  const Row& row_;
  PercentileSpec spec_;
};

// {$sortArray: {input, sortBy}}.
class SortArray final : public Expression {
 public:
  SortArray(ExpressionPtr input, const Value& sort_by) : input_(std::move(input)), spec_(sort_by) {}

  Status Prepare() {
    Value sort_by = spec_.value();
    if (sort_by.is_document()) {
      ASSIGN_OR_RETURN(pattern_, SortPattern::Parse(sort_by.AsDocument()));
      return Status::Ok();
    }
    auto direction = bson::ExactInt64(sort_by);
    sign_ = direction && *direction < 0 ? -1 : 1;
    return Status::Ok();
  }
  Result<Value> Evaluate(EvalContext& eval) const override {
    ASSIGN_OR_RETURN(Value input, input_->Evaluate(eval));
    if (input.nullish()) {
      return Value::Null();
    }
    if (!input.is_array()) {
      return Status(
          2942504,
          "The input argument to $sortArray must be an array, but was of type: " + TypeText(input));
    }
    std::vector<std::pair<std::string, Value>> items;
    for (const bson::Element& element : input.AsArray()) {
      items.emplace_back(std::string(), element.value());
      RETURN_IF_ERROR(AppendKey(eval, element.value(), &items.back().first));
    }
    std::stable_sort(items.begin(), items.end(), [&](const auto& a, const auto& b) {
      return pattern_.empty() ? sign_ * CompareValues(eval, a.second, b.second) < 0
                              : a.first < b.first;
    });
    ArrayResult result;
    for (const auto& [key, value] : items) {
      result.Push(value);
    }
    return result.Finish(eval);
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    return input_->AddDependencies(fields);
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->BeginDocument(name).BeginDocument("$sortArray");
    input_->Serialize("input", out);
    out->Append("sortBy", spec_.value()).End().End();
  }
  bool AllConstant() const { return input_->constant() != nullptr; }

 private:
  Status AppendKey(const EvalContext& eval, const Value& value, std::string* out) const {
    if (pattern_.empty()) {
      return Status::Ok();
    }
    bson::View document = value.is_document() ? value.AsDocument() : bson::View();
    return pattern_.AppendKey(document, nullptr, *eval.context, out);
  }
  ExpressionPtr input_;
  bson::OwnedValue spec_;
  SortPattern pattern_;
  int sign_ = 1;
};

Status CheckSortBy(const Value& sort_by) {
  if (sort_by.is_document()) {
    if (sort_by.AsDocument().empty()) {
      return Status(2942505, "$sortArray 'sortBy' specification must not be empty");
    }
    for (const bson::Element& element : sort_by.AsDocument()) {
      auto direction = bson::ExactInt64(element.value());
      if (!direction || (*direction != 1 && *direction != -1)) {
        return Status(element.value().is_number() ? 15975 : 15974,
                      "$sortArray 'sortBy' directions must be 1 or -1");
      }
      if (element.name().starts_with('$')) {
        return Status(16410, "FieldPath field names may not start with '$'.");
      }
    }
    return Status::Ok();
  }
  if (!sort_by.is_number()) {
    return Status(2942507, "$sortArray 'sortBy' must be an object, 1 or -1");
  }
  auto direction = bson::ExactInt64(sort_by);
  if (!direction || (*direction != 1 && *direction != -1)) {
    return Status(2942506, "$sortArray 'sortBy' must be an object, 1 or -1");
  }
  return Status::Ok();
}

}  // namespace

Result<ExpressionPtr> ParsePercentileCall(const Row& row, const Value& spec, ParseScope& scope) {
  ASSIGN_OR_RETURN(PercentileSpec parsed, ParsePercentileSpec(row.name, spec, scope));
  bool constant = parsed.input->constant() != nullptr;
  auto call = std::make_unique<PercentileCall>(row, std::move(parsed));
  if (constant) {
    return FoldConstant(*call, scope);
  }
  return ExpressionPtr(std::move(call));
}

Result<ExpressionPtr> ParseSortArray(const Row&, const Value& spec, ParseScope& scope) {
  if (!spec.is_document()) {
    return Status(2942500,
                  "$sortArray requires an object as an argument, found: " + TypeText(spec));
  }
  ExpressionPtr input;
  Value sort_by;
  for (const bson::Element& element : spec.AsDocument()) {
    if (element.name() == "input") {
      ASSIGN_OR_RETURN(input, ParseExpression(element.value(), scope));
    } else if (element.name() == "sortBy") {
      sort_by = element.value();
    } else {
      return Status(2942501,
                    "$sortArray found an unknown argument: " + std::string(element.name()));
    }
  }
  if (input == nullptr) {
    return Status(2942502, "$sortArray requires 'input' to be specified");
  }
  if (sort_by.missing()) {
    return Status(2942503, "$sortArray requires 'sortBy' to be specified");
  }
  RETURN_IF_ERROR(CheckSortBy(sort_by));
  auto call = std::make_unique<SortArray>(std::move(input), sort_by);
  RETURN_IF_ERROR(call->Prepare());
  if (call->AllConstant()) {
    return FoldConstant(*call, scope);
  }
  return ExpressionPtr(std::move(call));
}

}  // namespace quire::expr::agg
