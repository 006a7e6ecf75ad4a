// SPDX-License-Identifier: Apache-2.0
//
// The parser of filters, split by family of operators. Private to expr/match.
#pragma once

#include <string_view>
#include <vector>

#include "expr/context.h"
#include "expr/match/node.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::match {

// Where in the filter the parser is.
struct ParseScope {
  const Context* context = nullptr;
  Allowed allowed;
  bool top_level = true;  // the document itself, through $and, $or and $nor only
  bool in_elem_match = false;
  int depth = 0;

  ParseScope Deeper() const {
    ParseScope scope = *this;
    ++scope.depth;
    return scope;
  }
};

// A whole filter document: the conjunction of its fields.
Result<NodePtr> ParseFilter(bson::View filter, const ParseScope& scope);
// The operators of {path: {$gt: 1, $lt: 5}}, appended to *out.
Status ParseOperators(std::string_view path, bson::View operators, const ParseScope& scope,
                      std::vector<NodePtr>* out);

// One operator on a field. `operators` is the document it stands in ($regex reads its $options).
using FieldParser = Result<NodePtr> (*)(std::string_view path, const bson::Element& element,
                                        bson::View operators, const ParseScope& scope);
// One operator of the filter document. A null node adds nothing.
using TopParser = Result<NodePtr> (*)(const bson::Element& element, const ParseScope& scope);

// Null when there is no operator of that name.
FieldParser FindFieldParser(std::string_view name);
TopParser FindTopParser(std::string_view name);

// Whether the value is a document of operators ({$gt: 1}) and not a DBRef. In $elemMatch a part of
// a DBRef ({$id: 1} alone) counts as one too.
bool IsOperatorDocument(const bson::Value& value, bool allow_partial_dbref = false);

Result<NodePtr> ParseRegexValue(std::string_view path, const bson::Value& regex);
NodePtr MakeAnd(std::vector<NodePtr> children);

// comparison: $eq $ne $gt $gte $lt $lte $in $nin
Result<NodePtr> ParseEq(std::string_view, const bson::Element&, bson::View, const ParseScope&);
Result<NodePtr> ParseNe(std::string_view, const bson::Element&, bson::View, const ParseScope&);
Result<NodePtr> ParseGt(std::string_view, const bson::Element&, bson::View, const ParseScope&);
Result<NodePtr> ParseGte(std::string_view, const bson::Element&, bson::View, const ParseScope&);
Result<NodePtr> ParseLt(std::string_view, const bson::Element&, bson::View, const ParseScope&);
Result<NodePtr> ParseLte(std::string_view, const bson::Element&, bson::View, const ParseScope&);
Result<NodePtr> ParseIn(std::string_view, const bson::Element&, bson::View, const ParseScope&);
Result<NodePtr> ParseNin(std::string_view, const bson::Element&, bson::View, const ParseScope&);
// arrays: $all $elemMatch $size
Result<NodePtr> ParseAll(std::string_view, const bson::Element&, bson::View, const ParseScope&);
Result<NodePtr> ParseElemMatch(std::string_view, const bson::Element&, bson::View,
                               const ParseScope&);
Result<NodePtr> ParseSize(std::string_view, const bson::Element&, bson::View, const ParseScope&);
// elements and evaluation: $exists $type $mod $regex $options $not
Result<NodePtr> ParseExists(std::string_view, const bson::Element&, bson::View, const ParseScope&);
Result<NodePtr> ParseType(std::string_view, const bson::Element&, bson::View, const ParseScope&);
Result<NodePtr> ParseMod(std::string_view, const bson::Element&, bson::View, const ParseScope&);
Result<NodePtr> ParseRegex(std::string_view, const bson::Element&, bson::View, const ParseScope&);
Result<NodePtr> ParseOptions(std::string_view, const bson::Element&, bson::View, const ParseScope&);
Result<NodePtr> ParseNot(std::string_view, const bson::Element&, bson::View, const ParseScope&);
// bits
Result<NodePtr> ParseBits(std::string_view, const bson::Element&, bson::View, const ParseScope&);
// geo: $geoWithin $geoIntersects $near $nearSphere, and the distances beside legacy $near
Result<NodePtr> ParseGeo(std::string_view, const bson::Element&, bson::View, const ParseScope&);
Result<NodePtr> ParseNear(std::string_view, const bson::Element&, bson::View, const ParseScope&);
Result<NodePtr> ParseNearDistance(std::string_view, const bson::Element&, bson::View,
                                  const ParseScope&);
// of the document
Result<NodePtr> ParseAnd(const bson::Element&, const ParseScope&);
Result<NodePtr> ParseOr(const bson::Element&, const ParseScope&);
Result<NodePtr> ParseNor(const bson::Element&, const ParseScope&);
Result<NodePtr> ParseExpr(const bson::Element&, const ParseScope&);
Result<NodePtr> ParseWhere(const bson::Element&, const ParseScope&);
Result<NodePtr> ParseComment(const bson::Element&, const ParseScope&);
Result<NodePtr> ParseJsonSchema(const bson::Element&, const ParseScope&);
Result<NodePtr> ParseText(const bson::Element&, const ParseScope&);
Result<NodePtr> ParseSampleRate(const bson::Element&, const ParseScope&);
Result<NodePtr> ParseConstant(const bson::Element&, const ParseScope&);

// BadValue when $text or $near stand where they may not.
Status CheckPlacement(const Node& root);

// The tree as MongoDB normalises it: nested $and and $or flattened, single children lifted, $in of
// one value turned into equality, children sorted by shape.
NodePtr Normalise(NodePtr node);

}  // namespace quire::expr::match
