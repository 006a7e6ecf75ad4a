// SPDX-License-Identifier: Apache-2.0
//
// $accumulator: init, accumulate, merge and finalize as scripts. `merge` is called where states of
// one group meet that were accumulated apart: on shards, or before and after a part went to disk.
#include "expr/script.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "expr/accumulate/accumulation_internal.h"

namespace quire::expr {

namespace {

struct Parts {
  std::unique_ptr<js::Function> init;
  std::unique_ptr<js::Function> accumulate;
  std::unique_ptr<js::Function> merge;
  std::unique_ptr<js::Function> finalize;
  std::unique_ptr<Expression> init_args;
  std::unique_ptr<Expression> accumulate_args;
};

// The values of an expression that must give an array, after `first` when it is not missing.
Result<std::vector<Value>> Arguments(const Expression& expression, EvalContext& eval,
                                     std::string_view name, int code, const Value& first) {
  ASSIGN_OR_RETURN(Value list, expression.Evaluate(eval));
  if (!list.is_array()) {
    return Status(code, "$accumulator " + std::string(name) +
                            " must evaluate to an array: " + bson::ToJson(list));
  }
  std::vector<Value> values;
  if (!first.missing()) {
    values.push_back(first);
  }
  for (const bson::Element& element : list.AsArray()) {
    values.push_back(element.value());
  }
  return values;
}

class ScriptAccumulation final : public Accumulation {
 public:
  ScriptAccumulation(const Parts& parts, const Value& state) : parts_(parts), state_(state) {}

  Status Add(EvalContext& eval) override {
    ASSIGN_OR_RETURN(auto values, Arguments(*parts_.accumulate_args, eval, "accumulateArgs",
                                            4544712, state_.value()));
    ASSIGN_OR_RETURN(Value state, parts_.accumulate->Call(Value(), values, eval.arena));
    state_ = bson::OwnedValue(state);
    return CheckMemory("$accumulator", state_.memory());
  }
  Result<Value> Finish(Arena* arena) override {
    if (parts_.finalize == nullptr) {
      return state_.value();
    }
    Value state = state_.value();
    return parts_.finalize->Call(Value(), {&state, 1}, arena);
  }
  // The state as it is: a script's state cannot be taken apart.
  Result<std::vector<Value>> Partial(Arena* arena) override {
    return std::vector<Value>{state_.missing() ? Value::Null() : CopyTo(arena, state_.value())};
  }
  // Also of the first part: `merge` sees the state that `init` made, as MongoDB's does.
  Status Merge(const Value& part, EvalContext& eval) override {
    const Value states[] = {state_.value(), part};
    ASSIGN_OR_RETURN(Value merged, parts_.merge->Call(Value(), states, eval.arena));
    state_ = bson::OwnedValue(merged);
    return CheckMemory("$accumulator", state_.memory());
  }
  size_t memory() const override { return sizeof *this + state_.memory(); }

 private:
  const Parts& parts_;
  bson::OwnedValue state_;
};

class ScriptAccumulator final : public Accumulator {
 public:
  explicit ScriptAccumulator(Parts parts) : parts_(std::move(parts)) {}

  Result<std::unique_ptr<Accumulation>> Start(EvalContext& eval,
                                              const Value& group) const override {
    std::vector<Value> values;
    EvalContext of_group;
    of_group.context = eval.context;
    of_group.arena = eval.arena;
    of_group.root = group.is_document() ? group : Value(bson::View());
    if (parts_.init_args != nullptr) {
      ASSIGN_OR_RETURN(values,
                       Arguments(*parts_.init_args, of_group, "initArgs", 4544711, Value()));
    }
    ASSIGN_OR_RETURN(Value state, parts_.init->Call(Value(), values, eval.arena));
    return std::unique_ptr<Accumulation>(std::make_unique<ScriptAccumulation>(parts_, state));
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    return parts_.accumulate_args->AddDependencies(fields);
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->BeginDocument(name).BeginDocument("$accumulator");
    out->Append("init", bson::Value::Code(std::string_view(parts_.init->source())));
    if (parts_.init_args != nullptr) {
      parts_.init_args->Serialize("initArgs", out);
    }
    out->Append("accumulate", bson::Value::Code(std::string_view(parts_.accumulate->source())));
    parts_.accumulate_args->Serialize("accumulateArgs", out);
    out->Append("merge", bson::Value::Code(std::string_view(parts_.merge->source())));
    if (parts_.finalize != nullptr) {
      out->Append("finalize", bson::Value::Code(std::string_view(parts_.finalize->source())));
    }
    out->Append("lang", "js").End().End();
  }

 private:
  const Parts parts_;
};

Result<std::unique_ptr<js::Function>> ParseScript(const bson::Element& field, ParseScope& scope) {
  std::string name(field.name());
  ASSIGN_OR_RETURN(auto source, agg::ParseExpression(field.value(), scope));
  ASSIGN_OR_RETURN(const Value* text, agg::ConstantValue(*source));
  if (text == nullptr) {
    return Status(4544701, "$accumulator '" + name + "' must be a constant expression");
  }
  if (text->type() != Type::kString && text->type() != Type::kCode) {
    return Status(4544702, "$accumulator '" + name + "' must be a String or Code");
  }
  return std::make_unique<js::Function>(ScriptScope(*scope.context), std::string(text->AsString()));
}

Status ParseLanguage(const Value& lang) {
  if (!lang.is_string()) {
    return Status(4544704, "$accumulator lang must be a string; found: " +
                               std::string(bson::TypeName(lang.type())));
  }
  if (lang.AsString() != "js") {
    return Status(4544705, "$accumulator only supports lang: 'js'");
  }
  return Status::Ok();
}

Status ParsePart(const bson::Element& field, ParseScope& scope, Parts* parts) {
  std::string_view name = field.name();
  if (name == "init") {
    ASSIGN_OR_RETURN(parts->init, ParseScript(field, scope));
  } else if (name == "accumulate") {
    ASSIGN_OR_RETURN(parts->accumulate, ParseScript(field, scope));
  } else if (name == "merge") {
    ASSIGN_OR_RETURN(parts->merge, ParseScript(field, scope));
  } else if (name == "finalize") {
    ASSIGN_OR_RETURN(parts->finalize, ParseScript(field, scope));
  } else if (name == "initArgs") {
    ASSIGN_OR_RETURN(parts->init_args, agg::ParseExpression(field.value(), scope));
  } else if (name == "accumulateArgs") {
    ASSIGN_OR_RETURN(parts->accumulate_args, agg::ParseExpression(field.value(), scope));
  } else if (name == "lang") {
    return ParseLanguage(field.value());
  } else {
    return Status(4544706, "$accumulator got an unexpected field: " + std::string(name));
  }
  return Status::Ok();
}

Status Missing(int code, std::string_view argument) {
  return {code, "$accumulator missing required argument '" + std::string(argument) + "'"};
}

}  // namespace

Result<std::unique_ptr<Accumulator>> ParseScriptAccumulator(const AccumulatorRow&,
                                                            const Value& argument,
                                                            ParseScope& scope) {
  if (!argument.is_document()) {
    return Status(4544703, "$accumulator expects an object as an argument; found: " +
                               std::string(bson::TypeName(argument.type())));
  }
  Parts parts;
  for (const bson::Element& field : argument.AsDocument()) {
    RETURN_IF_ERROR(ParsePart(field, scope, &parts));
  }
  if (parts.init == nullptr) {
    return Missing(4544707, "init");
  }
  if (parts.accumulate == nullptr) {
    return Missing(4544708, "accumulate");
  }
  if (parts.merge == nullptr) {
    return Missing(4544709, "merge");
  }
  if (parts.accumulate_args == nullptr) {
    return Missing(4544710, "accumulateArgs");
  }
  return std::unique_ptr<Accumulator>(std::make_unique<ScriptAccumulator>(std::move(parts)));
}

}  // namespace quire::expr
