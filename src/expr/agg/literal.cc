// SPDX-License-Identifier: Apache-2.0
//
// Documents and arrays whose fields are expressions, and $literal.
#include <array>
#include <cstring>
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

// Writes the value's encoding, value.EncodedSize() bytes, and gives where it ends.
char* WriteValue(const Value& value, char* out) {
  switch (value.type()) {
    case Type::kString: {
      const std::string_view text = value.AsString();
      const auto size = static_cast<uint32_t>(text.size() + 1);
      memcpy(out, &size, sizeof size);
      memcpy(out + sizeof size, text.data(), text.size());
      out[sizeof size + text.size()] = '\0';
      return out + sizeof size + size;
    }
    case Type::kDate:
    case Type::kInt64: {
      const int64_t number = value.AsInt64();
      memcpy(out, &number, sizeof number);
      return out + sizeof number;
    }
    default: {
      std::string bytes;
      value.AppendTo(&bytes);
      memcpy(out, bytes.data(), bytes.size());
      return out + bytes.size();
    }
  }
}

class ObjectLiteral final : public Expression {
 public:
  ObjectLiteral(std::vector<std::string> names, Operands values)
      : names_(std::move(names)), values_(std::move(values)) {}

  Result<Value> Evaluate(EvalContext& eval) const override {
    return values_.size() <= kFew ? EvaluateFew(eval) : EvaluateMany(eval);
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
  static constexpr size_t kFew = 8;
  static constexpr size_t kLarge = size_t{1} << 20;

  // Once all values are there, the document's size is known and it is written in its place. This is
  // the key of most $groups.
  Result<Value> EvaluateFew(EvalContext& eval) const {
    constexpr size_t kFrame = sizeof(int32_t) + 1;
    constexpr size_t kTypeAndEnd = 2;  // of a field, beside its name and value
    std::array<Value, kFew> values;
    size_t size = kFrame;
    for (size_t i = 0; i < values_.size(); ++i) {
      ASSIGN_OR_RETURN(values[i], values_[i]->Evaluate(eval));
      if (!values[i].missing()) {
        size += kTypeAndEnd + names_[i].size() + values[i].EncodedSize();
      }
    }
    if (size > kLarge) [[unlikely]] {
      RETURN_IF_ERROR(CheckBudget(eval, "an object", size));
    }
    char* const document = eval.arena->Allocate(size);
    const auto stored_size = static_cast<int32_t>(size);
    memcpy(document, &stored_size, sizeof stored_size);
    char* out = document + sizeof stored_size;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!values[i].missing()) {
        *out++ = static_cast<char>(values[i].type());
        memcpy(out, names_[i].c_str(), names_[i].size() + 1);
        out = WriteValue(values[i], out + names_[i].size() + 1);
      }
    }
    *out = '\0';
    return Value(bson::View(document));
  }

  Result<Value> EvaluateMany(EvalContext& eval) const {
    DocumentResult result;
    for (size_t i = 0; i < values_.size(); ++i) {
      ASSIGN_OR_RETURN(Value value, values_[i]->Evaluate(eval));
      result.builder().Append(names_[i], value);
      RETURN_IF_ERROR(CheckBudget(eval, "an object", result.builder().size()));
    }
    return result.Finish(eval);
  }

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
      RETURN_IF_ERROR(CheckBudget(eval, "an array", result.size()));
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
