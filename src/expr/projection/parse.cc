// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/match/node.h"
#include "expr/projection/add_fields.h"
#include "expr/projection/tree_internal.h"

namespace quire::expr {
namespace projection {
namespace {

using bson::Value;
using Policy = Projection::Policy;
using Kind = Child::Kind;

class Parser {
 public:
  Parser(Policy policy, const Context* context) : policy_(policy), context_(context) {
    scope_.context = context;
    scope_.defer_errors = policy == Policy::kUpdate ? 1 : 0;
  }

  Result<Tree> Parse(bson::View spec);

 private:
  Status ParseField(const std::string& path, const bson::Element& element);
  Status ParseObject(const std::string& path, const bson::Element& element);
  Status ParseOperator(const std::string& path, const bson::Element& element,
                       const bson::Element& op);
  Status ParseFlag(const std::string& path, bool include);
  Status ParsePositional(std::string_view path, const bson::Element& element);
  Status ParseFindSlice(const std::string& path, const bson::Element& element,
                        const bson::Element& op);
  Status ParseElemMatch(const std::string& path, const bson::Element& element,
                        const bson::Element& op);
  Status AddExpression(const std::string& path, const Value& spec, bool sets_mode);
  Status AddLeaf(const std::string& path, Child leaf);
  Status SetMode(Mode mode, std::string_view path);
  Status Finish();

  Policy policy_;
  const Context* context_;
  agg::ParseScope scope_;
  Tree tree_;
  std::optional<Mode> mode_;
  std::optional<bool> id_;  // what {_id: 0 or 1} said
  bool elem_match_ = false;
  bool meta_ = false;
};

bool IsFlag(bson::Type type) {
  return type == bson::Type::kBool || type == bson::Type::kInt32 || type == bson::Type::kInt64 ||
         type == bson::Type::kDouble || type == bson::Type::kDecimal128;
}

bool IsTrueFlag(const Value& value) {
  return value.type() == bson::Type::kBool ? value.AsBool() : !bson::IsZero(value);
}

bool HasExpr(const match::Node& node) {
  auto children = node.children();
  return node.kind() == match::Kind::kExpr ||
         std::any_of(children.begin(), children.end(),
                     [](const match::NodePtr& child) { return HasExpr(*child); });
}

Status Parser::AddLeaf(const std::string& path, Child leaf) {
  return tree_.root.Add(path, std::move(leaf));
}

Status Parser::SetMode(Mode mode, std::string_view path) {
  if (!mode_) {
    mode_ = mode;
  }
  if (*mode_ == mode) {
    return Status::Ok();
  }
  bool include = mode == Mode::kInclusion;
  return Status(include ? 31253 : 31254, std::string("Cannot do ") +
                                             (include ? "inclusion" : "exclusion") + " on field " +
                                             std::string(path) + " in " +
                                             (include ? "exclusion" : "inclusion") + " projection");
}

Status Parser::ParseFlag(const std::string& path, bool include) {
  if (path == "_id") {
    if (id_) {
      return Status(31250, "Path collision at _id");
    }
    id_ = include;
    return Status::Ok();
  }
  RETURN_IF_ERROR(SetMode(include ? Mode::kInclusion : Mode::kExclusion, path));
  Child leaf;
  leaf.kind = include ? Kind::kInclude : Kind::kExclude;
  return AddLeaf(path, std::move(leaf));
}

// `path` without its last ".$".
Status Parser::ParsePositional(std::string_view path, const bson::Element& element) {
  RETURN_IF_ERROR(CheckFieldPath(path));
  if (element.type() == bson::Type::kDocument) {
    return Status(31271, "positional projection cannot be used with an expression or sub object");
  }
  if (!IsFlag(element.type())) {
    return Status(31308, "positional projection cannot be used with a literal");
  }
  if (!IsTrueFlag(element.value())) {
    return Status(31395, "positional projection cannot be used with exclusion");
  }
  if (tree_.positional) {
    return Status(31276, "Cannot specify more than one positional projection per query.");
  }
  if (elem_match_) {
    return Status(31256, "Cannot specify positional operator and $elemMatch.");
  }
  RETURN_IF_ERROR(SetMode(Mode::kInclusion, path));
  tree_.positional = true;
  Child leaf;
  leaf.positional = true;
  return AddLeaf(std::string(path), std::move(leaf));
}

// ------------------------------------------------------------------ operators
Status Parser::AddExpression(const std::string& path, const Value& spec, bool sets_mode) {
  auto parsed = agg::ParseExpression(spec, scope_);
  if (!parsed.ok()) {
    Status status = parsed.status();
    if (spec.is_document() && status.code() == kInvalidPipelineOperator) {
      std::string op(spec.AsDocument().front().name());
      if (status.message().find("'" + op + "'") != std::string::npos) {
        return Status(31325, "Unknown expression " + op);
      }
    }
    return status;
  }
  if (sets_mode) {
    mode_ = Mode::kInclusion;
  }
  Child leaf;
  leaf.kind = Kind::kExpression;
  leaf.computes = true;
  leaf.expression = *std::move(parsed);
  return AddLeaf(path, std::move(leaf));
}

// [skip, limit] or a number; nothing when the value is neither.
std::optional<Slice> ReadSlice(const Value& value) {
  Slice slice;
  if (value.is_number()) {
    slice.limit = bson::ClampedInt64(value);
    return slice;
  }
  if (!value.is_array() || value.AsArray().Count() != 2) {
    return std::nullopt;
  }
  Value skip = value.AsArray().front().value();
  Value limit = (*++value.AsArray().begin()).value();
  if (!skip.is_number() || !limit.is_number() || bson::ClampedInt64(limit) <= 0) {
    return std::nullopt;
  }
  slice.has_skip = true;
  slice.skip = bson::ClampedInt64(skip);
  slice.limit = bson::ClampedInt64(limit);
  return slice;
}

Status Parser::ParseFindSlice(const std::string& path, const bson::Element& element,
                              const bson::Element& op) {
  std::optional<Slice> slice = ReadSlice(op.value());
  if (slice) {
    Child leaf;
    leaf.kind = Kind::kSlice;
    leaf.slice = *slice;
    if (AddLeaf(path, std::move(leaf)).ok()) {
      return Status::Ok();
    }
  }
  if (mode_ == Mode::kExclusion) {
    return Status(31252, "Cannot use expression other than $meta in exclusion projection");
  }
  Status status = AddExpression(path, element.value(), /*sets_mode=*/true);
  return status.WithPrefix(
      "Invalid $slice syntax. The given syntax did not match the find() syntax or the expression "
      "$slice syntax. :: caused by :: ");
}

Status Parser::ParseElemMatch(const std::string& path, const bson::Element& element,
                              const bson::Element& op) {
  if (op.type() != bson::Type::kDocument) {
    return Status(31274, "elemMatch: Invalid argument, object required, but got " +
                             std::string(bson::TypeName(op.type())));
  }
  if (tree_.positional) {
    return Status(31255, "Cannot specify positional operator and $elemMatch.");
  }
  if (path.find('.') != path.npos) {
    return Status(31275, "Cannot use $elemMatch projection on a nested field.");
  }
  elem_match_ = true;
  bson::Builder condition;
  condition.Append(path, element.value());
  bson::Document document = condition.Finish();
  Child leaf;
  leaf.kind = Kind::kElemMatch;
  leaf.computes = true;
  ASSIGN_OR_RETURN(leaf.filter, match::Filter::Parse(document, context_,
                                                     match::Allowed::InElemMatchProjection()));
  return AddLeaf(path, std::move(leaf));
}

Status Parser::ParseOperator(const std::string& path, const bson::Element& element,
                             const bson::Element& op) {
  if (element.value().AsDocument().Count() > 1) {
    return Status(16410, "FieldPath field names may not start with '$': " + std::string(op.name()));
  }
  if (op.name() == "$elemMatch") {
    if (policy_ == Policy::kFind) {
      return ParseElemMatch(path, element, op);
    }
    return Status(kInvalidPipelineOperator, "Cannot use $elemMatch in this context");
  }
  if (op.name() == "$slice" && policy_ == Policy::kFind) {
    return ParseFindSlice(path, element, op);
  }
  if (op.name() == "$meta") {
    meta_ = true;
    return AddExpression(path, element.value(), /*sets_mode=*/false);
  }
  if (mode_ == Mode::kExclusion) {
    return Status(31252, "Cannot use expression other than $meta in exclusion projection");
  }
  return AddExpression(path, element.value(), /*sets_mode=*/true);
}

// ------------------------------------------------------------------ fields
Status Parser::ParseObject(const std::string& path, const bson::Element& element) {
  bson::View object = element.value().AsDocument();
  if (object.empty()) {
    return Status(51270,
                  "An empty sub-projection is not a valid value. Found empty object at path");
  }
  if (object.front().name().starts_with('$')) {
    return ParseOperator(path, element, object.front());
  }
  for (const bson::Element& field : object) {
    std::string nested = path + "." + std::string(field.name());
    RETURN_IF_ERROR(ParseField(nested, field));
  }
  return Status::Ok();
}

Status Parser::ParseField(const std::string& path, const bson::Element& element) {
  bool positional = path.ends_with(".$");
  if (positional || path.find(".$.") != path.npos) {
    if (policy_ != Policy::kFind) {
      return Status(31324, "Cannot use positional projection in aggregation projection");
    }
    std::string_view before = std::string_view(path).substr(0, path.size() - 2);
    if (!positional || before.ends_with(".$") || before.find(".$.") != before.npos) {
      return Status(31394,
                    "As of 4.4, it's illegal to specify positional operator in the middle of a "
                    "path.");
    }
    return ParsePositional(before, element);
  }
  RETURN_IF_ERROR(CheckFieldPath(path));
  Value value = element.value();
  if (value.is_document()) {
    return ParseObject(path, element);
  }
  if (IsFlag(value.type())) {
    return ParseFlag(path, IsTrueFlag(value));
  }
  if (mode_ == Mode::kExclusion) {
    return Status(31310, "Cannot use an expression " + path + ": " + bson::ToJson(value) +
                             " in an exclusion projection");
  }
  return AddExpression(path, value, /*sets_mode=*/true);
}

// Settles the mode when no field did, and what becomes of _id. Metadata alone come beside the other
// fields in a find, and without them in a pipeline.
Status Parser::Finish() {
  if (!mode_) {
    const bool only_meta = meta_ && policy_ != Policy::kFind;
    mode_ = id_.value_or(false) || elem_match_ || only_meta ? Mode::kInclusion : Mode::kExclusion;
  }
  tree_.mode = *mode_;
  bool id_named = tree_.root.FindOrNull("_id") != nullptr;
  Child leaf;
  if (tree_.mode == Mode::kInclusion && id_.value_or(!id_named)) {
    leaf.kind = Kind::kInclude;
  } else if (!id_.value_or(true)) {
    leaf.kind = Kind::kExclude;
  } else {
    return Status::Ok();
  }
  return AddLeaf("_id", std::move(leaf));
}

Result<Tree> Parser::Parse(bson::View spec) {
  if (spec.empty() && policy_ != Policy::kFind) {
    return Status(51272, "projection specification must have at least one field");
  }
  for (const bson::Element& element : spec) {
    RETURN_IF_ERROR(ParseField(std::string(element.name()), element));
  }
  RETURN_IF_ERROR(Finish());
  return std::move(tree_);
}

}  // namespace
}  // namespace projection

Result<std::unique_ptr<Projection>> Projection::Parse(bson::View spec, Policy policy,
                                                      const Context* context,
                                                      const match::Filter* filter) {
  projection::Parser parser(policy, context);
  ASSIGN_OR_RETURN(projection::Tree tree, parser.Parse(spec));
  if (tree.positional && filter != nullptr && projection::HasExpr(filter->root())) {
    return Status(kQueryFeatureNotAllowed,
                  "Cannot use $expr with the positional projection operator");
  }
  return projection::MakeProjection(std::move(tree), context, filter);
}

}  // namespace quire::expr
