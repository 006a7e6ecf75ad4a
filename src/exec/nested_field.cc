// SPDX-License-Identifier: Apache-2.0
#include "exec/nested_field.h"

namespace quire::exec {

namespace {

void Write(const bson::Value& at, const FieldPath& path, size_t step, const bson::Value& value,
           bson::Builder* out) {
  auto put = [&](const bson::Value& old) {
    if (step + 1 == path.size()) {
      out->Append(path[step], value);
      return;
    }
    out->BeginDocument(path[step]);
    Write(old, path, step + 1, value, out);
    out->End();
  };
  bool found = false;
  if (at.is_document()) {
    for (const bson::Element& element : at.AsDocument()) {
      if (!found && element.name() == path[step]) {
        found = true;
        put(element.value());
      } else {
        out->Append(element);
      }
    }
  }
  if (!found && !value.missing()) {
    put(bson::Value());
  }
}

}  // namespace

FieldPath SplitFieldPath(std::string_view path) {
  FieldPath parts;
  for (;;) {
    size_t dot = path.find('.');
    parts.emplace_back(path.substr(0, dot));
    if (dot == std::string_view::npos) {
      return parts;
    }
    path.remove_prefix(dot + 1);
  }
}

std::string JoinFieldPath(const FieldPath& path) {
  std::string text;
  for (const std::string& part : path) {
    text += (text.empty() ? "" : ".") + part;
  }
  return text;
}

bson::Value GetNested(bson::View document, const FieldPath& path) {
  bson::Value at(document);
  for (const std::string& step : path) {
    if (!at.is_document()) {
      return bson::Value();
    }
    at = at.AsDocument()[step];
  }
  return at;
}

void SetNested(bson::View document, const FieldPath& path, const bson::Value& value,
               std::string* out) {
  bson::Builder builder(out);
  Write(bson::Value(document), path, 0, value, &builder);
  builder.Close();
}

}  // namespace quire::exec
