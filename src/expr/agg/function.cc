// SPDX-License-Identifier: Apache-2.0
//
// $function: a script called with arguments.
#include "base/try.h"
#include "expr/agg/operators_internal.h"
#include "expr/script.h"

namespace quire::expr::agg {

namespace {

class FunctionCall final : public Expression {
 public:
  FunctionCall(js::Function function, ExpressionPtr arguments)
      : function_(std::move(function)), arguments_(std::move(arguments)) {}

  Result<Value> Evaluate(EvalContext& eval) const override {
    ASSIGN_OR_RETURN(Value list, arguments_->Evaluate(eval));
    if (!list.is_array()) {
      return Status(31266, "The args field must be of type array");
    }
    std::vector<Value> values;
    for (const bson::Element& element : list.AsArray()) {
      values.push_back(element.value());
    }
    ASSIGN_OR_RETURN(Value result, function_.Call(Value(), values, eval.arena));
    return result.type() == Type::kUndefined ? Value::Null() : result;
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    return arguments_->AddDependencies(fields);
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->BeginDocument(name).BeginDocument("$function").Append("body", function_.source());
    arguments_->Serialize("args", out);
    out->Append("lang", "js").End().End();
  }

 private:
  js::Function function_;
  ExpressionPtr arguments_;
};

}  // namespace

Result<ExpressionPtr> ParseFunction(const OperatorRow&, const Value& spec, ParseScope& scope) {
  if (!scope.scripts) {
    return Status(4660800, "$function cannot be used inside a validator.");
  }
  if (!spec.is_document()) {
    return Status(31260, "$function requires an object as an argument, found: " +
                             std::string(bson::TypeName(spec.type())));
  }
  bson::View fields = spec.AsDocument();
  if (!fields.Has("body")) {
    return Status(31261, "The body function must be specified.");
  }
  ASSIGN_OR_RETURN(ExpressionPtr body, ParseExpression(fields["body"], scope));
  ASSIGN_OR_RETURN(const Value* source, ConstantValue(*body));
  if (source == nullptr) {
    return Status(31432, "The body function must be a constant expression");
  }
  if (source->type() != Type::kString && source->type() != Type::kCode) {
    return Status(31262, "The body function must evaluate to type string or code");
  }
  if (!fields.Has("args")) {
    return Status(31263, "The args field must be specified.");
  }
  ASSIGN_OR_RETURN(ExpressionPtr arguments, ParseExpression(fields["args"], scope));
  if (!fields.Has("lang")) {
    return Status(31418, "The lang field must be specified.");
  }
  if (Value lang = fields["lang"]; !lang.is_string() || lang.AsString() != "js") {
    return Status(31419, "Currently the only supported language specifier is 'js'.");
  }
  js::Function function(ScriptScope(*scope.context), std::string(source->AsString()));
  return ExpressionPtr(std::make_unique<FunctionCall>(std::move(function), std::move(arguments)));
}

}  // namespace quire::expr::agg
