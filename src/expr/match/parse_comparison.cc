// SPDX-License-Identifier: Apache-2.0
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/match/leaf.h"
#include "expr/match/parse_internal.h"

namespace quire::expr::match {
namespace {

Result<NodePtr> MakeComparison(Kind kind, std::string_view path, const bson::Element& element,
                               const ParseScope& scope) {
  if (element.type() == bson::Type::kUndefined) {
    return Status(kBadValue, "cannot compare to undefined");
  }
  if (element.type() == bson::Type::kRegex && kind != Kind::kEq) {
    return Status(kBadValue,
                  "Can't have RegEx as arg to predicate over field '" + std::string(path) + "'.");
  }
  return NodePtr(
      std::make_shared<ComparisonNode>(kind, path, element.value(), scope.context->collator));
}

}  // namespace

Result<NodePtr> ParseEq(std::string_view path, const bson::Element& element, bson::View,
                        const ParseScope& scope) {
  return MakeComparison(Kind::kEq, path, element, scope);
}

Result<NodePtr> ParseNe(std::string_view path, const bson::Element& element, bson::View,
                        const ParseScope& scope) {
  if (element.type() == bson::Type::kRegex) {
    return Status(kBadValue, "Can't have regex as arg to $ne.");
  }
  ASSIGN_OR_RETURN(NodePtr equal, MakeComparison(Kind::kEq, path, element, scope));
  return NodePtr(std::make_shared<NotNode>(std::move(equal)));
}

Result<NodePtr> ParseGt(std::string_view path, const bson::Element& element, bson::View,
                        const ParseScope& scope) {
  return MakeComparison(Kind::kGt, path, element, scope);
}

Result<NodePtr> ParseGte(std::string_view path, const bson::Element& element, bson::View,
                         const ParseScope& scope) {
  return MakeComparison(Kind::kGte, path, element, scope);
}

Result<NodePtr> ParseLt(std::string_view path, const bson::Element& element, bson::View,
                        const ParseScope& scope) {
  return MakeComparison(Kind::kLt, path, element, scope);
}

Result<NodePtr> ParseLte(std::string_view path, const bson::Element& element, bson::View,
                         const ParseScope& scope) {
  return MakeComparison(Kind::kLte, path, element, scope);
}

Result<NodePtr> ParseIn(std::string_view path, const bson::Element& element, bson::View,
                        const ParseScope& scope) {
  if (element.type() != bson::Type::kArray) {
    return Status(kBadValue, std::string(element.name()) + " needs an array");
  }
  std::vector<bson::OwnedValue> values;
  std::vector<std::shared_ptr<const Regex>> regexes;
  for (const bson::Element& item : element.value().AsArray()) {
    bson::Value value = item.value();
    if (IsOperatorDocument(value)) {
      return Status(kBadValue, "cannot nest $ under $in");
    }
    if (value.type() == bson::Type::kUndefined) {
      return Status(kBadValue, "InMatchExpression equality cannot be undefined");
    }
    if (value.type() == bson::Type::kRegex) {
      ASSIGN_OR_RETURN(auto regex, Regex::Compile(value.RegexPattern(), value.RegexOptions()));
      regexes.push_back(std::move(regex));
    } else {
      values.emplace_back(value);
    }
  }
  return NodePtr(std::make_shared<InNode>(path, std::move(values), std::move(regexes),
                                          scope.context->collator));
}

Result<NodePtr> ParseNin(std::string_view path, const bson::Element& element, bson::View operators,
                         const ParseScope& scope) {
  ASSIGN_OR_RETURN(NodePtr in, ParseIn(path, element, operators, scope));
  return NodePtr(std::make_shared<NotNode>(std::move(in)));
}

}  // namespace quire::expr::match
