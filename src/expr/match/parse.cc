// SPDX-License-Identifier: Apache-2.0
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/match/leaf.h"
#include "expr/match/parse_internal.h"

namespace quire::expr::match {
namespace {

constexpr int kMaxDepth = 100;

struct FieldRow {
  std::string_view name;
  FieldParser parse;
};

constexpr FieldRow kFieldRows[] = {
    {"$eq", ParseEq},
    {"$ne", ParseNe},
    {"$gt", ParseGt},
    {"$gte", ParseGte},
    {"$lt", ParseLt},
    {"$lte", ParseLte},
    {"$in", ParseIn},
    {"$nin", ParseNin},
    {"$not", ParseNot},
    {"$exists", ParseExists},
    {"$type", ParseType},
    {"$all", ParseAll},
    {"$elemMatch", ParseElemMatch},
    {"$size", ParseSize},
    {"$mod", ParseMod},
    {"$regex", ParseRegex},
    {"$options", ParseOptions},
    {"$bitsAllSet", ParseBits},
    {"$bitsAllClear", ParseBits},
    {"$bitsAnySet", ParseBits},
    {"$bitsAnyClear", ParseBits},
    {"$geoWithin", ParseGeo},
    {"$within", ParseGeo},
    {"$geoIntersects", ParseGeo},
    {"$near", ParseNear},
    {"$nearSphere", ParseNear},
    {"$geoNear", ParseNear},
    {"$minDistance", ParseNearDistance},
    {"$maxDistance", ParseNearDistance},
};

struct TopRow {
  std::string_view name;
  TopParser parse;
};

constexpr TopRow kTopRows[] = {
    {"$and", ParseAnd},
    {"$or", ParseOr},
    {"$nor", ParseNor},
    {"$expr", ParseExpr},
    {"$where", ParseWhere},
    {"$jsonSchema", ParseJsonSchema},
    {"$text", ParseText},
    {"$comment", ParseComment},
    {"$sampleRate", ParseSampleRate},
    {"$alwaysTrue", ParseConstant},
    {"$alwaysFalse", ParseConstant},
};

template <typename Row, size_t N>
auto Lookup(const Row (&rows)[N], std::string_view name) -> decltype(Row::parse) {
  for (const Row& row : rows) {
    if (row.name == name) {
      return row.parse;
    }
  }
  return nullptr;
}

bool IsDbRefField(std::string_view name) {
  return name == "$ref" || name == "$id" || name == "$db";
}

bool IsDbRef(bson::View document, bool allow_partial) {
  bool ref = false;
  bool id = false;
  for (const bson::Element& element : document) {
    ref = ref || (element.name() == "$ref" && element.type() == bson::Type::kString);
    id = id || element.name() == "$id";
    if (allow_partial && IsDbRefField(element.name())) {
      return true;
    }
  }
  return ref && id;
}

Result<NodePtr> ParseTop(const bson::Element& element, const ParseScope& scope) {
  TopParser parse = FindTopParser(element.name());
  if (parse != nullptr) {
    return parse(element, scope);
  }
  return Status(kBadValue, "unknown top level operator: " + std::string(element.name()) +
                               ". If you have a field name that starts with a '$' symbol, "
                               "consider using $getField or $setField.");
}

Status ParseField(const bson::Element& element, const ParseScope& scope,
                  std::vector<NodePtr>* out) {
  bson::Value value = element.value();
  if (IsOperatorDocument(value)) {
    return ParseOperators(element.name(), value.AsDocument(), scope, out);
  }
  if (value.type() == bson::Type::kRegex) {
    ASSIGN_OR_RETURN(NodePtr node, ParseRegexValue(element.name(), value));
    out->push_back(std::move(node));
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(NodePtr node, ParseEq(element.name(), element, bson::View(), scope));
  out->push_back(std::move(node));
  return Status::Ok();
}

}  // namespace

FieldParser FindFieldParser(std::string_view name) { return Lookup(kFieldRows, name); }

TopParser FindTopParser(std::string_view name) { return Lookup(kTopRows, name); }

bool IsOperatorDocument(const bson::Value& value, bool allow_partial_dbref) {
  if (!value.is_document() || value.AsDocument().empty()) {
    return false;
  }
  bson::View document = value.AsDocument();
  return document.front().name().starts_with('$') && !IsDbRef(document, allow_partial_dbref);
}

NodePtr MakeAnd(std::vector<NodePtr> children) {
  return children.size() == 1 ? std::move(children[0])
                              : std::make_shared<AndNode>(std::move(children));
}

Result<NodePtr> ParseFilter(bson::View filter, const ParseScope& scope) {
  if (scope.depth > kMaxDepth) {
    return Status(kBadValue, "exceeded maximum query tree depth of 100");
  }
  std::vector<NodePtr> children;
  for (const bson::Element& element : filter) {
    bool dbref = scope.in_elem_match && IsDbRefField(element.name());
    if (!element.name().starts_with('$') || dbref) {
      RETURN_IF_ERROR(ParseField(element, scope, &children));
      continue;
    }
    ASSIGN_OR_RETURN(NodePtr node, ParseTop(element, scope));
    if (node != nullptr) {
      children.push_back(std::move(node));
    }
  }
  return MakeAnd(std::move(children));
}

Status ParseOperators(std::string_view path, bson::View operators, const ParseScope& scope,
                      std::vector<NodePtr>* out) {
  if (scope.depth > kMaxDepth) {
    return Status(kBadValue, "exceeded maximum query tree depth of 100");
  }
  for (const bson::Element& element : operators) {
    FieldParser parse = FindFieldParser(element.name());
    if (parse == nullptr) {
      if (element.name() == "$where") {
        return Status(kBadValue, "$where cannot be applied to a field");
      }
      return Status(kBadValue, "unknown operator: " + std::string(element.name()));
    }
    ASSIGN_OR_RETURN(NodePtr node, parse(path, element, operators, scope));
    if (node != nullptr) {
      out->push_back(std::move(node));
    }
  }
  return Status::Ok();
}

// ------------------------------------------------------------------ Filter
Allowed Allowed::InValidator() {
  Allowed allowed;
  allowed.where = allowed.text = allowed.near = allowed.scripts = false;
  return allowed;
}

Allowed Allowed::InMatchStage() {
  Allowed allowed;
  allowed.near = allowed.where = false;
  return allowed;
}

Allowed Allowed::InElemMatchProjection() {
  Allowed allowed = InMatchStage();
  allowed.json_schema = false;
  return allowed;
}

Allowed Allowed::InArrayFilters() {
  Allowed allowed = InElemMatchProjection();
  allowed.expr = allowed.where = allowed.text = false;
  return allowed;
}

Result<std::unique_ptr<Filter>> Filter::Parse(bson::View filter, const Context* context,
                                              const Allowed& allowed) {
  ConstantErrors constant_errors(context);
  ParseScope scope;
  scope.context = context;
  scope.allowed = allowed;
  ASSIGN_OR_RETURN(NodePtr root, ParseFilter(filter, scope));
  RETURN_IF_ERROR(CheckPlacement(*root));
  RETURN_IF_ERROR(constant_errors.first());
  return std::make_unique<Filter>(Normalise(std::move(root)));
}

Filter::Filter(NodePtr root) : root_(std::move(root)) {}
Filter::~Filter() = default;

Result<bool> Filter::Matches(bson::View document, const Metadata* metadata,
                             Details* details) const {
  MatchState state;
  state.metadata = metadata;
  state.details = details;
  bool matches = root_->Matches(document, state);
  if (!state.error.ok()) {
    return std::move(state.error);
  }
  return matches;
}

bool Filter::trivial() const {
  return root_->kind() == Kind::kAlwaysTrue ||
         (root_->kind() == Kind::kAnd && root_->children().empty());
}

}  // namespace quire::expr::match
