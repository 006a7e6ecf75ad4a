// SPDX-License-Identifier: Apache-2.0
#include "plan/query_shape.h"

#include <algorithm>
#include <cstdio>

#include "expr/collation/collator.h"
#include "expr/match/leaf.h"
#include "plan/bounds/bounds.h"
#include "plan/bounds/subset.h"

namespace quire::plan {

namespace {

using expr::match::ComparisonNode;
using expr::match::InNode;
using expr::match::Kind;
using expr::match::Node;

// The keywords of a schema with the fields and types they name.
void AppendSchema(const bson::Value& value, std::string* out) {
  if (value.is_string()) {
    out->append(value.AsString()).push_back(';');
  } else if (value.is_document() || value.is_array()) {
    for (const bson::Element& e : value.AsDocument()) {
      out->append(e.name()).push_back(':');
      AppendSchema(e.value(), out);
    }
    out->push_back('.');
  }
}

void AppendShape(const Node& node, std::string* out) {
  out->push_back(static_cast<char>('A' + static_cast<int>(node.kind())));
  out->append(node.path());
  if (node.kind() == Kind::kJsonSchema) {
    bson::Document shown = expr::match::Serialize(node);
    AppendSchema(bson::Value(shown.view()), out);
  }
  if (node.children().empty()) {
    out->push_back(';');
    return;
  }
  out->push_back('(');
  std::vector<std::string> shapes;
  for (const auto& child : node.children()) {
    AppendShape(*child, &shapes.emplace_back());
  }
  if (node.kind() == Kind::kAnd || node.kind() == Kind::kOr || node.kind() == Kind::kNor) {
    std::sort(shapes.begin(), shapes.end());
  }
  for (const std::string& shape : shapes) {
    out->append(shape);
  }
  out->push_back(')');
}

// What is included and left out, in whatever order it was written.
void AppendProjection(bson::View projection, std::string* out) {
  std::vector<std::string> fields;
  for (const bson::Element& e : projection) {
    bson::Builder field;
    fields.push_back(field.Append(e).Finish().bytes());
  }
  std::sort(fields.begin(), fields.end());
  for (const std::string& field : fields) {
    out->append(field);
  }
}

bool HoldsStrings(const bson::Value& value) {
  return value.is_string() || value.is_document() || value.is_array();
}

// What of the constants decides which indexes can be used.
void AppendUsability(const Node& node, std::string* out) {
  int flags = AsksForNull(node) ? 1 : 0;
  switch (node.kind()) {
    case Kind::kEq:
    case Kind::kLt:
    case Kind::kLte:
    case Kind::kGt:
    case Kind::kGte: {
      const bson::Value& operand = static_cast<const ComparisonNode&>(node).operand();
      flags |= (HoldsStrings(operand) ? 2 : 0) | (operand.is_array() ? 4 : 0);
      break;
    }
    case Kind::kIn:
      for (const bson::Value& value : static_cast<const InNode&>(node).values()) {
        flags |= (HoldsStrings(value) ? 2 : 0) | (value.is_array() ? 4 : 0);
      }
      flags |= static_cast<const InNode&>(node).regexes().empty() ? 0 : 8;
      break;
    default:
      break;
  }
  out->push_back(static_cast<char>('0' + flags));
  for (const auto& child : node.children()) {
    AppendUsability(*child, out);
  }
}

// FNV-1a, as eight hexadecimal digits.
std::string HashText(std::string_view bytes) {
  uint32_t hash = 2166136261U;
  for (char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  char text[9];
  snprintf(text, sizeof text, "%08X", hash);
  return text;
}

}  // namespace

QueryShape ShapeOf(const QuerySpec& query) {
  QueryShape shape;
  if (query.filter != nullptr) {
    AppendShape(query.filter->root(), &shape.key);
  }
  shape.key.append("|s").append(query.sort_spec.bytes());
  AppendProjection(query.projection_spec, &shape.key.append("|p"));
  if (query.context->collator != nullptr) {
    shape.key.append("|c").append(query.context->collator->spec().bytes());
  }
  shape.query_hash = HashText(shape.key);
  if (query.filter != nullptr) {
    AppendUsability(query.filter->root(), &shape.key);
  }
  if (query.collection != nullptr && query.filter != nullptr) {
    for (const auto& index : query.collection->indexes) {
      if (index->partial_filter != nullptr) {
        bool implied = Implies({&query.filter->shared_root(), 1}, index->partial_filter->root());
        shape.key.push_back(implied ? '+' : '-');
      }
    }
  }
  shape.key.append(query.allowed_indexes.bytes());
  shape.key.push_back(query.count_only || query.no_fields ? 'n' : 'f');
  shape.plan_cache_key = HashText(shape.key);
  // What is quick for the first row may be slow for all.
  shape.key.push_back(query.limit > 0 ? 'l' : 'a');
  return shape;
}

std::string ExplainedHash(const QuerySpec& query, const QueryShape& shape) {
  if (query.explained_stages.empty()) {
    return shape.query_hash;
  }
  return HashText(shape.query_hash + (query.no_fields ? 'n' : 'f') + query.explained_stages);
}

}  // namespace quire::plan
