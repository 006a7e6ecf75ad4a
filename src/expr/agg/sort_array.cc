// SPDX-License-Identifier: Apache-2.0
//
// $sortArray.
#include <algorithm>

#include "base/interruptible_sort.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"

namespace quire::expr::agg {

namespace {

// {$sortArray: {input, sortBy}}.
class SortArray final : public Expression {
 public:
  SortArray(ExpressionPtr input, const Value& sort_by) : input_(std::move(input)), spec_(sort_by) {}

  // REQUIRES: CheckSortBy(sort_by) is ok.
  Status Prepare() {
    Value sort_by = spec_.value();
    if (!sort_by.is_document()) {
      parts_.push_back({{}, bson::IsNegative(sort_by) ? -1 : 1});
      return Status::Ok();
    }
    for (const bson::Element& element : sort_by.AsDocument()) {
      Part part;
      part.sign = bson::IsNegative(element.value()) ? -1 : 1;
      std::string_view path = element.name();
      for (size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
        part.path.emplace_back(path.substr(0, dot));
        path.remove_prefix(dot + 1);
      }
      part.path.emplace_back(path);
      parts_.push_back(std::move(part));
    }
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
    std::vector<Value> values;
    for (const bson::Element& element : input.AsArray()) {
      values.push_back(element.value());
    }
    RETURN_IF_ERROR(InterruptibleStableSort(
        values.begin(), values.end(),
        [&](const Value& a, const Value& b) { return Compare(eval, a, b) < 0; }));
    ArrayResult result;
    for (const Value& value : values) {
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
  struct Part {
    std::vector<std::string> path;  // empty: the element itself
    int sign = 1;
  };
  // The field below documents only: an array on the way ends the path.
  static Value Extract(const Part& part, Value value) {
    for (const std::string& name : part.path) {
      value = value.is_document() ? value.AsDocument()[name] : Value();
    }
    return value.missing() && !part.path.empty() ? Value::Null() : value;
  }
  int Compare(const EvalContext& eval, const Value& a, const Value& b) const {
    for (const Part& part : parts_) {
      int order = CompareValues(eval, Extract(part, a), Extract(part, b));
      if (order != 0) {
        return part.sign * order;
      }
    }
    return 0;
  }
  ExpressionPtr input_;
  bson::OwnedValue spec_;
  std::vector<Part> parts_;
};

Status CheckSortBy(const Value& sort_by) {
  if (sort_by.is_document()) {
    if (sort_by.AsDocument().empty()) {
      return Status(2942505, "$sortArray 'sortBy' specification must not be empty");
    }
    for (const bson::Element& element : sort_by.AsDocument()) {
      auto direction = bson::ExactInt64(element.value());
      if (!direction || (*direction != 1 && *direction != -1)) {
        return Status(2942505, "$sortArray 'sortBy' directions must be 1 or -1");
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

Result<ExpressionPtr> ParseSortArray(const OperatorRow&, const Value& spec, ParseScope& scope) {
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
