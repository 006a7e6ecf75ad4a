// SPDX-License-Identifier: Apache-2.0
#include "expr/validation/failure.h"

#include <algorithm>
#include <vector>

#include "base/arena.h"
#include "expr/agg/expression.h"
#include "expr/match/match.h"
#include "expr/match/path.h"
#include "expr/schema/schema.h"

namespace quire::expr::schema {
namespace {

// What is said of an operator that should have matched, and of one that should not have.
struct ReasonRow {
  std::string_view name;
  std::string_view failed;
  std::string_view matched;
};

constexpr ReasonRow kReasons[] = {
    {"$eq", "comparison failed", "comparison succeeded"},
    {"$ne", "comparison failed", "comparison succeeded"},
    {"$gt", "comparison failed", "comparison succeeded"},
    {"$gte", "comparison failed", "comparison succeeded"},
    {"$lt", "comparison failed", "comparison succeeded"},
    {"$lte", "comparison failed", "comparison succeeded"},
    {"$in", "no matching value found in array", "matching value found in array"},
    {"$nin", "matching value found in array", "no matching value found in array"},
    {"$exists", "path does not exist", "path does exist"},
    {"$type", "type did not match", "type did match"},
    {"$regex", "regular expression did not match", "regular expression did match"},
    {"$mod", "$mod did not evaluate to expected remainder",
     "$mod did evaluate to expected remainder"},
    {"$size", "array length was not equal to given size", "array length was equal to given size"},
    {"$elemMatch", "array did not satisfy the child predicate",
     "array did satisfy the child predicate"},
    {"$all", "array did not contain all specified values",
     "array did contain all specified values"},
    {"$bitsAllSet", "bitwise operator failed to match", "bitwise operator matched successfully"},
    {"$bitsAllClear", "bitwise operator failed to match", "bitwise operator matched successfully"},
    {"$bitsAnySet", "bitwise operator failed to match", "bitwise operator matched successfully"},
    {"$bitsAnyClear", "bitwise operator failed to match", "bitwise operator matched successfully"},
    {"$geoWithin",
     "none of the considered geometries was contained within the expression's geometry",
     "at least one of considered geometries was contained within the expression's geometry"},
    {"$geoIntersects", "none of the considered geometries intersected the expression's geometry",
     "at least one of the considered geometries intersected the expression's geometry"},
};

std::string_view ReasonOf(std::string_view name, bool inverted) {
  for (const ReasonRow& row : kReasons) {
    if (row.name == name) {
      return inverted ? row.matched : row.failed;
    }
  }
  return inverted ? "expression did match" : "expression did not match";
}

class Explainer {
 public:
  Explainer(bson::View document, const Context* context) : document_(document), context_(context) {}

  // Appends the fields of the explanation to the open document of *out. `inverted`: the filter
  // matched and should not have.
  void Filter(bson::View filter, bool inverted, bson::Builder* out) const {
    std::vector<bson::Document> clauses = Clauses(filter);
    if (clauses.size() == 1) {
      Clause(clauses[0], inverted, out);
      return;
    }
    out->Append("operatorName", "$and");
    Numbered(inverted ? "clausesSatisfied" : "clausesNotSatisfied", clauses, inverted, out);
  }

 private:
  bool Matches(bson::View filter) const {
    auto parsed = match::Filter::Parse(filter, context_);
    if (!parsed.ok()) {
      return false;
    }
    auto matches = (*parsed)->Matches(document_);
    return matches.ok() && *matches;
  }

  // Each condition of a filter by itself: {a: {$gt: 1, $lt: 5}, b: 2} has three.
  static std::vector<bson::Document> Clauses(bson::View filter) {
    std::vector<bson::Document> clauses;
    for (const bson::Element& element : filter) {
      bson::Value value = element.value();
      bool operators = !element.name().starts_with('$') && value.is_document() &&
                       !value.AsDocument().empty() &&
                       value.AsDocument().front().name().starts_with('$') &&
                       !value.AsDocument().Has("$regex") && value.AsDocument().Count() > 1;
      if (!operators) {
        clauses.push_back(bson::Builder().Append(element).Finish());
        continue;
      }
      for (const bson::Element& op : value.AsDocument()) {
        bson::Builder clause;
        clause.BeginDocument(element.name()).Append(op).End();
        clauses.push_back(clause.Finish());
      }
    }
    return clauses;
  }

  // [{index, details}] of those that decided.
  void Numbered(std::string_view name, const std::vector<bson::Document>& filters, bool inverted,
                bson::Builder* out) const {
    out->BeginArray(name);
    for (size_t i = 0; i < filters.size(); ++i) {
      if (Matches(filters[i]) == inverted) {
        out->PushDocument().Append("index", static_cast<int32_t>(i)).BeginDocument("details");
        Filter(filters[i], inverted, out);
        out->End().End();
      }
    }
    out->End();
  }

  void Clause(bson::View clause, bool inverted, bson::Builder* out) const {
    bson::Element element = clause.front();
    if (element.name() == "$and" || element.name() == "$or" || element.name() == "$nor") {
      Logical(element, inverted, out);
    } else if (element.name() == "$jsonSchema") {
      JsonSchema(element.value().AsDocument(), inverted, out);
    } else if (element.name() == "$expr") {
      Expr(element, inverted, out);
    } else if (element.name().starts_with('$')) {
      out->Append("operatorName", element.name());
      out->Append("specifiedAs", clause);
      out->Append("reason", inverted ? "expression always evaluates to true"
                                     : "expression always evaluates to false");
    } else {
      Field(element, inverted, out);
    }
  }

  void Logical(const bson::Element& element, bool inverted, bson::Builder* out) const {
    std::vector<bson::Document> filters;
    for (const bson::Element& item : element.value().AsArray()) {
      filters.emplace_back(item.value().AsDocument());
    }
    bool below = element.name() == "$nor" ? !inverted : inverted;
    out->Append("operatorName", element.name());
    Numbered(below ? "clausesSatisfied" : "clausesNotSatisfied", filters, below, out);
  }

  void JsonSchema(bson::View spec, bool inverted, bson::Builder* out) const {
    out->Append("operatorName", "$jsonSchema");
    auto schema = Schema::Parse(spec);
    if (!schema.ok()) {
      return;
    }
    if (inverted) {
      out->Append("specifiedAs", bson::Builder().Append("$jsonSchema", spec).Finish());
      out->Append("reason", "schema matched");
      return;
    }
    if (!(*schema)->title().empty()) {
      out->Append("title", (*schema)->title());
    }
    if (!(*schema)->description().empty()) {
      out->Append("description", (*schema)->description());
    }
    out->BeginArray("schemaRulesNotSatisfied");
    (*schema)->Explain(bson::Value(document_), out);
    out->End();
  }

  void Expr(const bson::Element& element, bool inverted, bson::Builder* out) const {
    out->Append("operatorName", "$expr");
    out->BeginDocument("specifiedAs").Append(element).End();
    out->Append("reason", inverted ? "expression did match" : "expression did not match");
    agg::ParseScope scope;
    scope.context = context_;
    auto expression = agg::ParseExpression(element.value(), scope);
    if (!expression.ok()) {
      return;
    }
    Arena arena;
    agg::EvalContext eval;
    eval.context = context_;
    eval.root = bson::Value(document_);
    eval.arena = &arena;
    auto result = (*expression)->Evaluate(eval);
    if (result.ok()) {
      out->Append("expressionResult", *result);
    }
  }

  void Field(const bson::Element& element, bool inverted, bson::Builder* out) const {
    bson::Value value = element.value();
    bool operators = value.is_document() && !value.AsDocument().empty() &&
                     value.AsDocument().front().name().starts_with('$');
    std::string_view name = operators ? value.AsDocument().front().name() : "$eq";
    if (value.type() == bson::Type::kRegex) {
      name = "$regex";
    }
    if (operators && name == "$not" && value.AsDocument().front().type() == bson::Type::kDocument) {
      bson::Builder child;
      child.Append(element.name(), value.AsDocument().front().value());
      bson::Document filter = child.Finish();
      out->Append("operatorName", "$not").BeginDocument("details");
      Filter(filter, !inverted, out);
      out->End();
      return;
    }
    out->Append("operatorName", name);
    out->BeginDocument("specifiedAs").Append(element).End();
    Considered(element.name(), name, ReasonFor(value, name, inverted), out);
  }

  static std::string_view ReasonFor(const bson::Value& value, std::string_view name,
                                    bool inverted) {
    if (name == "$exists") {
      bool wanted = agg::IsTrue(value.AsDocument().front().value());
      return ReasonOf(name, wanted == inverted);
    }
    return ReasonOf(name, inverted);
  }

  // The reason and the values the path has in the document.
  void Considered(std::string_view path, std::string_view name, std::string_view reason,
                  bson::Builder* out) const {
    std::vector<bson::Value> values;
    auto visit = [&](const bson::Value& value, std::string_view) {
      if (!value.missing()) {
        values.push_back(value);
      }
      return false;
    };
    match::WalkPath(match::Path(path), 0, document_, match::LeafArray::kWhole, {}, visit);
    if (name == "$exists") {
      out->Append("reason", reason);
      return;
    }
    out->Append("reason", values.empty() ? "field was missing" : reason);
    if (values.size() == 1) {
      out->Append("consideredValue", values[0]);
      if (name == "$type") {
        out->Append("consideredType", bson::TypeName(values[0].type()));
      }
    } else if (!values.empty()) {
      out->BeginArray("consideredValues");
      for (const bson::Value& value : values) {
        out->Push(value);
      }
      out->End();
    }
  }

  bson::View document_;
  const Context* context_;
};

}  // namespace

bson::Document ExplainFailure(bson::View validator, bson::View document, const Context* context) {
  bson::Builder out;
  out.Append("failingDocumentId", document["_id"]);
  out.BeginDocument("details");
  Explainer(document, context).Filter(validator, /*inverted=*/false, &out);
  out.End();
  return out.Finish();
}

}  // namespace quire::expr::schema
