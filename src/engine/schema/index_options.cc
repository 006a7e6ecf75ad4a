// SPDX-License-Identifier: Apache-2.0
//
// The options an index spec may have, and what a partial index may ask.
#include "base/error_codes.h"
#include "base/try.h"
#include "bson/json/value_text.h"
#include "engine/schema/index_spec_internal.h"
#include "engine/schema/schema.h"
#include "engine/schema/storage_options.h"
#include "expr/context.h"
#include "expr/match/match.h"
#include "expr/match/node.h"

namespace quire::engine {

namespace {

struct OptionRow {
  std::string_view name;
  enum Type { kBool, kStrictBool, kNumber, kDocument, kString, kAny } type;
  std::string_view wanted;  // in the message for a wrong type
};
constexpr OptionRow kOptions[] = {
    {"v", OptionRow::kNumber, "a number"},
    {"key", OptionRow::kDocument, "an object"},
    {"name", OptionRow::kString, "a string"},
    {"ns", OptionRow::kAny, ""},
    {"unique", OptionRow::kBool, "a boolean"},
    {"background", OptionRow::kAny, ""},
    {"sparse", OptionRow::kBool, "a boolean"},
    {"expireAfterSeconds", OptionRow::kAny, ""},
    {"partialFilterExpression", OptionRow::kDocument, "an object"},
    {"collation", OptionRow::kDocument, "an object"},
    {"hidden", OptionRow::kStrictBool, "a boolean"},
    {"storageEngine", OptionRow::kDocument, "an object"},
    {"weights", OptionRow::kAny, ""},
    {"default_language", OptionRow::kString, "a string"},
    {"language_override", OptionRow::kString, "a string"},
    {"textIndexVersion", OptionRow::kNumber, "a number"},
    {"2dsphereIndexVersion", OptionRow::kNumber, "a number"},
    {"bits", OptionRow::kNumber, "a number"},
    {"min", OptionRow::kNumber, "a number"},
    {"max", OptionRow::kNumber, "a number"},
    {"coarsestIndexedLevel", OptionRow::kNumber, "a number"},
    {"finestIndexedLevel", OptionRow::kNumber, "a number"},
    {"bucketSize", OptionRow::kNumber, "a number"},
    {"wildcardProjection", OptionRow::kDocument, "a non-empty object"},
    {"clustered", OptionRow::kBool, "a boolean"},
    {"prepareUnique", OptionRow::kBool, "a boolean"},
    {"dropDups", OptionRow::kAny, ""},
};

const OptionRow* FindRow(std::string_view name) {
  for (const OptionRow& row : kOptions) {
    if (row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

bool TypeFits(const OptionRow& row, const bson::Value& value) {
  switch (row.type) {
    case OptionRow::kBool:
      return value.type() == bson::Type::kBool || value.is_number();
    case OptionRow::kStrictBool:
      return value.type() == bson::Type::kBool;
    case OptionRow::kNumber:
      return value.is_number();
    case OptionRow::kDocument:
      return value.is_document();
    case OptionRow::kString:
      return value.is_string();
    case OptionRow::kAny:
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
    if (FindRow(e.name()) != nullptr) {
      known.Append(e);
    }
  }
  return known.Finish();
}

Status CheckIndexOptions(bson::View spec) {
  for (const bson::Element& e : spec) {
    const OptionRow* row = FindRow(e.name());
    if (row == nullptr) {
      return {kInvalidIndexSpecificationOption,
              "The field '" + std::string(e.name()) +
                  "' is not valid for an index specification. Specification: " +
                  bson::DocumentText(spec)};
    }
    if (!TypeFits(*row, e.value())) {
      return {kTypeMismatch, "The field '" + std::string(e.name()) + "' must be " +
                                 std::string(row->wanted) + ", but got " +
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
