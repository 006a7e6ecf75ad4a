// SPDX-License-Identifier: Apache-2.0
//
// Operators that stand beside field names: $and, $expr, $comment...
#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/match/parse_internal.h"
#include "expr/match/special.h"
#include "expr/script.h"

namespace quire::expr::match {
namespace {

Result<std::vector<NodePtr>> ParseList(const bson::Element& element, const ParseScope& scope) {
  if (element.type() != bson::Type::kArray) {
    return Status(kBadValue, std::string(element.name()) + " must be an array");
  }
  bson::View items = element.value().AsArray();
  if (items.empty()) {
    return Status(kBadValue, "$and/$or/$nor must be a nonempty array");
  }
  std::vector<NodePtr> children;
  for (const bson::Element& item : items) {
    if (item.type() != bson::Type::kDocument) {
      return Status(kBadValue, "$or/$and/$nor entries need to be full objects");
    }
    ASSIGN_OR_RETURN(NodePtr child, ParseFilter(item.value().AsDocument(), scope.Deeper()));
    children.push_back(std::move(child));
  }
  return children;
}

Status RequireTopLevel(const bson::Element& element, const ParseScope& scope) {
  if (scope.top_level) {
    return Status::Ok();
  }
  return Status(kBadValue,
                std::string(element.name()) + " can only be applied to the top-level document");
}

}  // namespace

Result<NodePtr> ParseAnd(const bson::Element& element, const ParseScope& scope) {
  ASSIGN_OR_RETURN(std::vector<NodePtr> children, ParseList(element, scope));
  return NodePtr(std::make_shared<AndNode>(std::move(children)));
}

Result<NodePtr> ParseOr(const bson::Element& element, const ParseScope& scope) {
  ASSIGN_OR_RETURN(std::vector<NodePtr> children, ParseList(element, scope));
  return NodePtr(std::make_shared<OrNode>(std::move(children)));
}

Result<NodePtr> ParseNor(const bson::Element& element, const ParseScope& scope) {
  ASSIGN_OR_RETURN(std::vector<NodePtr> children, ParseList(element, scope));
  return NodePtr(std::make_shared<NorNode>(std::move(children)));
}

Result<NodePtr> ParseExpr(const bson::Element& element, const ParseScope& scope) {
  RETURN_IF_ERROR(RequireTopLevel(element, scope));
  if (!scope.allowed.expr) {
    return Status(kQueryFeatureNotAllowed, "$expr is not allowed in this context");
  }
  agg::ParseScope expression_scope;
  expression_scope.context = scope.context;
  expression_scope.scripts = scope.allowed.scripts;
  ASSIGN_OR_RETURN(auto expression, agg::ParseExpression(element.value(), expression_scope));
  return NodePtr(std::make_shared<ExprNode>(std::move(expression), scope.context));
}

Result<NodePtr> ParseWhere(const bson::Element& element, const ParseScope& scope) {
  if (!scope.allowed.where) {
    return Status(kBadValue, "$where is not allowed in this context");
  }
  RETURN_IF_ERROR(RequireTopLevel(element, scope));
  if (element.type() != bson::Type::kString && element.type() != bson::Type::kCode) {
    return Status(kBadValue, "$where got bad type");
  }
  if (!js::Enabled()) {
    return Status(kBadValue, "no globalScriptEngine in $where parsing");
  }
  return NodePtr(std::make_shared<WhereNode>(
      js::Function(ScriptScope(*scope.context), std::string(element.value().AsString()))));
}

Result<NodePtr> ParseJsonSchema(const bson::Element& element, const ParseScope& scope) {
  if (!scope.allowed.json_schema) {
    return Status(kQueryFeatureNotAllowed, "$jsonSchema is not allowed in this context");
  }
  if (element.type() != bson::Type::kDocument) {
    return Status(kTypeMismatch, "$jsonSchema must be an object");
  }
  ASSIGN_OR_RETURN(auto schema, schema::Schema::Parse(element.value().AsDocument()));
  return NodePtr(std::make_shared<JsonSchemaNode>(std::move(schema)));
}

namespace {

Result<bool> TextFlag(const bson::Element& element) {
  if (element.type() != bson::Type::kBool) {
    return Status(kTypeMismatch, "\"" + std::string(element.name()) +
                                     "\" had the wrong type. Expected bool, found " +
                                     std::string(bson::TypeName(element.type())));
  }
  return element.value().AsBool();
}

Result<std::string> TextString(const bson::Element& element) {
  if (element.type() != bson::Type::kString) {
    return Status(kTypeMismatch, "\"" + std::string(element.name()) +
                                     "\" had the wrong type. Expected string, found " +
                                     std::string(bson::TypeName(element.type())));
  }
  return std::string(element.value().AsString());
}

}  // namespace

Result<NodePtr> ParseText(const bson::Element& element, const ParseScope& scope) {
  RETURN_IF_ERROR(RequireTopLevel(element, scope));
  if (!scope.allowed.text) {
    return Status(kBadValue, "$text is not allowed in this context");
  }
  if (element.type() != bson::Type::kDocument) {
    return Status(kBadValue, "$text expects an object");
  }
  text::QueryOptions options;
  bson::View spec = element.value().AsDocument();
  if (!spec.Has("$search")) {
    return Status(kNoSuchKey, "Missing expected field \"$search\"");
  }
  for (const bson::Element& field : spec) {
    if (field.name() == "$search") {
      ASSIGN_OR_RETURN(options.search, TextString(field));
    } else if (field.name() == "$language") {
      ASSIGN_OR_RETURN(options.language, TextString(field));
      if (!options.language.empty()) {
        RETURN_IF_ERROR(text::FindLanguage(options.language).status());
      }
    } else if (field.name() == "$caseSensitive") {
      ASSIGN_OR_RETURN(options.case_sensitive, TextFlag(field));
    } else if (field.name() == "$diacriticSensitive") {
      ASSIGN_OR_RETURN(options.diacritic_sensitive, TextFlag(field));
    } else {
      return Status(kBadValue, "extra fields in $text");
    }
  }
  return NodePtr(std::make_shared<TextNode>(std::move(options)));
}

Result<NodePtr> ParseComment(const bson::Element&, const ParseScope&) { return NodePtr(); }

Result<NodePtr> ParseSampleRate(const bson::Element& element, const ParseScope& scope) {
  RETURN_IF_ERROR(RequireTopLevel(element, scope));
  bson::Value value = element.value();
  if (!value.is_number()) {
    return Status(kBadValue, "argument to $sampleRate must be a numeric type");
  }
  double rate = bson::ToDouble(value);
  if (!(rate >= 0 && rate <= 1)) {
    return Status(kBadValue, "numeric argument to $sampleRate must be in [0, 1]");
  }
  if (rate == 0 || rate == 1) {
    return NodePtr(std::make_shared<ConstantNode>(rate == 1));
  }
  return NodePtr(std::make_shared<SampleRateNode>(rate));
}

Result<NodePtr> ParseConstant(const bson::Element& element, const ParseScope&) {
  bson::Value value = element.value();
  if (!value.is_number()) {
    return Status(kFailedToParse, "Expected a number in: " + std::string(element.name()) + ": " +
                                      bson::ToJson(value));
  }
  if (bson::ExactInt64(value) != 1) {
    return Status(kFailedToParse, std::string(element.name()) + " must be an integer value of 1");
  }
  return NodePtr(std::make_shared<ConstantNode>(element.name() == "$alwaysTrue"));
}

}  // namespace quire::expr::match
