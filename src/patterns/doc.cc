// SPDX-License-Identifier: Apache-2.0
#include "patterns/doc.h"

namespace quire::patterns {

bson::Value At(bson::View document, std::string_view path) {
  for (;;) {
    size_t dot = path.find('.');
    bson::Value value = document[path.substr(0, dot)];
    if (dot == std::string_view::npos || !value.is_document()) {
      return dot == std::string_view::npos ? value : bson::Value();
    }
    document = value.AsDocument();
    path.remove_prefix(dot + 1);
  }
}

int64_t IntegerAt(bson::View document, std::string_view path) {
  return IntegerOf(At(document, path));
}

int64_t IntegerOf(const bson::Value& value) {
  switch (value.type()) {
    case bson::Type::kInt32:
    case bson::Type::kInt64:
      return value.AsInt64();
    case bson::Type::kDouble:
      return static_cast<int64_t>(value.AsDouble());
    default:
      return 0;
  }
}

std::string_view TextAt(bson::View document, std::string_view path) {
  bson::Value value = At(document, path);
  return value.is_string() ? value.AsString() : std::string_view();
}

bool Holds(const bson::Value& array, const bson::Value& value) {
  if (!array.is_array()) {
    return false;
  }
  for (const bson::Element& element : array.AsArray()) {
    if (element.value().BinaryEquals(value)) {
      return true;
    }
  }
  return false;
}

bson::Document MergeUpdates(const bson::Document& a, const bson::Document& b) {
  bson::Builder out;
  for (const bson::Element& operation : a.view()) {
    bson::Value other = b[operation.name()];
    if (!other.is_document()) {
      out.Append(operation);
      continue;
    }
    out.BeginDocument(operation.name());
    out.AppendFields(operation.value().AsDocument()).AppendFields(other.AsDocument()).End();
  }
  for (const bson::Element& operation : b.view()) {
    if (!a.view().Has(operation.name())) {
      out.Append(operation);
    }
  }
  return out.Finish();
}

}  // namespace quire::patterns
