// SPDX-License-Identifier: Apache-2.0
//
// "$a.b", "$$name.a" and the system variables.
#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "bson/walk/field_index.h"
#include "bson/walk/field_walk.h"
#include "expr/agg/node_internal.h"
#include "expr/agg/result_internal.h"

namespace quire::expr::agg {

namespace {

constexpr size_t kMaxComponents = 200;

std::string Join(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& part : path) {
    if (!text.empty()) {
      text += '.';
    }
    text += part;
  }
  return text;
}

// "$a.b": a path below the current document, which is the root unless CURRENT was rebound.
class RootPath final : public Expression {
 public:
  RootPath(std::vector<std::string> path, bool named_root)
      : path_(std::move(path)),
        first_(path_.empty() ? std::string_view() : std::string_view(path_[0])),
        named_root_(named_root) {}

  Result<Value> Evaluate(EvalContext& eval) const override {
    if (path_.empty() || !eval.root.is_document()) {
      return WalkPath(path_, 0, eval.root, eval);
    }
    const bson::View root = eval.root.AsDocument();
    const bool indexed = eval.fields != nullptr && eval.fields->IsOf(root);
    const Value found = indexed ? eval.fields->Find(first_) : bson::FindValue(root, first_.field());
    return path_.size() == 1 ? found : WalkPath(path_, 1, found, eval);
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    if (path_.empty()) {
      return false;
    }
    fields->insert(path_[0]);
    return true;
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    std::string prefix = named_root_ ? "$$ROOT" : path_.empty() ? "$$CURRENT" : "$";
    if (named_root_ && !path_.empty()) {
      prefix += '.';
    }
    out->Append(name, prefix + Join(path_));
  }

 private:
  const std::vector<std::string> path_;
  const bson::FieldIndex::Name first_;  // of path_
  bool named_root_;
};

// "$$name.a" of a user variable.
class VariablePath final : public Expression {
 public:
  VariablePath(std::string name, size_t slot, std::vector<std::string> path)
      : name_(std::move(name)), slot_(slot), path_(std::move(path)) {}

  Result<Value> Evaluate(EvalContext& eval) const override {
    Value value = slot_ < eval.variables.size() ? eval.variables[slot_] : Value();
    return WalkPath(path_, 0, value, eval);
  }
  bool AddDependencies(std::set<std::string>*) const override { return true; }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->Append(name, "$$" + name_ + (path_.empty() ? "" : "." + Join(path_)));
  }

 private:
  std::string name_;
  size_t slot_;
  std::vector<std::string> path_;
};

bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

Status CheckNameBytes(std::string_view name) {
  for (char c : name) {
    if (!IsWordByte(c)) {
      return Status(kFailedToParse, "'" + std::string(name) +
                                        "' contains an invalid character for a variable name: '" +
                                        c + "'");
    }
  }
  return Status::Ok();
}

Status CheckReadableName(std::string_view name) {
  if (name.empty()) {
    return Status(kFailedToParse, "empty variable names are not allowed");
  }
  char c = name[0];
  if ((c >= '0' && c <= '9') || c == '_') {
    return Status(kFailedToParse, "'" + std::string(name) +
                                      "' starts with an invalid character for a variable name");
  }
  return CheckNameBytes(name);
}

Result<ExpressionPtr> MakeConstantPath(const Value& value, const std::vector<std::string>& path) {
  Arena arena;
  EvalContext eval;
  eval.arena = &arena;
  return ExpressionPtr(std::make_unique<Constant>(WalkPath(path, 0, value, eval)));
}

// A variable of the command's let; null when there is none of that name.
const bson::OwnedValue* FindLet(std::string_view name, const Context* context) {
  if (context != nullptr) {
    for (const auto& [let_name, let_value] : context->let) {
      if (let_name == name) {
        return &let_value;
      }
    }
  }
  return nullptr;
}

// A value known by name while parsing; missing when there is none.
bool FindSystemValue(std::string_view name, const Context& context, Value* value) {
  if (name == "REMOVE") {
    *value = Value();
  } else if (name == "NOW") {
    *value = Value(context.now);
  } else if (name == "CLUSTER_TIME") {
    *value = Value(context.cluster_time);
  } else if (name == "USER_ROLES") {
    *value =
        Value::Array(context.user_roles == nullptr ? bson::View() : context.user_roles->view());
  } else if (const bson::OwnedValue* let = FindLet(name, &context)) {
    *value = let->value();
  } else {
    return false;
  }
  return true;
}

Result<ExpressionPtr> ParseVariable(std::string_view text, ParseScope& scope) {
  size_t dot = text.find('.');
  std::string_view name = text.substr(0, dot);
  RETURN_IF_ERROR(CheckReadableName(name));
  RETURN_IF_ERROR(CheckCurrentOp());  // it is looked for among all of the command's
  std::vector<std::string> path;
  if (text.ends_with('.')) {
    return Status(40353, "FieldPath must not end with a '.'.");
  }
  if (dot != std::string_view::npos) {
    ASSIGN_OR_RETURN(path, ParsePath(text.substr(dot + 1)));
  }
  for (auto it = scope.variables.rbegin(); it != scope.variables.rend(); ++it) {
    if (it->first == name) {
      return ExpressionPtr(
          std::make_unique<VariablePath>(std::string(name), it->second, std::move(path)));
    }
  }
  if (scope.context != nullptr && !scope.context->has_clock &&
      (name == "NOW" || name == "CLUSTER_TIME" || name == "USER_ROLES")) {
    return Status(51144, "Builtin variable '$$" + std::string(name) + "' is not available");
  }
  if (name == "ROOT" || (name == "CURRENT" && FindLet(name, scope.context) == nullptr)) {
    return ExpressionPtr(std::make_unique<RootPath>(std::move(path), name == "ROOT"));
  }
  Value value;
  if (scope.context != nullptr && FindSystemValue(name, *scope.context, &value)) {
    return MakeConstantPath(value, path);
  }
  return Status(17276, "Use of undefined variable: " + std::string(name));
}

Value WalkArray(const std::vector<std::string>& path, size_t index, bson::View array,
                EvalContext& eval) {
  ArrayResult result;
  for (const bson::Element& element : array) {
    if (element.type() == Type::kDocument) {
      Value found = WalkPath(path, index, element.value(), eval);
      if (!found.missing()) {
        result.Push(found);
      }
    }
  }
  return result.Finish(eval);
}

}  // namespace

Value WalkPath(const std::vector<std::string>& path, size_t index, const Value& from,
               EvalContext& eval) {
  Value at = from;
  for (; index < path.size(); ++index) {
    if (at.is_document()) {
      at = at.AsDocument()[path[index]];
    } else if (at.is_array()) {
      return WalkArray(path, index, at.AsArray(), eval);
    } else {
      return Value();
    }
  }
  return at;
}

Result<std::vector<std::string>> ParsePath(std::string_view path) {
  if (path.empty()) {
    return Status(40352, "FieldPath cannot be constructed with empty string");
  }
  if (path.back() == '.') {
    return Status(40353, "FieldPath must not end with a '.'.");
  }
  std::vector<std::string> parts;
  while (true) {
    size_t dot = path.find('.');
    std::string_view part = path.substr(0, dot);
    if (part.empty()) {
      return Status(15998, "FieldPath field names may not be empty strings.");
    }
    if (part[0] == '$' && part != "$id" && part != "$ref" && part != "$db") {
      return Status(16410,
                    "FieldPath field names may not start with '$'. Consider using $getField "
                    "or $setField.");
    }
    if (part.find('\0') != std::string_view::npos) {
      return Status(16411, "FieldPath field names may not contain '\\0'.");
    }
    parts.emplace_back(part);
    if (parts.size() > kMaxComponents) {
      return Status(kOverflow, "FieldPath is too long");
    }
    if (dot == std::string_view::npos) {
      return parts;
    }
    path.remove_prefix(dot + 1);
  }
}

Result<ExpressionPtr> ParseFieldPath(std::string_view text, ParseScope& scope) {
  if (text.starts_with("$$")) {
    return ParseVariable(text.substr(2), scope);
  }
  if (text.size() == 1) {
    return Status(16872, "'$' by itself is not a valid FieldPath");
  }
  ASSIGN_OR_RETURN(std::vector<std::string> path, ParsePath(text.substr(1)));
  for (auto it = scope.variables.rbegin(); it != scope.variables.rend(); ++it) {
    if (it->first == "CURRENT") {
      return ExpressionPtr(std::make_unique<VariablePath>("CURRENT", it->second, std::move(path)));
    }
  }
  if (const bson::OwnedValue* current = FindLet("CURRENT", scope.context)) {
    return MakeConstantPath(current->value(), path);
  }
  return ExpressionPtr(std::make_unique<RootPath>(std::move(path), false));
}

Status CheckVariableName(std::string_view name, bool allow_current) {
  if (name.empty()) {
    return Status(kFailedToParse, "empty variable names are not allowed");
  }
  if (allow_current && name == "CURRENT") {
    return Status::Ok();
  }
  char c = name[0];
  if (!((c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80)) {
    return Status(
        kFailedToParse,
        "'" + std::string(name) + "' starts with an invalid character for a user variable name");
  }
  return CheckNameBytes(name);
}

bool NamesClock(const bson::Value& value) {
  if (value.is_string()) {
    std::string_view text = value.AsString();
    std::string_view name = text.substr(0, text.find('.'));
    return name == "$$NOW" || name == "$$CLUSTER_TIME";
  }
  if (!value.is_document() && !value.is_array()) {
    return false;
  }
  for (const bson::Element& e : value.AsDocument()) {
    if (e.name() != "$literal" && NamesClock(e.value())) {
      return true;
    }
  }
  return false;
}

size_t VariableScope::Define(std::string_view name) {
  size_t slot = scope_.slots++;
  scope_.variables.emplace_back(std::string(name), slot);
  return slot;
}

}  // namespace quire::expr::agg
