// SPDX-License-Identifier: Apache-2.0
#include "expr/agg/expression.h"

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/agg/node_internal.h"
#include "expr/agg/result_internal.h"
#include "expr/agg/text_internal.h"

namespace quire::expr::agg {

namespace {

// Far above what BSON's own nesting limit lets in, far below what a stack holds.
constexpr int kMaxDepth = 400;

class DepthGuard {
 public:
  explicit DepthGuard(ParseScope& scope) : scope_(scope) { ++scope_.depth; }
  ~DepthGuard() { --scope_.depth; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  ParseScope& scope_;
};

Result<ExpressionPtr> ParseOperator(bson::View spec, ParseScope& scope) {
  bson::Element first = spec.front();
  if (spec.Count() != 1) {
    return Status(15983, "an object representing an expression must have exactly one field: " +
                             bson::ToJson(spec));
  }
  const OperatorRow* row = FindRow(first.name());
  if (row == nullptr) {
    return Status(kInvalidPipelineOperator,
                  "Unrecognized expression '" + std::string(first.name()) + "'");
  }
  return row->parse(*row, first.value(), scope);
}

Result<ExpressionPtr> ParseAny(const Value& spec, ParseScope& scope) {
  if (scope.depth > kMaxDepth) {
    return Status(kOverflow, "the expression is nested too deeply");
  }
  if (spec.is_string() && spec.AsString().starts_with('$')) {
    return ParseFieldPath(spec.AsString(), scope);
  }
  if (spec.is_array()) {
    return ParseArrayLiteral(spec.AsArray(), scope);
  }
  if (spec.is_document()) {
    bson::View document = spec.AsDocument();
    if (!document.empty() && document.front().name().starts_with('$')) {
      return ParseOperator(document, scope);
    }
    return ParseObjectLiteral(document, scope);
  }
  if (spec.is_string()) {
    RETURN_IF_ERROR(CheckStringSize(spec.AsString().size()));
  }
  return ExpressionPtr(std::make_unique<Constant>(spec));
}

}  // namespace

Result<ExpressionPtr> ParseExpression(const Value& spec, ParseScope& scope) {
  DepthGuard guard(scope);
  if (scope.depth > 1) {
    return ParseAny(spec, scope);
  }
  ConstantErrors errors(scope.context);
  ASSIGN_OR_RETURN(ExpressionPtr expression, ParseAny(spec, scope));
  RETURN_IF_ERROR(errors.first());
  return expression;
}

Result<const Value*> ConstantValue(const Expression& expression) {
  if (const auto* failed = dynamic_cast<const FailedConstant*>(&expression)) {
    return failed->status();
  }
  return expression.constant();
}

Result<Operands> ParseOperands(const Value& spec, ParseScope& scope) {
  Operands operands;
  if (!spec.is_array()) {
    ASSIGN_OR_RETURN(ExpressionPtr only, ParseExpression(spec, scope));
    operands.push_back(std::move(only));
    return operands;
  }
  for (const bson::Element& element : spec.AsArray()) {
    ASSIGN_OR_RETURN(ExpressionPtr operand, ParseExpression(element.value(), scope));
    operands.push_back(std::move(operand));
  }
  return operands;
}

Status CheckArity(const OperatorRow& row, size_t count) {
  auto n = static_cast<int>(count);
  if (n >= row.min_args && n <= row.max_args) {
    return Status::Ok();
  }
  std::string name(row.name);
  if (row.min_args == row.max_args) {
    return Status(16020, "Expression " + name + " takes exactly " + std::to_string(row.min_args) +
                             " arguments. " + std::to_string(n) + " were passed in.");
  }
  if (row.max_args == kAnyCount) {
    return Status(28667, "Expression " + name + " takes at least " + std::to_string(row.min_args) +
                             " arguments, but " + std::to_string(n) + " were passed in.");
  }
  return Status(28667, "Expression " + name + " takes at least " + std::to_string(row.min_args) +
                           " arguments, and at most " + std::to_string(row.max_args) + ", but " +
                           std::to_string(n) + " were passed in.");
}

Result<ExpressionPtr> ParsePositional(const OperatorRow& row, const Value& spec,
                                      ParseScope& scope) {
  ASSIGN_OR_RETURN(Operands operands, ParseOperands(spec, scope));
  RETURN_IF_ERROR(CheckArity(row, operands.size()));
  return MakeCall(row, std::move(operands), scope);
}

Result<ExpressionPtr> ParseSingle(const OperatorRow& row, const Value& spec, ParseScope& scope) {
  Operands operands(1);
  ASSIGN_OR_RETURN(operands[0], ParseExpression(spec, scope));
  return MakeCall(row, std::move(operands), scope);
}

Result<ExpressionPtr> ParseNamed(const OperatorRow& row, const Value& spec, ParseScope& scope) {
  const NamedForm& form = *row.named;
  std::string op(row.name);
  if (!spec.is_document()) {
    return Status(form.not_object_code, op + " only supports an object as its argument, found " +
                                            std::string(bson::TypeName(spec.type())));
  }
  Operands operands(form.arguments.size());
  for (const bson::Element& element : spec.AsDocument()) {
    size_t i = 0;
    while (i < form.arguments.size() && form.arguments[i].name != element.name()) {
      ++i;
    }
    if (i == form.arguments.size()) {
      return Status(form.unknown_code,
                    "Unrecognized parameter to " + op + ": " + std::string(element.name()));
    }
    ASSIGN_OR_RETURN(operands[i], ParseExpression(element.value(), scope));
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == nullptr && form.arguments[i].missing_code != 0) {
      return Status(form.arguments[i].missing_code,
                    "Missing '" + std::string(form.arguments[i].name) + "' parameter to " + op);
    }
  }
  return MakeCall(row, std::move(operands), scope);
}

Result<ExpressionPtr> FailConstant(const Status& status, const ParseScope& scope) {
  if (scope.defer_errors == 0) {
    if (scope.context == nullptr || scope.context->constant_errors == nullptr) {
      return status;
    }
    scope.context->constant_errors->Add(status);
  }
  return ExpressionPtr(std::make_unique<FailedConstant>(status));
}

Result<ExpressionPtr> FoldConstant(const Expression& expression, const ParseScope& scope) {
  Arena arena;
  EvalContext eval;
  eval.context = scope.context;
  eval.root = Value(bson::View());
  eval.arena = &arena;
  Result<Value> value = expression.Evaluate(eval);
  if (value.ok()) {
    return ExpressionPtr(std::make_unique<Constant>(*value));
  }
  return FailConstant(value.status(), scope);
}

Result<ExpressionPtr> MakeCall(const OperatorRow& row, Operands operands, ParseScope& scope) {
  bool constant = (row.flags & kVolatile) == 0;
  for (const ExpressionPtr& operand : operands) {
    if (const auto* failed = dynamic_cast<const FailedConstant*>(operand.get())) {
      return FailConstant(failed->status(), scope);
    }
    constant = constant && (operand == nullptr || operand->constant() != nullptr);
  }
  auto call = std::make_unique<Call>(row, std::move(operands));
  if (constant) {
    return FoldConstant(*call, scope);
  }
  return ExpressionPtr(std::move(call));
}

void Constant::Serialize(std::string_view name, bson::Builder* out) const {
  if (value_.missing()) {
    out->Append(name, "$$REMOVE");
    return;
  }
  out->BeginDocument(name).Append("$const", value_).End();
}

bool Call::AddDependencies(std::set<std::string>* fields) const {
  for (const ExpressionPtr& operand : operands_) {
    if (operand != nullptr && !operand->AddDependencies(fields)) {
      return false;
    }
  }
  return true;
}

void Call::Serialize(std::string_view name, bson::Builder* out) const {
  out->BeginDocument(name);
  if (row_.named != nullptr) {
    out->BeginDocument(row_.name);
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i] != nullptr) {
        operands_[i]->Serialize(row_.named->arguments[i].name, out);
      }
    }
  } else {
    out->BeginArray(row_.name);
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i] != nullptr) {
        operands_[i]->Serialize(std::to_string(i), out);
      }
    }
  }
  out->End().End();
}

Status Call::OutOfMemory(const EvalContext& eval) const { return CheckBudget(eval, name()); }

Status CheckBudget(const EvalContext& eval, std::string_view op, size_t extra) {
  if (eval.arena->memory() + extra > kMemoryLimit) {
    return Status(kExceededMemoryLimit, std::string(op) + " would use too much memory (" +
                                            std::to_string(eval.arena->memory() + extra) +
                                            " bytes) and cannot spill to disk. Memory limit: " +
                                            std::to_string(kMemoryLimit) + " bytes");
  }
  return eval.op != nullptr ? eval.op->CheckInterrupt() : CheckCurrentOp();
}

std::string Show(const Value& value) {
  return value.missing() ? std::string("MISSING") : bson::ToJson(value);
}

}  // namespace quire::expr::agg
