// SPDX-License-Identifier: Apache-2.0
#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/agg/expression.h"
#include "expr/match/leaf.h"
#include "expr/match/parse_internal.h"

namespace quire::expr::match {

Result<NodePtr> ParseExists(std::string_view path, const bson::Element& element, bson::View,
                            const ParseScope&) {
  NodePtr exists = std::make_shared<ExistsNode>(path);
  if (agg::IsTrue(element.value())) {
    return exists;
  }
  return NodePtr(std::make_shared<NotNode>(std::move(exists)));
}

Result<NodePtr> ParseType(std::string_view path, const bson::Element& element, bson::View,
                          const ParseScope&) {
  ASSIGN_OR_RETURN(TypeSet types, ParseTypeSet(element.value()));
  if (types.empty()) {
    return Status(kFailedToParse, std::string(path) + " must match at least one type");
  }
  return NodePtr(std::make_shared<TypeNode>(path, types));
}

Result<NodePtr> ParseNot(std::string_view path, const bson::Element& element, bson::View,
                         const ParseScope& scope) {
  bson::Value value = element.value();
  NodePtr child;
  if (value.type() == bson::Type::kRegex) {
    ASSIGN_OR_RETURN(child, ParseRegexValue(path, value));
  } else if (!value.is_document()) {
    return Status(kBadValue, "$not needs a regex or a document");
  } else if (value.AsDocument().empty()) {
    return Status(kBadValue, "$not cannot be empty");
  } else {
    std::vector<NodePtr> children;
    RETURN_IF_ERROR(ParseOperators(path, value.AsDocument(), scope.Deeper(), &children));
    child = MakeAnd(std::move(children));
  }
  return NodePtr(std::make_shared<NotNode>(std::move(child)));
}

// ------------------------------------------------------------------ $mod
namespace {

Result<int64_t> ModNumber(const bson::Value& value, const std::string& what) {
  if (!value.is_number()) {
    return Status(kBadValue, "malformed mod, " + what + " not a number");
  }
  std::optional<int64_t> number = bson::TruncatedInt64(value);
  if (!number) {
    return Status(kBadValue, "malformed mod, " + what + " value is invalid :: caused by :: " +
                                 "Unable to coerce NaN/Inf or a number out of range to integral "
                                 "type");
  }
  return *number;
}

}  // namespace

Result<NodePtr> ParseMod(std::string_view path, const bson::Element& element, bson::View,
                         const ParseScope&) {
  if (element.type() != bson::Type::kArray) {
    return Status(kBadValue, "malformed mod, needs to be an array");
  }
  std::vector<bson::Value> parts;
  for (const bson::Element& item : element.value().AsArray()) {
    parts.push_back(item.value());
  }
  if (parts.size() != 2) {
    return Status(kBadValue, parts.size() < 2 ? "malformed mod, not enough elements"
                                              : "malformed mod, too many elements");
  }
  ASSIGN_OR_RETURN(int64_t divisor, ModNumber(parts[0], "divisor"));
  ASSIGN_OR_RETURN(int64_t remainder, ModNumber(parts[1], "remainder"));
  if (divisor == 0) {
    return Status(kBadValue, "divisor cannot be 0");
  }
  return NodePtr(std::make_shared<ModNode>(path, divisor, remainder));
}

// ------------------------------------------------------------------ $regex
Result<NodePtr> ParseRegexValue(std::string_view path, const bson::Value& regex) {
  ASSIGN_OR_RETURN(auto compiled, Regex::Compile(regex.RegexPattern(), regex.RegexOptions()));
  return NodePtr(std::make_shared<RegexNode>(path, std::move(compiled)));
}

Result<NodePtr> ParseRegex(std::string_view path, const bson::Element& element,
                           bson::View operators, const ParseScope&) {
  std::string_view pattern;
  std::string_view options;
  bson::Element extra = operators.Find("$options");
  if (extra.present()) {
    if (extra.type() != bson::Type::kString) {
      return Status(kBadValue, "$options has to be a string");
    }
    options = extra.value().AsString();
  }
  bson::Value value = element.value();
  if (value.is_string()) {
    pattern = value.AsString();
  } else if (value.type() == bson::Type::kRegex) {
    pattern = value.RegexPattern();
    if (!value.RegexOptions().empty()) {
      if (extra.present()) {
        bool before = extra.value_data() < element.value_data();
        return before ? Status(51074, "options set in both $options and $regex")
                      : Status(51075, "options set in both $regex and $options");
      }
      options = value.RegexOptions();
    }
  } else {
    return Status(kBadValue, "$regex has to be a string");
  }
  ASSIGN_OR_RETURN(auto compiled, Regex::Compile(pattern, options));
  return NodePtr(std::make_shared<RegexNode>(path, std::move(compiled)));
}

Result<NodePtr> ParseOptions(std::string_view, const bson::Element&, bson::View operators,
                             const ParseScope&) {
  if (!operators.Has("$regex")) {
    return Status(kBadValue, "$options needs a $regex");
  }
  return NodePtr();
}

}  // namespace quire::expr::match
