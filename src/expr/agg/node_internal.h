// SPDX-License-Identifier: Apache-2.0
//
// The nodes of an expression tree and the row that describes an operator. Private to expr/agg.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/agg/expression.h"
#include "expr/agg/variable_name.h"

namespace quire::expr::agg {

using bson::Type;
using bson::Value;
using ExpressionPtr = std::unique_ptr<Expression>;
using Operands = std::vector<ExpressionPtr>;

class Call;
struct OperatorRow;

// Computes an operator's value. Operands of the named form that were not given are null.
using EvaluateFn = Result<Value> (*)(const Call& call, EvalContext& eval);
using ParseFn = Result<ExpressionPtr> (*)(const OperatorRow& row, const Value& spec,
                                          ParseScope& scope);

// One argument of an operator that takes a document of named arguments.
struct NamedArgument {
  std::string_view name;
  int missing_code = 0;  // 0: the argument is optional
};

// The named form of an operator: its arguments and the codes of its complaints.
struct NamedForm {
  int not_object_code;
  int unknown_code;
  std::vector<NamedArgument> arguments;
};

constexpr int kAnyCount = 1 << 30;

// What a single evaluation may hold in its arena before it fails with ExceededMemoryLimit.
constexpr size_t kMemoryLimit = size_t{100} << 20;

// Never folded to a constant at parse time.
constexpr unsigned kVolatile = 1;

struct OperatorRow {
  std::string_view name;
  ParseFn parse;
  EvaluateFn evaluate = nullptr;
  int min_args = 0;
  int max_args = kAnyCount;
  unsigned flags = 0;
  const NamedForm* named = nullptr;
};

// Every operator, in one explicit table (row_table.cc). Null when there is none of that name.
const OperatorRow* FindRow(std::string_view name);

// Parses {$op: [a, b]} or {$op: a} and checks the number of operands.
Result<ExpressionPtr> ParsePositional(const OperatorRow& row, const Value& spec, ParseScope& scope);
// One operand, an array as itself.
Result<ExpressionPtr> ParseSingle(const OperatorRow& row, const Value& spec, ParseScope& scope);
// Parses {$op: {name: a, ...}} by row.named.
Result<ExpressionPtr> ParseNamed(const OperatorRow& row, const Value& spec, ParseScope& scope);
// Checks the number of operands; error 16020 or 28667.
Status CheckArity(const OperatorRow& row, size_t count);

// A constant.
class Constant final : public Expression {
 public:
  explicit Constant(const Value& value) : owned_(value), value_(owned_.value()) {}
  Result<Value> Evaluate(EvalContext&) const override { return value_; }
  const Value* constant() const override { return &value_; }
  bool AddDependencies(std::set<std::string>*) const override { return true; }
  void Serialize(std::string_view name, bson::Builder* out) const override;

 private:
  bson::OwnedValue owned_;
  Value value_;
};

// A constant expression that cannot be computed, below an operator that may never ask for it, or in
// something of which the rest is still to be parsed.
class FailedConstant final : public Expression {
 public:
  explicit FailedConstant(Status status) : status_(std::move(status)) {}
  const Status& status() const { return status_; }
  Result<Value> Evaluate(EvalContext&) const override { return status_; }
  bool AddDependencies(std::set<std::string>*) const override { return true; }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->Append(name, status_.message());
  }

 private:
  Status status_;
};

// An operator applied to operands.
class Call final : public Expression {
 public:
  Call(const OperatorRow& row, Operands operands) : row_(row), operands_(std::move(operands)) {}

  const OperatorRow& row() const { return row_; }
  std::string_view name() const { return row_.name; }
  size_t size() const { return operands_.size(); }
  bool has(size_t i) const { return i < operands_.size() && operands_[i] != nullptr; }
  const Expression& operand(size_t i) const { return *operands_[i]; }
  // The operand's value; missing when the operand was not given.
  Result<Value> Get(size_t i, EvalContext& eval) const {
    return has(i) ? operands_[i]->Evaluate(eval) : Result<Value>(Value());
  }

  Result<Value> Evaluate(EvalContext& eval) const override {
    if (eval.arena->memory() > kMemoryLimit) [[unlikely]] {
      return OutOfMemory(eval);
    }
    return row_.evaluate(*this, eval);
  }
  bool AddDependencies(std::set<std::string>* fields) const override;
  void Serialize(std::string_view name, bson::Builder* out) const override;

 private:
  Status OutOfMemory(const EvalContext& eval) const;

  const OperatorRow& row_;
  Operands operands_;
};

// The node itself, or a constant when every operand is one (and the row is not volatile): then its
// error, if any, is what FailConstant makes of it.
Result<ExpressionPtr> MakeCall(const OperatorRow& row, Operands operands, ParseScope& scope);
// The error, or an expression that gives it where errors wait (ParseScope::defer_errors,
// ConstantErrors).
Result<ExpressionPtr> FailConstant(const Status& status, const ParseScope& scope);
// Evaluates an expression that reads nothing of a document.
Result<ExpressionPtr> FoldConstant(const Expression& expression, const ParseScope& scope);

// "$a.b" or "$$name.a". REQUIRES: `text` starts with '$'.
Result<ExpressionPtr> ParseFieldPath(std::string_view text, ParseScope& scope);
// Splits and checks a dotted path: 40352 (empty), 40353, 15998, 16410, 16411.
Result<std::vector<std::string>> ParsePath(std::string_view path);
// The value at path[index...] below `document`, mapping over arrays as MongoDB's expressions do.
Value WalkPath(const std::vector<std::string>& path, size_t index, const Value& from,
               EvalContext& eval);

// What any of the operands reads, as Expression::AddDependencies.
bool AddAllDependencies(const Operands& operands, std::set<std::string>* fields);

// {a: <expression>...} and [<expression>...].
Result<ExpressionPtr> ParseObjectLiteral(bson::View spec, ParseScope& scope);
Result<ExpressionPtr> ParseArrayLiteral(bson::View spec, ParseScope& scope);

// Makes `name` visible for the life of the scope guard; FailedToParse for a bad name.
class VariableScope {
 public:
  explicit VariableScope(ParseScope& scope) : scope_(scope), size_(scope.variables.size()) {}
  ~VariableScope() { scope_.variables.resize(size_); }
  VariableScope(const VariableScope&) = delete;
  VariableScope& operator=(const VariableScope&) = delete;
  // The slot of the new variable.
  size_t Define(std::string_view name);

 private:
  ParseScope& scope_;
  size_t size_;
};

// Sets a variable's value for the evaluation that follows.
inline void SetVariable(EvalContext& eval, size_t slot, const Value& value) {
  if (eval.variables.size() <= slot) {
    eval.variables.resize(slot + 1);
  }
  eval.variables[slot] = value;
}

}  // namespace quire::expr::agg
