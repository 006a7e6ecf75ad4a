// SPDX-License-Identifier: Apache-2.0
//
// The options an index spec may have, and what a partial index may ask.
#include <algorithm>
#include <span>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/json/value_text.h"
#include "engine/schema/index_spec_internal.h"
#include "engine/schema/schema.h"
#include "engine/schema/storage_options.h"
#include "expr/context.h"
#include "expr/match/match.h"
#include "expr/match/node.h"
#include "store/keys/index_kind.h"

namespace quire::engine {

namespace {

using store::IndexOption;

// Those of all kinds; a kind adds its own (store/keys/index_kind.h).
constexpr IndexOption kOptions[] = {
    {"v", IndexOption::kNumber, "a number"},
    {"key", IndexOption::kDocument, "an object"},
    {"name", IndexOption::kString, "a string"},
    {"ns", IndexOption::kAny, ""},
    {"unique", IndexOption::kBool, "a boolean"},
    {"background", IndexOption::kAny, ""},
    {"sparse", IndexOption::kBool, "a boolean"},
    {"expireAfterSeconds", IndexOption::kAny, ""},
    {"partialFilterExpression", IndexOption::kDocument, "an object"},
    {"collation", IndexOption::kDocument, "an object"},
    {"hidden", IndexOption::kStrictBool, "a boolean"},
    {"storageEngine", IndexOption::kDocument, "an object"},
    {"bucketSize", IndexOption::kNumber, "a number"},
    {"wildcardProjection", IndexOption::kDocument, "a non-empty object"},
    {"clustered", IndexOption::kBool, "a boolean"},
    {"prepareUnique", IndexOption::kBool, "a boolean"},
    {"dropDups", IndexOption::kAny, ""},
};

const IndexOption* FindOption(std::string_view name) {
  auto find = [&](std::span<const IndexOption> options) {
    const auto found = std::find_if(options.begin(), options.end(),
                                    [&](const IndexOption& option) { return option.name == name; });
    return found == options.end() ? nullptr : &*found;
  };
  const IndexOption* found = find(kOptions);
  for (const store::IndexKindRow* kind : store::IndexKinds()) {
    found = found == nullptr ? find(kind->options) : found;
  }
  return found;
}

bool TypeFits(const IndexOption& option, const bson::Value& value) {
  switch (option.type) {
    case IndexOption::kBool:
      return value.type() == bson::Type::kBool || value.is_number();
    case IndexOption::kStrictBool:
      return value.type() == bson::Type::kBool;
    case IndexOption::kNumber:
      return value.is_number();
    case IndexOption::kDocument:
      return value.is_document();
    case IndexOption::kString:
      return value.is_string();
    case IndexOption::kAny:
      return true;
  }
  return false;
}

constexpr int kMaxDepth = 4;

Status CheckPartialNode(const expr::match::Node& node, int depth) {
  using expr::match::Kind;
  switch (node.kind()) {
    case Kind::kAnd:
    case Kind::kOr:
      if (depth == kMaxDepth) {
        return {kCannotCreateIndex,
                "partialFilterExpression is limited to a depth of " + std::to_string(kMaxDepth)};
      }
      for (const auto& child : node.children()) {
        RETURN_IF_ERROR(CheckPartialNode(*child, depth + 1));
      }
      return Status::Ok();
    case Kind::kEq:
    case Kind::kLt:
    case Kind::kLte:
    case Kind::kGt:
    case Kind::kGte:
    case Kind::kIn:
    case Kind::kExists:
    case Kind::kType:
    case Kind::kGeo:
    case Kind::kAlwaysTrue:
    case Kind::kAlwaysFalse:
      return Status::Ok();
    default: {
      bson::Document shown = expr::match::Serialize(node);
      return {kCannotCreateIndex,
              "Expression not supported in partial index: " + bson::DocumentText(shown)};
    }
  }
}

}  // namespace

bson::Document KnownIndexOptions(bson::View spec) {
  bson::Builder known;
  for (const bson::Element& e : spec) {
    if (FindOption(e.name()) != nullptr) {
      known.Append(e);
    }
  }
  return known.Finish();
}

Status CheckIndexOptions(bson::View spec) {
  for (const bson::Element& e : spec) {
    const IndexOption* option = FindOption(e.name());
    if (option == nullptr) {
      return {kInvalidIndexSpecificationOption,
              "The field '" + std::string(e.name()) +
                  "' is not valid for an index specification. Specification: " +
                  bson::DocumentText(spec)};
    }
    if (!TypeFits(*option, e.value())) {
      return {kTypeMismatch, "The field '" + std::string(e.name()) + "' must be " +
                                 std::string(option->wanted) + ", but got " +
                                 std::string(bson::TypeName(e.type()))};
    }
    if (e.name() == "storageEngine") {
      RETURN_IF_ERROR(CheckStorageEngine(e.value().AsDocument()));
    }
  }
  return Status::Ok();
}

Status CheckPartialFilter(bson::View filter) {
  expr::match::Allowed allowed;
  allowed.where = false;
  allowed.text = false;
  allowed.expr = false;
  allowed.json_schema = false;
  allowed.near = false;
  expr::Context context;
  ASSIGN_OR_RETURN(auto parsed, expr::match::Filter::Parse(filter, &context, allowed));
  return CheckPartialNode(parsed->root(), 0);
}

}  // namespace quire::engine
