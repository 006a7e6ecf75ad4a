// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/field_names.h"

#include <functional>

#include "base/try.h"

namespace quire::patterns {

namespace {

constexpr char kEscape = '~';

Status CheckName(std::string_view name) {
  if (name.empty() || name.find_first_of(std::string_view(".\0", 2)) != std::string_view::npos ||
      name.front() == '$' || name.front() == kEscape ||
      name.find_first_not_of("0123456789") == std::string_view::npos) {
    return MakeError(Error::kInvalidName, name);
  }
  return Status::Ok();
}

using Rename = std::function<std::string(std::string_view)>;

// Every segment of a dotted path.
std::string EachSegment(std::string_view path, const Rename& rename) {
  std::string out;
  for (;;) {
    size_t dot = path.find('.');
    out += rename(path.substr(0, dot));
    if (dot == std::string_view::npos) {
      return out;
    }
    out += '.';
    path.remove_prefix(dot + 1);
  }
}

void AppendRenamed(bson::Builder* out, bson::View document, const Rename& rename, bool in_array,
                   bool values_are_paths) {
  for (const bson::Element& field : document) {
    std::string name = in_array ? std::string(field.name()) : EachSegment(field.name(), rename);
    bson::Value value = field.value();
    if (value.is_document() || value.is_array()) {
      value.is_array() ? out->BeginArray(name) : out->BeginDocument(name);
      AppendRenamed(out, value.AsDocument(), rename, value.is_array(), field.name() == "$rename");
      out->End();
    } else if (values_are_paths && value.is_string()) {
      out->Append(name, EachSegment(value.AsString(), rename));
    } else {
      out->Append(name, value);
    }
  }
}

bson::Document Renamed(bson::View document, const Rename& rename) {
  bson::Builder out;
  AppendRenamed(&out, document, rename, false, false);
  return out.Finish();
}

}  // namespace

Result<FieldNames> FieldNames::Make(const Pairs& pairs) {
  FieldNames names;
  RETURN_IF_ERROR(names.Add(pairs));
  return names;
}

Result<FieldNames> FieldNames::Extend(const Pairs& more) const {
  FieldNames names = *this;
  RETURN_IF_ERROR(names.Add(more));
  return names;
}

Status FieldNames::Add(const Pairs& pairs) {
  for (const auto& [from, to] : pairs) {
    RETURN_IF_ERROR(CheckName(from));
    RETURN_IF_ERROR(CheckName(to));
    if (!short_.emplace(from, to).second || !long_.emplace(to, from).second) {
      return MakeError(Error::kNameClash, from + " as " + to);
    }
  }
  version_ += 1;
  return Status::Ok();
}

std::string FieldNames::ShortenName(std::string_view name) const {
  if (auto found = short_.find(name); found != short_.end()) {
    return found->second;
  }
  const bool ambiguous = long_.contains(name) || name.starts_with(kEscape);
  return (ambiguous ? std::string(1, kEscape) : std::string()) + std::string(name);
}

std::string FieldNames::LengthenName(std::string_view name) const {
  if (name.starts_with(kEscape)) {
    return std::string(name.substr(1));
  }
  auto found = long_.find(name);
  return found != long_.end() ? found->second : std::string(name);
}

std::string FieldNames::ShortenPath(std::string_view path) const {
  return EachSegment(path, [this](std::string_view name) { return ShortenName(name); });
}

std::string FieldNames::LengthenPath(std::string_view path) const {
  return EachSegment(path, [this](std::string_view name) { return LengthenName(name); });
}

bson::Document FieldNames::Shorten(bson::View document) const {
  return Renamed(document, [this](std::string_view name) { return ShortenName(name); });
}

bson::Document FieldNames::Lengthen(bson::View document) const {
  return Renamed(document, [this](std::string_view name) { return LengthenName(name); });
}

}  // namespace quire::patterns
