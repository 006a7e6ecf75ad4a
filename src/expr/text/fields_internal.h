// SPDX-License-Identifier: Apache-2.0
//
// The strings of a document that a text index covers. Private to expr/text.
#pragma once

#include <string>
#include <string_view>

#include "base/try.h"
#include "expr/text/text.h"

namespace quire::expr::text {

// The language the document (or sub-document) names, or `inherited`.
Result<const Language*> LanguageOf(const IndexSpec& spec, bson::View document,
                                   const Language* inherited);

// Whether the index covers the path or something below it.
inline bool MayCover(const IndexSpec& spec, const std::string& path) {
  if (spec.wildcard_weight > 0) {
    return true;
  }
  auto first = spec.weights.lower_bound(path);
  return first != spec.weights.end() && first->first.starts_with(path);
}

template <typename Visit>
Status WalkTextValue(const IndexSpec& spec, std::string* path, const bson::Value& value,
                     const Language* language, const Visit& visit);

// Calls visit(text, weight, language) for every covered string. *path is the document's, and the
// same again afterwards.
template <typename Visit>
Status WalkTextFields(const IndexSpec& spec, std::string* path, bson::View document,
                      const Language* inherited, const Visit& visit) {
  ASSIGN_OR_RETURN(const Language* language, LanguageOf(spec, document, inherited));
  const size_t length = path->size();
  for (const bson::Element& element : document) {
    if (spec.wildcard_weight > 0 && element.name() == spec.language_override) {
      continue;
    }
    path->append(length > 0 ? "." : "").append(element.name());
    if (MayCover(spec, *path)) {
      RETURN_IF_ERROR(WalkTextValue(spec, path, element.value(), language, visit));
    }
    path->resize(length);
  }
  return Status::Ok();
}

template <typename Visit>
Status WalkTextValue(const IndexSpec& spec, std::string* path, const bson::Value& value,
                     const Language* language, const Visit& visit) {
  if (value.is_string()) {
    auto found = spec.weights.find(*path);
    double weight = found != spec.weights.end() ? found->second : spec.wildcard_weight;
    if (weight > 0) {
      visit(value.AsString(), weight, *language);
    }
  } else if (value.is_document()) {
    return WalkTextFields(spec, path, value.AsDocument(), language, visit);
  } else if (value.is_array()) {
    for (const bson::Element& item : value.AsArray()) {
      RETURN_IF_ERROR(WalkTextValue(spec, path, item.value(), language, visit));
    }
  }
  return Status::Ok();
}

// The same for a whole document in the index's default language.
template <typename Visit>
Status WalkTextDocument(const IndexSpec& spec, bson::View document, const Visit& visit) {
  ASSIGN_OR_RETURN(const Language* language, FindLanguage(spec.default_language));
  std::string path;
  return WalkTextFields(spec, &path, document, language, visit);
}

}  // namespace quire::expr::text
