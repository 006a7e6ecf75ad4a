// SPDX-License-Identifier: Apache-2.0
//
// Documents and arrays whose fields are expressions, and $literal.
#include <unordered_set>

#include "base/keyed_hash.h"
#include "base/try.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"

namespace quire::expr::agg {

bool AddAllDependencies(const Operands& operands, std::set<std::string>* fields) {
  for (const ExpressionPtr& operand : operands) {
    if (!operand->AddDependencies(fields)) {
      return false;
    }
  }
  return true;
}

namespace {

bool AllConstant(const Operands& operands) {
  for (const ExpressionPtr& operand : operands) {
    if (operand->constant() == nullptr) {
      return false;
    }
  }
  return true;
}

class ObjectLiteral final : public Expression {
 public:
  ObjectLiteral(std::vector<std::string> names, Operands values)
      : names_(std::move(names)), values_(std::move(values)) {}

  Result<Value> Evaluate(EvalContext& eval) const override {
    DocumentResult result;
    for (size_t i = 0; i < values_.size(); ++i) {
      ASSIGN_OR_RETURN(Value value, values_[i]->Evaluate(eval));
      result.builder().Append(names_[i], value);
    }
    return result.Finish(eval);
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    return AddAllDependencies(values_, fields);
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->BeginDocument(name);
    for (size_t i = 0; i < values_.size(); ++i) {
      values_[i]->Serialize(names_[i], out);
    }
    out->End();
  }

 private:
  std::vector<std::string> names_;
  Operands values_;
};

class ArrayLiteral final : public Expression {
 public:
  explicit ArrayLiteral(Operands values) : values_(std::move(values)) {}

  Result<Value> Evaluate(EvalContext& eval) const override {
    ArrayResult result;
    for (const ExpressionPtr& element : values_) {
      ASSIGN_OR_RETURN(Value value, element->Evaluate(eval));
      result.Push(value);
    }
    return result.Finish(eval);
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    return AddAllDependencies(values_, fields);
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->BeginArray(name);
    for (size_t i = 0; i < values_.size(); ++i) {
      values_[i]->Serialize(std::to_string(i), out);
    }
    out->End();
  }

 private:
  Operands values_;
};

Status CheckFieldName(std::string_view name) {
  if (name.empty()) {
    return Status(15998, "FieldPath field names may not be empty strings.");
  }
  if (name[0] == '$') {
    return Status(16410,
                  "FieldPath field names may not start with '$'. Consider using $getField "
                  "or $setField.");
  }
  if (name.find('.') != std::string_view::npos) {
    return Status(16412,
                  "FieldPath field names may not contain '.'. Consider using $getField or "
                  "$setField.");
  }
  return Status::Ok();
}

}  // namespace

Result<ExpressionPtr> ParseObjectLiteral(bson::View spec, ParseScope& scope) {
  std::vector<std::string> names;
  Operands values;
  std::unordered_set<std::string_view, KeyedStringHash> seen;
  for (const bson::Element& element : spec) {
    RETURN_IF_ERROR(CheckFieldName(element.name()));
    if (!seen.insert(element.name()).second) {
      return Status(16406,
                    "duplicate field name specified in object literal: " + bson::ToJson(spec));
    }
    ASSIGN_OR_RETURN(ExpressionPtr value, ParseExpression(element.value(), scope));
    names.emplace_back(element.name());
    values.push_back(std::move(value));
  }
  bool constant = AllConstant(values);
  auto object = std::make_unique<ObjectLiteral>(std::move(names), std::move(values));
  if (constant) {
    return FoldConstant(*object, scope);
  }
  return ExpressionPtr(std::move(object));
}

Result<ExpressionPtr> ParseArrayLiteral(bson::View spec, ParseScope& scope) {
  ASSIGN_OR_RETURN(Operands values, ParseOperands(Value::Array(spec), scope));
  bool constant = AllConstant(values);
  auto array = std::make_unique<ArrayLiteral>(std::move(values));
  if (constant) {
    return FoldConstant(*array, scope);
  }
  return ExpressionPtr(std::move(array));
}

Result<ExpressionPtr> ParseLiteral(const OperatorRow&, const Value& spec, ParseScope&) {
  return ExpressionPtr(std::make_unique<Constant>(spec));
}

}  // namespace quire::expr::agg
