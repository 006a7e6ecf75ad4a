// SPDX-License-Identifier: Apache-2.0
#include "engine/read/query_shape.h"

#include <algorithm>
#include <iterator>

#include "bson/hash/md5.h"
#include "expr/agg/expression.h"

namespace quire::engine {

namespace {

template <size_t N>
bool OneOf(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Fields of a command that say how it is run, not what is asked.
bool IsIncidental(std::string_view field) {
  static constexpr std::string_view kFields[] = {
      "batchSize",      "cursor",           "comment",
      "maxTimeMS",      "readConcern",      "lsid",
      "writeConcern",   "allowDiskUse",     "noCursorTimeout",
      "singleBatch",    "explain",          "apiVersion",
      "apiStrict",      "txnNumber",        "apiDeprecationErrors",
      "autocommit",     "startTransaction", "stmtId",
      "maxAwaitTimeMS", "querySettings",    "serialization_context"};
  return field.starts_with('$') || OneOf(field, kFields);
}

// Fields and stages whose values are structure.
bool IsStructure(std::string_view field) {
  static constexpr std::string_view kFields[] = {"sort",     "collation", "hint",   "key",  "$sort",
                                                 "$geoNear", "$unset",    "$count", "$type"};
  return OneOf(field, kFields);
}

// Fields of stages that name collections and fields.
bool IsName(std::string_view field) {
  static constexpr std::string_view kFields[] = {
      "from", "as",   "localField",       "foreignField", "coll",   "db",   "into",
      "path", "unit", "connectFromField", "field",        "window", "range"};
  return OneOf(field, kFields);
}

std::string TypeMark(const bson::Value& value) {
  return "?" + std::string(value.is_number() ? "number" : bson::TypeName(value.type()));
}

// "?array<?number>", or "?array<>" of constants of several types.
std::string ConstantMark(const bson::Value& value) {
  if (!value.is_array()) {
    return TypeMark(value);
  }
  if (value.AsArray().empty()) {
    return "[]";
  }
  std::string common;
  for (const bson::Element& e : value.AsArray()) {
    std::string mark = TypeMark(e.value());
    if (!common.empty() && mark != common) {
      return "?array<>";
    }
    common = std::move(mark);
  }
  return "?array<" + common + ">";
}

void AppendFilter(std::string_view name, bson::View filter, bson::Builder* out);

// An expression or the options of a stage: what looks like a field path or a name stays.
void AppendExpression(std::string_view name, const bson::Value& value, bson::Builder* out) {
  if (IsStructure(name) || (value.is_string() && IsName(name))) {
    out->Append(name, value);
  } else if (value.is_document() && name == "$match") {
    AppendFilter(name, value.AsDocument(), out);
  } else if (value.is_document()) {
    out->BeginDocument(name);
    for (const bson::Element& e : value.AsDocument()) {
      AppendExpression(e.name(), e.value(), out);
    }
    out->End();
  } else if (value.is_array()) {
    out->BeginArray(name);
    for (const bson::Element& e : value.AsArray()) {
      AppendExpression(e.name(), e.value(), out);
    }
    out->End();
  } else if (value.is_string() && value.AsString().starts_with('$')) {
    out->Append(name, value);
  } else {
    out->Append(name, TypeMark(value));
  }
}

void AppendFilters(std::string_view name, bson::View filters, bson::Builder* out) {
  out->BeginArray(name);
  for (const bson::Element& e : filters) {
    if (e.value().is_document()) {
      AppendFilter(e.name(), e.value().AsDocument(), out);
    } else {
      out->Append(e.name(), ConstantMark(e.value()));
    }
  }
  out->End();
}

// $jsonSchema: numbers and patterns are constants, keywords, types and field names are not.
void AppendSchema(std::string_view name, const bson::Value& value, bson::Builder* out) {
  if (value.is_document() && name != "enum") {
    out->BeginDocument(name);
    for (const bson::Element& e : value.AsDocument()) {
      AppendSchema(e.name(), e.value(), out);
    }
    out->End();
  } else if (value.is_array() && name != "enum") {
    out->BeginArray(name);
    for (const bson::Element& e : value.AsArray()) {
      AppendSchema(e.name(), e.value(), out);
    }
    out->End();
  } else if (value.is_string() && name != "pattern") {
    out->Append(name, value);
  } else {
    out->Append(name, ConstantMark(value));
  }
}

bool IsOperators(const bson::Value& value) {
  return value.is_document() && !value.AsDocument().empty() &&
         value.AsDocument().front().name().starts_with('$');
}

// {$gt: 5, $elemMatch: {...}}
void AppendOperators(std::string_view name, bson::View operators, bson::Builder* out) {
  out->BeginDocument(name);
  for (const bson::Element& e : operators) {
    if (e.name() == "$type" && !e.value().is_array()) {
      out->BeginArray("$type").Append("0", e.value()).End();
    } else if (e.name() == "$exists" || e.name() == "$options" || e.name() == "$type") {
      out->Append(e);
    } else if (e.name() == "$all" && e.value().is_array()) {
      AppendFilters(e.name(), e.value().AsArray(), out);
    } else if (IsOperators(e.value())) {
      AppendOperators(e.name(), e.value().AsDocument(), out);
    } else if (e.name() == "$elemMatch" && e.value().is_document()) {
      AppendFilter(e.name(), e.value().AsDocument(), out);
    } else {
      out->Append(e.name(), ConstantMark(e.value()));
    }
  }
  out->End();
}

void AppendClause(const bson::Element& e, bson::Builder* out) {
  bool list = e.name() == "$and" || e.name() == "$or" || e.name() == "$nor";
  if (list && e.value().is_array()) {
    AppendFilters(e.name(), e.value().AsArray(), out);
  } else if (e.name() == "$expr") {
    AppendExpression(e.name(), e.value(), out);
  } else if (e.name() == "$jsonSchema") {
    AppendSchema(e.name(), e.value(), out);
  } else if (e.name().starts_with('$') && e.value().is_document()) {
    AppendExpression(e.name(), e.value(), out);
  } else if (e.name().starts_with('$')) {
    out->Append(e.name(), ConstantMark(e.value()));
  } else if (IsOperators(e.value())) {
    AppendOperators(e.name(), e.value().AsDocument(), out);
  } else {
    std::string_view op = e.type() == bson::Type::kRegex ? "$regex" : "$eq";
    std::string mark = e.value().is_array() || e.value().is_document() ? TypeMark(e.value())
                                                                       : ConstantMark(e.value());
    out->BeginDocument(e.name()).Append(op, mark).End();
  }
}

// Several clauses are one $and, as when it is written out.
void AppendFilter(std::string_view name, bson::View filter, bson::Builder* out) {
  out->BeginDocument(name);
  if (filter.Count() > 1) {
    out->BeginArray("$and");
    int at = 0;
    for (const bson::Element& e : filter) {
      out->BeginDocument(std::to_string(at++));
      AppendClause(e, out);
      out->End();
    }
    out->End();
  } else if (!filter.empty()) {
    AppendClause(filter.front(), out);
  }
  out->End();
}

// {a: 1, b: {$slice: 5}}: what is included, left out and computed.
void AppendProjection(std::string_view name, bson::View projection, bson::Builder* out) {
  out->BeginDocument(name);
  for (const bson::Element& e : projection) {
    bool flag = e.value().is_number() || e.type() == bson::Type::kBool;
    if (flag) {
      out->Append(e.name(), expr::agg::IsTrue(e.value()));
    } else {
      AppendExpression(e.name(), e.value(), out);
    }
  }
  out->End();
}

void AppendPipeline(std::string_view name, bson::View pipeline, bson::Builder* out) {
  out->BeginArray(name);
  for (const bson::Element& stage : pipeline) {
    bool is_project = stage.value().is_document() && stage.value().AsDocument().Count() == 1 &&
                      stage.value().AsDocument().front().name() == "$project" &&
                      stage.value().AsDocument().front().value().is_document();
    if (is_project) {
      out->BeginDocument(stage.name());
      AppendProjection("$project", stage.value().AsDocument().front().value().AsDocument(), out);
      out->End();
    } else {
      AppendExpression(stage.name(), stage.value(), out);
    }
  }
  out->End();
}

void AppendField(const bson::Element& e, bson::Builder* out) {
  bson::Value value = e.value();
  bool filter =
      e.name() == "filter" || e.name() == "query" || e.name() == "min" || e.name() == "max";
  if (IsStructure(e.name())) {
    out->Append(e);
  } else if (filter && value.is_document()) {
    AppendFilter(e.name(), value.AsDocument(), out);
  } else if (e.name() == "projection" && value.is_document()) {
    AppendProjection(e.name(), value.AsDocument(), out);
  } else if (e.name() == "pipeline" && value.is_array()) {
    AppendPipeline(e.name(), value.AsArray(), out);
  } else {
    AppendExpression(e.name(), value, out);
  }
}

bool IsEmpty(const bson::Value& value) {
  return (value.is_document() && value.AsDocument().empty()) ||
         (value.is_array() && value.AsArray().empty()) || value.nullish();
}

}  // namespace

bson::Document ShapeOfCommand(bson::View command, std::string_view database) {
  std::string_view name = command.front().name();
  bson::Builder shape;
  shape.BeginDocument("cmdNs")
      .Append("db", database)
      .Append("coll", command.front().value())
      .End()
      .Append("command", name);
  for (const bson::Element& e : command) {
    bool skipped = e.name() == name || IsIncidental(e.name()) ||
                   (e.name() != "filter" && e.name() != "pipeline" && IsEmpty(e.value()));
    if (!skipped) {
      AppendField(e, &shape);
    }
  }
  if (name == "find" && !command.Has("filter")) {
    shape.BeginDocument("filter").End();
  }
  return shape.Finish();
}

std::string HashOfShape(bson::View shape) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  for (std::string_view half : {"a", "b"}) {
    bson::Md5 md5;
    md5.Add(half);
    md5.Add(shape.bytes());
    for (uint8_t byte : md5.Finish()) {
      text.push_back(kDigits[byte >> 4]);
      text.push_back(kDigits[byte & 15]);
    }
  }
  return text;
}

}  // namespace quire::engine
