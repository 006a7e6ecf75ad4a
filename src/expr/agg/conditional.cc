// SPDX-License-Identifier: Apache-2.0
//
// $cond, $ifNull and $switch.
#include "base/try.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"

namespace quire::expr::agg {

namespace {

const OperatorRow& CondByName() {
  static const NamedForm form{16020, 17083, {{"if", 17080}, {"then", 17081}, {"else", 17082}}};
  static const OperatorRow row{"$cond", ParseNamed, EvalCond, 3, 3, 0, &form};
  return row;
}

struct Branch {
  ExpressionPtr condition;
  ExpressionPtr value;
};

class Switch final : public Expression {
 public:
  Switch(std::vector<Branch> branches, ExpressionPtr fallback)
      : branches_(std::move(branches)), fallback_(std::move(fallback)) {}

  Result<Value> Evaluate(EvalContext& eval) const override {
    for (const Branch& branch : branches_) {
      ASSIGN_OR_RETURN(Value condition, branch.condition->Evaluate(eval));
      if (IsTrue(condition)) {
        return branch.value->Evaluate(eval);
      }
    }
    if (fallback_ == nullptr) {
      return Status(40066,
                    "$switch could not find a matching branch for an input, and no default "
                    "was specified.");
    }
    return fallback_->Evaluate(eval);
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    for (const Branch& branch : branches_) {
      if (!branch.condition->AddDependencies(fields) || !branch.value->AddDependencies(fields)) {
        return false;
      }
    }
    return fallback_ == nullptr || fallback_->AddDependencies(fields);
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->BeginDocument(name).BeginDocument("$switch").BeginArray("branches");
    for (const Branch& branch : branches_) {
      out->PushDocument();
      branch.condition->Serialize("case", out);
      branch.value->Serialize("then", out);
      out->End();
    }
    out->End();
    if (fallback_ != nullptr) {
      fallback_->Serialize("default", out);
    }
    out->End().End();
  }

 private:
  std::vector<Branch> branches_;
  ExpressionPtr fallback_;
};

Result<Branch> ParseBranch(const Value& spec, ParseScope& scope) {
  if (!spec.is_document()) {
    return Status(40062, "$switch requires each branch to be an object, found: " +
                             std::string(bson::TypeName(spec.type())));
  }
  Branch branch;
  for (const bson::Element& element : spec.AsDocument()) {
    if (element.name() == "case") {
      ASSIGN_OR_RETURN(branch.condition, ParseExpression(element.value(), scope));
    } else if (element.name() == "then") {
      ASSIGN_OR_RETURN(branch.value, ParseExpression(element.value(), scope));
    } else {
      return Status(
          40063, "$switch found an unknown argument to a branch: " + std::string(element.name()));
    }
  }
  if (branch.condition == nullptr) {
    return Status(40064, "$switch requires each branch have a 'case' expression");
  }
  if (branch.value == nullptr) {
    return Status(40065, "$switch requires each branch have a 'then' expression.");
  }
  return branch;
}

// Without the branches whose constant conditions decide at once.
Result<ExpressionPtr> Simplify(std::vector<Branch> branches, ExpressionPtr fallback,
                               const ParseScope& scope) {
  std::vector<Branch> kept;
  for (Branch& branch : branches) {
    const Value* condition = branch.condition->constant();
    if (condition == nullptr) {
      kept.push_back(std::move(branch));
    } else if (IsTrue(*condition)) {
      fallback = std::move(branch.value);
      break;
    }
  }
  for (const Branch& branch : kept) {
    for (const Expression* part : {branch.condition.get(), branch.value.get()}) {
      if (const auto* failed = dynamic_cast<const FailedConstant*>(part)) {
        return FailConstant(failed->status(), scope);
      }
    }
  }
  if (const auto* failed = dynamic_cast<const FailedConstant*>(fallback.get())) {
    return FailConstant(failed->status(), scope);
  }
  if (!kept.empty()) {
    return ExpressionPtr(std::make_unique<Switch>(std::move(kept), std::move(fallback)));
  }
  if (fallback == nullptr) {
    return FailConstant(
        Status(40069, "$switch found no branch to take and no default was specified"), scope);
  }
  return fallback;
}

Result<std::vector<Branch>> ParseBranches(const Value& spec, ParseScope& scope) {
  if (!spec.is_array()) {
    return Status(40061, "$switch expected an array for 'branches', found: " +
                             std::string(bson::TypeName(spec.type())));
  }
  std::vector<Branch> branches;
  for (const bson::Element& element : spec.AsArray()) {
    ASSIGN_OR_RETURN(Branch branch, ParseBranch(element.value(), scope));
    branches.push_back(std::move(branch));
  }
  return branches;
}

}  // namespace

Result<Value> EvalCond(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value condition, call.Get(0, eval));
  return call.Get(IsTrue(condition) ? 1 : 2, eval);
}

Result<ExpressionPtr> ParseCond(const OperatorRow& row, const Value& spec, ParseScope& scope) {
  return spec.is_document() ? ParseNamed(CondByName(), spec, scope)
                            : ParsePositional(row, spec, scope);
}

Result<Value> EvalIfNull(const Call& call, EvalContext& eval) {
  Value value;
  for (size_t i = 0; i < call.size(); ++i) {
    ASSIGN_OR_RETURN(value, call.Get(i, eval));
    if (!value.nullish()) {
      break;
    }
  }
  return value;
}

Result<ExpressionPtr> ParseIfNull(const OperatorRow& row, const Value& spec, ParseScope& scope) {
  ASSIGN_OR_RETURN(Operands operands, ParseOperands(spec, scope));
  if (operands.size() < 2) {
    return Status(1257300,
                  "$ifNull needs at least two arguments, had: " + std::to_string(operands.size()));
  }
  return MakeCall(row, std::move(operands), scope);
}

Result<ExpressionPtr> ParseSwitch(const OperatorRow&, const Value& spec, ParseScope& scope) {
  if (!spec.is_document()) {
    return Status(40060, "$switch requires an object as an argument, found: " +
                             std::string(bson::TypeName(spec.type())));
  }
  std::vector<Branch> branches;
  ExpressionPtr fallback;
  for (const bson::Element& element : spec.AsDocument()) {
    if (element.name() == "branches") {
      ++scope.defer_errors;
      auto parsed = ParseBranches(element.value(), scope);
      --scope.defer_errors;
      ASSIGN_OR_RETURN(branches, std::move(parsed));
    } else if (element.name() == "default") {
      ASSIGN_OR_RETURN(fallback, ParseExpression(element.value(), scope));
    } else {
      return Status(40067, "$switch found an unknown argument: " + std::string(element.name()));
    }
  }
  if (branches.empty()) {
    return Status(40068, "$switch requires at least one branch.");
  }
  return Simplify(std::move(branches), std::move(fallback), scope);
}

}  // namespace quire::expr::agg
