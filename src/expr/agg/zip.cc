// SPDX-License-Identifier: Apache-2.0
//
// $zip: arrays side by side.
#include <algorithm>

#include "base/try.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"

namespace quire::expr::agg {

namespace {

// The expressions of an argument that is a list of them.
Result<Operands> ParseList(const bson::Element& list, int code, ParseScope& scope) {
  if (!list.value().is_array()) {
    return Status(code, std::string(list.name()) + " must be an array of expressions, found " +
                            TypeText(list.value()));
  }
  Operands parsed;
  for (const bson::Element& element : list.value().AsArray()) {
    ASSIGN_OR_RETURN(ExpressionPtr one, ParseExpression(element.value(), scope));
    parsed.push_back(std::move(one));
  }
  return parsed;
}

class Zip final : public Expression {
 public:
  Zip(Operands inputs, Operands defaults, bool longest)
      : inputs_(std::move(inputs)), defaults_(std::move(defaults)), longest_(longest) {}

  // Inputs are asked in order up to the first null; defaults only when some input is shorter.
  Result<Value> Evaluate(EvalContext& eval) const override {
    std::vector<std::vector<Value>> arrays;
    size_t least = SIZE_MAX;
    size_t most = 0;
    for (const ExpressionPtr& input : inputs_) {
      ASSIGN_OR_RETURN(Value array, input->Evaluate(eval));
      if (array.nullish()) {
        return Value::Null();
      }
      if (!array.is_array()) {
        return Status(34468, "$zip found a non-array expression in input: " + TypeText(array));
      }
      std::vector<Value>& values = arrays.emplace_back();
      for (const bson::Element& element : array.AsArray()) {
        values.push_back(element.value());
      }
      least = std::min(least, values.size());
      most = std::max(most, values.size());
    }
    std::vector<Value> defaults(inputs_.size(), Value::Null());
    for (size_t i = 0; i < defaults_.size() && least < most; ++i) {
      ASSIGN_OR_RETURN(defaults[i], defaults_[i]->Evaluate(eval));
    }
    ArrayResult result;
    for (size_t at = 0; at < (longest_ ? most : least); ++at) {
      result.builder().PushArray();
      for (size_t i = 0; i < arrays.size(); ++i) {
        const Value value = at < arrays[i].size() ? arrays[i][at] : defaults[i];
        if (!value.missing()) {
          result.builder().Push(value);
          RETURN_IF_ERROR(CheckBudget(eval, "$zip", result.size()));
        }
      }
      result.builder().End();
      RETURN_IF_ERROR(CheckBudget(eval, "$zip", result.size()));
    }
    return result.Finish(eval);
  }

  bool AddDependencies(std::set<std::string>* fields) const override {
    return AddAllDependencies(inputs_, fields) && AddAllDependencies(defaults_, fields);
  }

  void Serialize(std::string_view name, bson::Builder* out) const override {
    auto list = [&](std::string_view field, const Operands& values) {
      out->BeginArray(field);
      for (size_t i = 0; i < values.size(); ++i) {
        values[i]->Serialize(std::to_string(i), out);
      }
      out->End();
    };
    out->BeginDocument(name).BeginDocument("$zip");
    list("inputs", inputs_);
    list("defaults", defaults_);
    out->BeginDocument("useLongestLength").Append("$const", longest_).End();
    out->End().End();
  }

  bool IsConstant() const {
    auto constant = [](const ExpressionPtr& value) { return value->constant() != nullptr; };
    return std::all_of(inputs_.begin(), inputs_.end(), constant) &&
           std::all_of(defaults_.begin(), defaults_.end(), constant);
  }

 private:
  Operands inputs_;
  Operands defaults_;
  bool longest_;
};

}  // namespace

Result<ExpressionPtr> ParseZip(const OperatorRow&, const Value& spec, ParseScope& scope) {
  if (!spec.is_document()) {
    return Status(34460, "$zip only supports an object as an argument, found " + TypeText(spec));
  }
  Operands inputs;
  Operands defaults;
  bool longest = false;
  for (const bson::Element& element : spec.AsDocument()) {
    if (element.name() == "inputs") {
      ASSIGN_OR_RETURN(inputs, ParseList(element, 34461, scope));
    } else if (element.name() == "defaults") {
      ASSIGN_OR_RETURN(defaults, ParseList(element, 34462, scope));
    } else if (element.name() != "useLongestLength") {
      return Status(34464, "$zip found an unknown argument: " + std::string(element.name()));
    } else if (element.type() != Type::kBool) {
      return Status(34463, "useLongestLength must be a bool, found " + TypeText(element.value()));
    } else {
      longest = element.value().AsBool();
    }
  }
  if (inputs.empty()) {
    return Status(34465, "$zip requires at least one input array");
  }
  if (!defaults.empty() && !longest) {
    return Status(34466, "cannot specify defaults unless useLongestLength is true");
  }
  if (!defaults.empty() && defaults.size() != inputs.size()) {
    return Status(34467, "defaults and inputs must have the same length");
  }
  auto zip = std::make_unique<Zip>(std::move(inputs), std::move(defaults), longest);
  if (zip->IsConstant()) {
    return FoldConstant(*zip, scope);
  }
  return ExpressionPtr(std::move(zip));
}

}  // namespace quire::expr::agg
