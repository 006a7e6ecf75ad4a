// SPDX-License-Identifier: Apache-2.0
//
// The operators that bind variables: $let, $map, $filter and $reduce.
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"

namespace quire::expr::agg {

namespace {

// The fields of the argument document by name; the code of an unknown one.
struct Field {
  std::string_view name;
  int missing_code;
  Value value;
};

Status ReadFields(std::string_view op, const Value& spec, int not_object_code, int unknown_code,
                  std::span<Field> fields) {
  if (!spec.is_document()) {
    return Status(not_object_code, std::string(op) + " only supports an object as its argument");
  }
  for (const bson::Element& element : spec.AsDocument()) {
    Field* found = nullptr;
    for (Field& field : fields) {
      found = field.name == element.name() ? &field : found;
    }
    if (found == nullptr) {
      return Status(unknown_code, "Unrecognized parameter to " + std::string(op) + ": " +
                                      std::string(element.name()));
    }
    found->value = element.value();
  }
  for (const Field& field : fields) {
    if (field.value.missing() && field.missing_code != 0) {
      return Status(field.missing_code,
                    "Missing '" + std::string(field.name) + "' parameter to " + std::string(op));
    }
  }
  return Status::Ok();
}

Result<std::string> ReadVariableName(const Value& as, std::string_view fallback) {
  if (as.missing()) {
    return std::string(fallback);
  }
  if (!as.is_string()) {
    return Status(kFailedToParse, "the 'as' argument must be a string, found " + TypeText(as));
  }
  RETURN_IF_ERROR(CheckVariableName(as.AsString(), true));
  return std::string(as.AsString());
}

// An expression with one input and one body.
class LoopExpression : public Expression {
 public:
  LoopExpression(ExpressionPtr input, ExpressionPtr body)
      : input_(std::move(input)), body_(std::move(body)) {}
  bool AddDependencies(std::set<std::string>* fields) const override {
    return input_->AddDependencies(fields) && body_->AddDependencies(fields);
  }

 protected:
  // The input array; nothing in *array when the input is null. Error `code` otherwise.
  Result<bool> Input(EvalContext& eval, std::string_view op, int code, bson::View* array) const {
    ASSIGN_OR_RETURN(Value input, input_->Evaluate(eval));
    if (input.nullish()) {
      return false;
    }
    if (!input.is_array()) {
      return Status(code,
                    "input to " + std::string(op) + " must be an array not " + TypeText(input));
    }
    *array = input.AsArray();
    return true;
  }
  ExpressionPtr input_;
  ExpressionPtr body_;
};

class Map final : public LoopExpression {
 public:
  Map(ExpressionPtr input, ExpressionPtr body, std::string as, size_t slot)
      : LoopExpression(std::move(input), std::move(body)), as_(std::move(as)), slot_(slot) {}

  Result<Value> Evaluate(EvalContext& eval) const override {
    bson::View array;
    ASSIGN_OR_RETURN(bool present, Input(eval, "$map", 16883, &array));
    if (!present) {
      return Value::Null();
    }
    ArrayResult result;
    for (const bson::Element& element : array) {
      SetVariable(eval, slot_, element.value());
      ASSIGN_OR_RETURN(Value value, body_->Evaluate(eval));
      result.Push(value);
      RETURN_IF_ERROR(CheckBudget(eval, "$map", result.size()));
    }
    return result.Finish(eval);
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->BeginDocument(name).BeginDocument("$map");
    input_->Serialize("input", out);
    out->Append("as", as_);
    body_->Serialize("in", out);
    out->End().End();
  }

 private:
  std::string as_;
  size_t slot_;
};

class Filter final : public LoopExpression {
 public:
  Filter(ExpressionPtr input, ExpressionPtr body, ExpressionPtr limit, std::string as, size_t slot)
      : LoopExpression(std::move(input), std::move(body)),
        limit_(std::move(limit)),
        as_(std::move(as)),
        slot_(slot) {}

  Result<Value> Evaluate(EvalContext& eval) const override {
    bson::View array;
    ASSIGN_OR_RETURN(bool present, Input(eval, "$filter", 28651, &array));
    if (!present) {
      return Value::Null();
    }
    ASSIGN_OR_RETURN(int64_t left, Limit(eval));
    ArrayResult result;
    for (const bson::Element& element : array) {
      SetVariable(eval, slot_, element.value());
      ASSIGN_OR_RETURN(Value keep, body_->Evaluate(eval));
      if (IsTrue(keep)) {
        result.Push(element.value());
        if (--left == 0) {
          break;
        }
      }
      RETURN_IF_ERROR(CheckBudget(eval, "$filter", result.size()));
    }
    return result.Finish(eval);
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    return LoopExpression::AddDependencies(fields) &&
           (limit_ == nullptr || limit_->AddDependencies(fields));
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->BeginDocument(name).BeginDocument("$filter");
    input_->Serialize("input", out);
    out->Append("as", as_);
    body_->Serialize("cond", out);
    if (limit_ != nullptr) {
      limit_->Serialize("limit", out);
    }
    out->End().End();
  }

 private:
  // How many elements to keep; negative for all.
  Result<int64_t> Limit(EvalContext& eval) const {
    if (limit_ == nullptr) {
      return int64_t{-1};
    }
    ASSIGN_OR_RETURN(Value limit, limit_->Evaluate(eval));
    if (limit.nullish()) {
      return int64_t{-1};
    }
    auto n = AsInt32Exact(limit);
    if (!n) {
      return Status(
          327391, "$filter: limit must be represented as a 32-bit integral value: " + Show(limit));
    }
    if (*n <= 0) {
      return Status(327392, "$filter: limit must be greater than 0: " + Show(limit));
    }
    return *n;
  }
  ExpressionPtr limit_;
  std::string as_;
  size_t slot_;
};

class Reduce final : public LoopExpression {
 public:
  Reduce(ExpressionPtr input, ExpressionPtr initial, ExpressionPtr body, size_t this_slot,
         size_t value_slot)
      : LoopExpression(std::move(input), std::move(body)),
        initial_(std::move(initial)),
        this_slot_(this_slot),
        value_slot_(value_slot) {}

  Result<Value> Evaluate(EvalContext& eval) const override {
    bson::View array;
    ASSIGN_OR_RETURN(bool present, Input(eval, "$reduce", 40080, &array));
    if (!present) {
      return Value::Null();
    }
    ASSIGN_OR_RETURN(Value value, initial_->Evaluate(eval));
    // Steps run in an arena of their own that is emptied when it has grown well beyond the value.
    Arena scratch;
    Arena* outer = std::exchange(eval.arena, &scratch);
    bson::OwnedValue kept;
    Status status;
    for (const bson::Element& element : array) {
      SetVariable(eval, this_slot_, element.value());
      SetVariable(eval, value_slot_, value);
      Result<Value> next = body_->Evaluate(eval);
      status = next.ok() ? CheckBudget(eval, "$reduce") : next.status();
      if (!status.ok()) {
        break;
      }
      value = *next;
      if (scratch.memory() > kScratch) {
        bson::OwnedValue moved(value);
        scratch.Reset();
        kept = std::move(moved);
        value = kept.value();
      }
    }
    eval.arena = outer;
    RETURN_IF_ERROR(status);
    return CopyTo(outer, value);
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    return LoopExpression::AddDependencies(fields) && initial_->AddDependencies(fields);
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->BeginDocument(name).BeginDocument("$reduce");
    input_->Serialize("input", out);
    initial_->Serialize("initialValue", out);
    body_->Serialize("in", out);
    out->End().End();
  }

 private:
  static constexpr size_t kScratch = size_t{1} << 20;

  static Value CopyTo(Arena* arena, const Value& value) {
    std::string bytes;
    value.AppendTo(&bytes);
    return Value::FromBytes(value.type(), arena->Adopt(std::move(bytes)).data());
  }
  ExpressionPtr initial_;
  size_t this_slot_;
  size_t value_slot_;
};

class Let final : public Expression {
 public:
  struct Variable {
    std::string name;
    size_t slot;
    ExpressionPtr value;
  };
  Let(std::vector<Variable> variables, ExpressionPtr body)
      : variables_(std::move(variables)), body_(std::move(body)) {}

  Result<Value> Evaluate(EvalContext& eval) const override {
    for (const Variable& variable : variables_) {
      ASSIGN_OR_RETURN(Value value, variable.value->Evaluate(eval));
      SetVariable(eval, variable.slot, value);
    }
    return body_->Evaluate(eval);
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    for (const Variable& variable : variables_) {
      if (!variable.value->AddDependencies(fields)) {
        return false;
      }
    }
    return body_->AddDependencies(fields);
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->BeginDocument(name).BeginDocument("$let").BeginDocument("vars");
    for (const Variable& variable : variables_) {
      variable.value->Serialize(variable.name, out);
    }
    out->End();
    body_->Serialize("in", out);
    out->End().End();
  }

 private:
  std::vector<Variable> variables_;
  ExpressionPtr body_;
};

}  // namespace

Result<ExpressionPtr> ParseMap(const OperatorRow& row, const Value& spec, ParseScope& scope) {
  Field fields[] = {{"input", 16880, {}}, {"as", 0, {}}, {"in", 16882, {}}};
  RETURN_IF_ERROR(ReadFields(row.name, spec, 16878, 16879, fields));
  ASSIGN_OR_RETURN(ExpressionPtr input, ParseExpression(fields[0].value, scope));
  ASSIGN_OR_RETURN(std::string as, ReadVariableName(fields[1].value, "this"));
  VariableScope variables(scope);
  size_t slot = variables.Define(as);
  ASSIGN_OR_RETURN(ExpressionPtr body, ParseExpression(fields[2].value, scope));
  return ExpressionPtr(
      std::make_unique<Map>(std::move(input), std::move(body), std::move(as), slot));
}

Result<ExpressionPtr> ParseFilter(const OperatorRow& row, const Value& spec, ParseScope& scope) {
  Field fields[] = {{"input", 28648, {}}, {"as", 0, {}}, {"cond", 28650, {}}, {"limit", 0, {}}};
  RETURN_IF_ERROR(ReadFields(row.name, spec, 28646, 28647, fields));
  ASSIGN_OR_RETURN(ExpressionPtr input, ParseExpression(fields[0].value, scope));
  ExpressionPtr limit;
  if (!fields[3].value.missing()) {
    ASSIGN_OR_RETURN(limit, ParseExpression(fields[3].value, scope));
  }
  ASSIGN_OR_RETURN(std::string as, ReadVariableName(fields[1].value, "this"));
  VariableScope variables(scope);
  size_t slot = variables.Define(as);
  ASSIGN_OR_RETURN(ExpressionPtr cond, ParseExpression(fields[2].value, scope));
  return ExpressionPtr(std::make_unique<Filter>(std::move(input), std::move(cond), std::move(limit),
                                                std::move(as), slot));
}

Result<ExpressionPtr> ParseReduce(const OperatorRow& row, const Value& spec, ParseScope& scope) {
  Field fields[] = {{"input", 40077, {}}, {"initialValue", 40078, {}}, {"in", 40079, {}}};
  RETURN_IF_ERROR(ReadFields(row.name, spec, 40075, 40076, fields));
  ASSIGN_OR_RETURN(ExpressionPtr input, ParseExpression(fields[0].value, scope));
  ASSIGN_OR_RETURN(ExpressionPtr initial, ParseExpression(fields[1].value, scope));
  VariableScope variables(scope);
  size_t this_slot = variables.Define("this");
  size_t value_slot = variables.Define("value");
  ASSIGN_OR_RETURN(ExpressionPtr body, ParseExpression(fields[2].value, scope));
  return ExpressionPtr(std::make_unique<Reduce>(std::move(input), std::move(initial),
                                                std::move(body), this_slot, value_slot));
}

Result<ExpressionPtr> ParseLet(const OperatorRow& row, const Value& spec, ParseScope& scope) {
  Field fields[] = {{"vars", 16876, {}}, {"in", 16877, {}}};
  RETURN_IF_ERROR(ReadFields(row.name, spec, 16874, 16875, fields));
  if (!fields[0].value.is_document() && !fields[0].value.is_array()) {
    return Status(10065, "invalid parameter: expected an object (vars)");
  }
  std::vector<Let::Variable> parsed;
  for (const bson::Element& element : fields[0].value.AsDocument()) {
    RETURN_IF_ERROR(CheckVariableName(element.name(), true));
    ASSIGN_OR_RETURN(ExpressionPtr value, ParseExpression(element.value(), scope));
    parsed.push_back({std::string(element.name()), 0, std::move(value)});
  }
  VariableScope variables(scope);
  for (Let::Variable& variable : parsed) {
    variable.slot = variables.Define(variable.name);
  }
  ASSIGN_OR_RETURN(ExpressionPtr body, ParseExpression(fields[1].value, scope));
  return ExpressionPtr(std::make_unique<Let>(std::move(parsed), std::move(body)));
}

}  // namespace quire::expr::agg
