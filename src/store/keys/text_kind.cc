// SPDX-License-Identifier: Apache-2.0
//
// Text indexes: their specs and their entries.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/try.h"
#include "bson/hash/index_hash.h"
#include "bson/path.h"
#include "expr/text/language.h"
#include "store/keys/index_kind.h"
#include "store/keys/kind_internal.h"
#include "store/keys/multikey.h"
#include "store/keys/special_keys.h"

namespace quire::store {

namespace {

constexpr IndexOption kOptions[] = {
    {"weights", IndexOption::kAny, ""},
    {"default_language", IndexOption::kString, "a string"},
    {"language_override", IndexOption::kString, "a string"},
    {"textIndexVersion", IndexOption::kNumber, "a number"},
};

using Weights = std::map<std::string, int32_t>;

// The key as it is stored; the text fields get the weight 1.
Result<bson::Document> TextKey(bson::View key, Weights* weights) {
  enum { kBefore, kWithin, kAfter } place = kBefore;
  bson::Builder stored;
  for (const bson::Element& part : key) {
    std::string_view name = part.name();
    if (name == "_ftsx" && place == kWithin) {
      continue;
    }
    if (KindNameOf(part.value()) == "text") {
      if (place == kAfter) {
        return RefusedIndex("'text' fields in index must all be adjacent");
      }
      if (place == kBefore) {
        stored.Append("_fts", "text").Append("_ftsx", 1);
      }
      place = kWithin;
      if (name != "_fts") {
        weights->emplace(name, 1);
      }
      continue;
    }
    if (name == "_fts" || name == "_ftsx") {
      return RefusedIndex("text index with reserved fields _fts/_ftsx not allowed");
    }
    double direction = part.value().is_number() ? bson::ToDouble(part.value()) : 0;
    if (direction != 1 && direction != -1) {
      return RefusedIndex("text index prefix and suffix fields must be ascending or descending");
    }
    place = place == kWithin ? kAfter : place;
    stored.Append(name, part.value());
  }
  return stored.Finish();
}

Status CheckWeightPath(std::string_view path, bson::View key) {
  if (path == "$**") {
    return Status::Ok();
  }
  if (path.empty() || path.front() == '.' || path.back() == '.' ||
      path.find("..") != std::string_view::npos) {
    return RefusedIndex("weight cannot have empty path component");
  }
  if (path.front() == '$' || path.find(".$") != std::string_view::npos) {
    return RefusedIndex("weight cannot have path component with $ prefix");
  }
  if (key.Has(path)) {
    return RefusedIndex("weight cannot be given for a prefix or suffix field");
  }
  return Status::Ok();
}

Status ReadWeights(const bson::Value& value, bson::View key, Weights* weights) {
  constexpr int32_t kTooHeavy = 99999;
  if (value.is_string() || value.is_array()) {
    return RefusedIndex("text index option 'weights' must be an object");
  }
  if (!value.is_document()) {
    return {kTypeMismatch, "The field 'weights' has value with the wrong type " +
                               std::string(bson::TypeName(value.type()))};
  }
  for (const bson::Element& element : value.AsDocument()) {
    RETURN_IF_ERROR(CheckWeightPath(element.name(), key));
    if (!element.value().is_number()) {
      return RefusedIndex("weight for text index needs numeric type");
    }
    double weight = bson::ToDouble(element.value());
    if (!(weight >= 1 && weight < kTooHeavy)) {
      return RefusedIndex(
          "text index weight must be in the exclusive interval (0,99999) but found: " +
          bson::ToJson(element.value()));
    }
    (*weights)[std::string(element.name())] = static_cast<int32_t>(weight);
  }
  return Status::Ok();
}

Status CheckLanguages(std::string_view language, std::string_view override_field) {
  if (!expr::text::FindLanguage(language).ok()) {
    return RefusedIndex("default_language is not valid");
  }
  if (override_field.empty() || override_field.front() == '$' ||
      override_field.find('.') != std::string_view::npos) {
    return RefusedIndex("language_override is not valid");
  }
  return Status::Ok();
}

Result<SpecialIndexSpec> NormaliseText(bson::View spec) {
  Weights weights;
  SpecialIndexSpec out;
  ASSIGN_OR_RETURN(out.key, TextKey(spec["key"].AsDocument(), &weights));
  if (bson::Value given = spec["weights"]; !given.missing()) {
    RETURN_IF_ERROR(ReadWeights(given, out.key, &weights));
  }
  if (weights.empty()) {
    return RefusedIndex("text index option 'weights' must name the fields of the index");
  }
  auto name_or = [&](std::string_view option, std::string_view otherwise) {
    bson::Value value = spec[option];
    return value.is_string() ? value.AsString() : otherwise;
  };
  std::string_view language = name_or("default_language", "english");
  std::string_view override_field = name_or("language_override", "language");
  RETURN_IF_ERROR(CheckLanguages(language, override_field));
  std::optional<int32_t> version = WholeOption(spec, "textIndexVersion", 3);
  if (!version || *version < 1 || *version > 3) {
    return RefusedIndex("bad textIndexVersion: only 1, 2 and 3 are known");
  }
  bson::Builder options;
  options.BeginDocument("weights");
  for (const auto& [path, weight] : weights) {
    options.Append(path, weight);
  }
  options.End();
  options.Append("default_language", language)
      .Append("language_override", override_field)
      .Append("textIndexVersion", *version);
  out.options = options.Finish();
  return out;
}

Result<bson::Value> ValueBesideText(const bson::FieldPath& path, bson::View document) {
  size_t next = 0;
  bson::Value value = bson::GetPathOrArray(document, path, &next);
  if (value.is_array()) {
    return Status(16675, "cannot have a multi-key as a prefix to a text index");
  }
  return value.missing() ? bson::Value::Null() : value;
}

Status TextKeys(const IndexKeySpec& spec, bson::View document, IndexKeySet* out) {
  ASSIGN_OR_RETURN(auto scores, expr::text::ScoreDocument(spec.special->text, document));
  if (scores.empty()) {
    return Status::Ok();
  }
  std::vector<bson::Value> values(spec.parts.size());
  size_t term_part = 0;
  for (size_t i = 0; i < spec.parts.size(); ++i) {
    if (spec.parts[i].kind == &kTextKind) {
      term_part = i++;  // the score is next
      continue;
    }
    ASSIGN_OR_RETURN(values[i], ValueBesideText(spec.paths[i], document));
  }
  for (const auto& [term, score] : scores) {
    std::string indexed = IndexedTerm(term);
    values[term_part] = bson::Value(std::string_view(indexed));
    values[term_part + 1] = bson::Value(score);
    out->keys.push_back(MakeKey(spec, values));
  }
  if (out->keys.size() > 1) {
    out->multikey_steps |= MultikeyBit(spec, term_part, 0);
  }
  return Status::Ok();
}

// A text index reads the fields of its weights, and the languages that documents name.
bool TextDependsOn(const SpecialSpec& spec, std::string_view path) {
  const expr::text::IndexSpec& text = spec.text;
  if (text.wildcard_weight > 0) {
    return true;
  }
  std::string_view last = path.substr(path.rfind('.') + 1);
  if (last == text.language_override) {
    return true;
  }
  std::string_view top = path.substr(0, path.find('.'));
  return std::any_of(text.weights.begin(), text.weights.end(), [&](const auto& weight) {
    return std::string_view(weight.first).substr(0, weight.first.find('.')) == top;
  });
}

}  // namespace

constinit const IndexKindRow kTextKind = {
    .name = "text",
    .holds = PartHolds::kMade,
    .options = kOptions,
    .normalise = NormaliseText,
    .one_per_collection = true,
    .keys = TextKeys,
    .depends_on = TextDependsOn,
    .leaves_out = true,
};

std::string IndexedTerm(const std::string& term) {
  constexpr size_t kLongest = 256;
  constexpr size_t kKept = 224;
  if (term.size() <= kLongest) {
    return term;
  }
  constexpr char kDigits[] = "0123456789abcdef";
  auto hash = static_cast<uint64_t>(bson::IndexHash(bson::Value(std::string_view(term))));
  std::string cut = term.substr(0, kKept);
  for (int shift = 60; shift >= 0; shift -= 4) {
    cut.push_back(kDigits[(hash >> shift) & 15]);
  }
  return cut;
}

}  // namespace quire::store
