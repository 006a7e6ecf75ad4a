// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/match/elem_match.h"
#include "expr/match/leaf.h"
#include "expr/match/parse_internal.h"

namespace quire::expr::match {
namespace {

bool IsElemMatch(const bson::Value& value) {
  return value.is_document() && !value.AsDocument().empty() &&
         value.AsDocument().front().name() == "$elemMatch";
}

// $all: [{$elemMatch: ...}, {$elemMatch: ...}]
Result<NodePtr> ParseAllElemMatch(std::string_view path, bson::View items,
                                  const ParseScope& scope) {
  std::vector<NodePtr> children;
  for (const bson::Element& item : items) {
    if (!IsElemMatch(item.value())) {
      return Status(kBadValue, "$all/$elemMatch has to be consistent");
    }
    bson::View document = item.value().AsDocument();
    ASSIGN_OR_RETURN(NodePtr child,
                     ParseElemMatch(path, document.front(), document, scope.Deeper()));
    children.push_back(std::move(child));
  }
  return MakeAnd(std::move(children));
}

Result<NodePtr> ParseAllItem(std::string_view path, const bson::Element& item,
                             const ParseScope& scope) {
  if (item.type() == bson::Type::kRegex) {
    return ParseRegexValue(path, item.value());
  }
  if (IsOperatorDocument(item.value()) &&
      FindFieldParser(item.value().AsDocument().front().name()) != nullptr) {
    return Status(kBadValue, "no $ expressions in $all");
  }
  return ParseEq(path, item, bson::View(), scope);
}

// Whether {$elemMatch: document} asks about the element itself ({$gt: 1}) rather than its fields.
bool IsValueForm(const bson::Value& document) {
  if (!IsOperatorDocument(document, /*allow_partial_dbref=*/true)) {
    return false;
  }
  return FindTopParser(document.AsDocument().front().name()) == nullptr;
}

}  // namespace

Result<NodePtr> ParseAll(std::string_view path, const bson::Element& element, bson::View,
                         const ParseScope& scope) {
  if (element.type() != bson::Type::kArray) {
    return Status(kBadValue, "$all needs an array");
  }
  bson::View items = element.value().AsArray();
  if (items.empty()) {
    return NodePtr(std::make_shared<ConstantNode>(false));
  }
  if (IsElemMatch(items.front().value())) {
    return ParseAllElemMatch(path, items, scope);
  }
  std::vector<NodePtr> children;
  for (const bson::Element& item : items) {
    ASSIGN_OR_RETURN(NodePtr child, ParseAllItem(path, item, scope));
    children.push_back(std::move(child));
  }
  return MakeAnd(std::move(children));
}

Result<NodePtr> ParseElemMatch(std::string_view path, const bson::Element& element, bson::View,
                               const ParseScope& scope) {
  if (element.type() != bson::Type::kDocument) {
    return Status(kBadValue, "$elemMatch needs an Object");
  }
  ParseScope inner = scope.Deeper();
  inner.top_level = false;
  inner.in_elem_match = true;
  bson::View document = element.value().AsDocument();
  if (IsValueForm(element.value())) {
    std::vector<NodePtr> conditions;
    RETURN_IF_ERROR(ParseOperators("", document, inner, &conditions));
    return NodePtr(std::make_shared<ElemMatchValueNode>(path, std::move(conditions)));
  }
  ASSIGN_OR_RETURN(NodePtr filter, ParseFilter(document, inner));
  return NodePtr(std::make_shared<ElemMatchObjectNode>(path, std::move(filter)));
}

Result<NodePtr> ParseSize(std::string_view path, const bson::Element& element, bson::View,
                          const ParseScope&) {
  bson::Value value = element.value();
  const std::string shown = "$size: " + bson::ToJson(value);
  auto refused = [](const std::string& why) {
    return Status(kBadValue, "Failed to parse $size. " + why);
  };
  if (!value.is_number()) {
    return refused("Expected a number in: " + shown);
  }
  if (bson::IsNan(value)) {
    return refused("Expected an integer, but found NaN in: " + shown);
  }
  std::optional<int64_t> size = bson::ExactInt64(value);
  if (!size) {
    return refused((bson::TruncatedInt64(value) ? "Expected an integer: "
                                                : "Cannot represent as a 64-bit integer: ") +
                   shown);
  }
  if (*size != static_cast<int32_t>(*size)) {
    return refused("Cannot represent " + shown + " in an int");
  }
  if (*size < 0) {
    return refused("Expected a non-negative number in: " + shown);
  }
  return NodePtr(std::make_shared<SizeNode>(path, *size));
}

}  // namespace quire::expr::match
