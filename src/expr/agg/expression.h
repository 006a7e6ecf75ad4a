// SPDX-License-Identifier: Apache-2.0
//
// Aggregation expressions: parsed once, evaluated on a document in place.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/op_context.h"
#include "expr/context.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::bson {
class FieldIndex;
}  // namespace quire::bson

namespace quire::expr::date {
class RecentTexts;
}  // namespace quire::expr::date

namespace quire::expr::agg {

// What an evaluation reads. Values it returns are valid while the document and the arena are.
struct EvalContext {
  const Context* context = nullptr;
  bson::Value root;                    // $$ROOT and, at the top, $$CURRENT
  const Metadata* metadata = nullptr;  // may be null
  Arena* arena = nullptr;
  std::vector<bson::Value> variables;  // by slot (see ParseScope)
  OpContext* op = nullptr;             // may be null; long evaluations ask it when to stop
  // What an evaluation of many rows keeps of the row and from row to row; may be null.
  bson::FieldIndex* fields = nullptr;
  date::RecentTexts* texts = nullptr;
};

// Immutable and safe for concurrent use; run state lives in the EvalContext.
class Expression {
 public:
  virtual ~Expression() = default;
  // Missing when the expression yields no value.
  virtual Result<bson::Value> Evaluate(EvalContext& eval) const = 0;
  // The expression when it is a constant, else null.
  virtual const bson::Value* constant() const { return nullptr; }
  // Adds the top-level fields of the document it reads to `fields`; false when it may read any.
  virtual bool AddDependencies(std::set<std::string>* fields) const = 0;
  // The expression in the normalised form explain prints, appended as field `name`.
  virtual void Serialize(std::string_view name, bson::Builder* out) const = 0;
};

// The variables visible while parsing: user names map to slots of EvalContext::variables.
// Command-level `let` variables are resolved to constants from the Context.
struct ParseScope {
  const Context* context = nullptr;
  std::vector<std::pair<std::string, size_t>> variables;
  size_t slots = 0;  // slots used so far; evaluation grows EvalContext::variables to them
  int depth = 0;     // nesting of the expression being parsed
  // Above zero below operands that may never be asked for: a constant whose value is an error then
  // stays an expression that gives the error.
  int defer_errors = 0;
  bool scripts = true;  // else $function is refused: 4660800
};

// Errors carry MongoDB's codes (16020 and friends, InvalidPipelineOperator for unknown ones). What
// is wrong in form is told before what a constant's value is (see ConstantErrors).
Result<std::unique_ptr<Expression>> ParseExpression(const bson::Value& spec, ParseScope& scope);

// The value of an expression that has to be a constant; null when it is none. Error: what computing
// it gave.
Result<const bson::Value*> ConstantValue(const Expression& expression);

// The expression's operands when `spec` is an array (each element one) or a single value.
Result<std::vector<std::unique_ptr<Expression>>> ParseOperands(const bson::Value& spec,
                                                               ParseScope& scope);

// MongoDB's truth: false, null, undefined, missing and numeric zero are false.
bool IsTrue(const bson::Value& value);

}  // namespace quire::expr::agg
