// SPDX-License-Identifier: Apache-2.0
#include "engine/schema/special_index_spec.h"

#include <cmath>
#include <map>
#include <string>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/text/language.h"

namespace quire::engine {

namespace {

using Normalised = Result<std::optional<SpecialIndexSpec>>;

Status Refused(std::string why) { return {kCannotCreateIndex, std::move(why)}; }

std::string_view PluginOf(const bson::Value& part) {
  return part.is_string() ? part.AsString() : std::string_view();
}

// The kind of special index, "" for a plain one. Error when the key mixes kinds.
Result<std::string_view> PluginOfKey(bson::View key) {
  std::string_view plugin;
  for (const bson::Element& part : key) {
    std::string_view other = PluginOf(part.value());
    if (!other.empty() && !plugin.empty() && other != plugin) {
      return Refused("Can't use more than one index plugin for a single index.");
    }
    plugin = plugin.empty() ? other : plugin;
  }
  return plugin;
}

// An integer option; `otherwise` when it is not given, nothing when it is no whole number.
std::optional<int32_t> WholeOption(bson::View spec, std::string_view name, int32_t otherwise) {
  bson::Value value = spec[name];
  if (value.missing()) {
    return otherwise;
  }
  double number = value.is_number() ? bson::ToDouble(value) : 0.5;
  if (number != std::floor(number) || std::abs(number) > 1e9) {
    return std::nullopt;
  }
  return static_cast<int32_t>(number);
}

// ------------------------------------------------------------------ text
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
    if (PluginOf(part.value()) == "text") {
      if (place == kAfter) {
        return Refused("'text' fields in index must all be adjacent");
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
      return Refused("text index with reserved fields _fts/_ftsx not allowed");
    }
    double direction = part.value().is_number() ? bson::ToDouble(part.value()) : 0;
    if (direction != 1 && direction != -1) {
      return Refused("text index prefix and suffix fields must be ascending or descending");
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
    return Refused("weight cannot have empty path component");
  }
  if (path.front() == '$' || path.find(".$") != std::string_view::npos) {
    return Refused("weight cannot have path component with $ prefix");
  }
  if (key.Has(path)) {
    return Refused("weight cannot be given for a prefix or suffix field");
  }
  return Status::Ok();
}

Status ReadWeights(const bson::Value& value, bson::View key, Weights* weights) {
  constexpr int32_t kTooHeavy = 99999;
  if (value.is_string() || value.is_array()) {
    return Refused("text index option 'weights' must be an object");
  }
  if (!value.is_document()) {
    return {kTypeMismatch, "The field 'weights' has value with the wrong type " +
                               std::string(bson::TypeName(value.type()))};
  }
  for (const bson::Element& element : value.AsDocument()) {
    RETURN_IF_ERROR(CheckWeightPath(element.name(), key));
    if (!element.value().is_number()) {
      return Refused("weight for text index needs numeric type");
    }
    double weight = bson::ToDouble(element.value());
    if (!(weight >= 1 && weight < kTooHeavy)) {
      return Refused("text index weight must be in the exclusive interval (0,99999) but found: " +
                     bson::ToJson(element.value()));
    }
    (*weights)[std::string(element.name())] = static_cast<int32_t>(weight);
  }
  return Status::Ok();
}

Status CheckLanguages(std::string_view language, std::string_view override_field) {
  if (!expr::text::FindLanguage(language).ok()) {
    return Refused("default_language is not valid");
  }
  if (override_field.empty() || override_field.front() == '$' ||
      override_field.find('.') != std::string_view::npos) {
    return Refused("language_override is not valid");
  }
  return Status::Ok();
}

Normalised NormaliseText(bson::View spec) {
  Weights weights;
  SpecialIndexSpec out;
  ASSIGN_OR_RETURN(out.key, TextKey(spec["key"].AsDocument(), &weights));
  if (bson::Value given = spec["weights"]; !given.missing()) {
    RETURN_IF_ERROR(ReadWeights(given, out.key, &weights));
  }
  if (weights.empty()) {
    return Refused("text index option 'weights' must name the fields of the index");
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
    return Refused("bad textIndexVersion: only 1, 2 and 3 are known");
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
  return std::optional(std::move(out));
}

// ------------------------------------------------------------------ geo
Status CheckLevels(bson::View spec) {
  std::optional<int32_t> coarsest = WholeOption(spec, "coarsestIndexedLevel", 0);
  std::optional<int32_t> finest = WholeOption(spec, "finestIndexedLevel", 23);
  if (!coarsest || *coarsest < 0) {
    return {16747, "coarsestIndexedLevel must be >= 0"};
  }
  if (!finest || *finest > 30) {
    return {16748, "finestIndexedLevel must be <= 30"};
  }
  if (*finest < *coarsest) {
    return {16749, "finestIndexedLevel must be >= coarsestIndexedLevel"};
  }
  return Status::Ok();
}

Normalised NormaliseSphere(bson::View spec) {
  std::optional<int32_t> version = WholeOption(spec, "2dsphereIndexVersion", 3);
  if (!version || *version < 1 || *version > 3) {
    return Refused("unsupported geo index version { 2dsphereIndexVersion : " +
                   bson::ToJson(spec["2dsphereIndexVersion"]) +
                   " }, only support versions: [1,2,3]");
  }
  RETURN_IF_ERROR(CheckLevels(spec));
  SpecialIndexSpec out;
  out.key = bson::Document(spec["key"].AsDocument());
  out.options = bson::Builder().Append("2dsphereIndexVersion", *version).Finish();
  return std::optional(std::move(out));
}

Status CheckFlatKey(bson::View key) {
  size_t found = 0;
  for (const bson::Element& part : key) {
    found += PluginOf(part.value()) == "2d" ? 1 : 0;
  }
  if (found > 1) {
    return {16800, "can't have 2 geo fields"};
  }
  if (PluginOf(key.front().value()) != "2d") {
    return {16801, "2d has to be first in index"};
  }
  return Status::Ok();
}

Normalised NormaliseFlat(bson::View spec) {
  bson::View key = spec["key"].AsDocument();
  RETURN_IF_ERROR(CheckFlatKey(key));
  auto number = [&](std::string_view name, double otherwise) {
    bson::Value value = spec[name];
    return value.is_number() ? bson::ToDouble(value) : otherwise;
  };
  double bits = number("bits", 26);
  if (!(bits >= 1 && bits <= 32)) {
    return Status(kInvalidOptions, "bits for hash must be > 0 and <= 32, but " +
                                       bson::ToJson(spec["bits"]) + " bits were specified");
  }
  double min = number("min", -180);
  double max = number("max", 180);
  if (!(min < max) || std::isinf(min) || std::isinf(max)) {
    return Status(kInvalidOptions, "region for hash must be valid and have positive area, but [" +
                                       std::to_string(min) + ", " + std::to_string(max) +
                                       "] was specified");
  }
  SpecialIndexSpec out;
  out.key = bson::Document(key);
  bson::Builder options;
  if (spec.Has("bits")) {
    options.Append("bits", static_cast<int32_t>(bits));
  }
  for (std::string_view name : {"min", "max"}) {
    if (spec.Has(name)) {
      options.Append(name, spec[name]);
    }
  }
  out.options = options.Finish();
  return std::optional(std::move(out));
}

bool IsText(bson::View spec) { return spec["key"].AsDocument().Has("_fts"); }

}  // namespace

Normalised NormaliseSpecialIndex(bson::View spec, bool collated) {
  struct Row {
    std::string_view plugin;
    bool takes_collation;
    Normalised (*normalise)(bson::View spec);
  };
  constexpr Row kRows[] = {
      {"text", false, NormaliseText},
      {"2dsphere", true, NormaliseSphere},
      {"2d", false, NormaliseFlat},
  };
  ASSIGN_OR_RETURN(std::string_view plugin, PluginOfKey(spec["key"].AsDocument()));
  for (const Row& row : kRows) {
    if (row.plugin != plugin) {
      continue;
    }
    if (collated && !row.takes_collation) {
      return Refused("Index type '" + std::string(plugin) + "' does not support collation");
    }
    return row.normalise(spec);
  }
  return std::optional<SpecialIndexSpec>();
}

Status CheckOnlyTextIndex(const store::CollectionInfo& collection,
                          const std::vector<store::NewIndex>& fresh, bson::View spec) {
  if (!IsText(spec)) {
    return Status::Ok();
  }
  std::vector<bson::View> others;
  for (const auto& index : collection.indexes) {
    others.push_back(index->spec);
  }
  for (const store::NewIndex& index : fresh) {
    others.push_back(index.spec);
  }
  for (bson::View other : others) {
    if (IsText(other)) {
      return Refused("only one text index per collection allowed, found existing text index \"" +
                     std::string(other["name"].AsString()) + "\"");
    }
  }
  return Status::Ok();
}

}  // namespace quire::engine
