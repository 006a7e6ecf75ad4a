// SPDX-License-Identifier: Apache-2.0
//
// Checking the key pattern of an index.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/json/value_text.h"
#include "bson/number.h"
#include "engine/schema/index_spec_internal.h"
#include "store/keys/index_kind.h"
#include "store/keys/wildcard.h"

namespace quire::engine {

namespace {

constexpr size_t kMaxFields = 32;
constexpr int32_t kMaxBytes = 2048;

Status CheckPath(std::string_view path, bool wildcard) {
  if (path.empty()) {
    return {kCannotCreateIndex, "Index keys cannot be an empty field."};
  }
  size_t start = 0;
  while (true) {
    size_t dot = path.find('.', start);
    bool last = dot == std::string_view::npos;
    std::string_view part = path.substr(start, last ? dot : dot - start);
    if (part.empty()) {
      return {kCannotCreateIndex, "Index keys cannot contain an empty field."};
    }
    bool reference = start > 0 && (part == "$id" || part == "$ref" || part == "$db");
    if (part.front() == '$' && !reference && !(wildcard && last && part == "$**")) {
      return {kCannotCreateIndex,
              "Index key contains an illegal field name: field name starts with '$'."};
    }
    if (last) {
      return Status::Ok();
    }
    start = dot + 1;
  }
}

Result<const store::IndexKindRow*> KindNamed(std::string_view name) {
  if (name == "wildcard") {
    return Status(7246202, "The index type 'wildcard' is only allowed for a field \"$**\"");
  }
  const store::IndexKindRow* row = store::FindIndexKind(name);
  if (row == nullptr) {
    return Status(kCannotCreateIndex, "Unknown index plugin '" + std::string(name) + "'");
  }
  return row;
}

Status CheckDirection(const bson::Value& value, int version) {
  if (value.is_number()) {
    double direction = bson::ToDouble(value);
    if (std::isnan(direction)) {
      return {kCannotCreateIndex, "Values in the index key pattern cannot be NaN."};
    }
    if (direction == 0 && version > 1) {
      return {kCannotCreateIndex, "Values in the index key pattern cannot be 0."};
    }
    return Status::Ok();
  }
  bool compound = value.is_document() || value.is_array();
  if (version == 1 && !compound && value.type() != bson::Type::kUndefined) {
    return Status::Ok();
  }
  return {kCannotCreateIndex, "Values in v:" + std::to_string(version) +
                                  " index key pattern cannot be of type " +
                                  std::string(bson::TypeName(value.type())) +
                                  ". Only numbers > 0, numbers < 0, and strings are allowed."};
}

Status CheckPart(const bson::Element& e, int version, KeyFacts* facts) {
  bson::Value value = e.value();
  // {"$**": "text"} is a text index of all fields.
  bool text = value.is_string() && value.AsString() == "text";
  bool wildcard = store::IsWildcardField(e.name()) && (text || !value.is_string());
  RETURN_IF_ERROR(CheckPath(e.name(), wildcard));
  if (!value.is_string()) {
    RETURN_IF_ERROR(CheckDirection(value, version));
    if (wildcard && !facts->wildcard.empty()) {
      return {7246201, "A compound wildcard index can have only one wildcard field"};
    }
    if (wildcard) {
      facts->wildcard = e.name();
    }
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(const store::IndexKindRow* kind, KindNamed(value.AsString()));
  const bool hashed = kind->holds == store::PartHolds::kHash;
  if (hashed && facts->hashed) {
    return {31303, "A maximum of one index field is allowed to be hashed"};
  }
  facts->hashed = facts->hashed || hashed;
  facts->text = facts->text || text;
  facts->geo = facts->geo || kind->cells != nullptr;
  return Status::Ok();
}

// {_id: 1} or {_id: -1}, whatever the type of the number.
bool IsIdPattern(bson::View key) {
  if (key.Count() != 1 || key.front().name() != "_id" || !key.front().value().is_number()) {
    return false;
  }
  double direction = bson::ToDouble(key.front().value());
  return direction == 1 || direction == -1;
}

// Whether two paths can speak of the same value.
bool Overlap(std::string_view a, std::string_view b) {
  return store::IsAtOrBelow(a, b) || store::IsAtOrBelow(b, a);
}

Status CheckCompoundWildcard(const KeyFacts& facts, bson::View key,
                             const store::WildcardPaths* projected) {
  std::string_view field = facts.wildcard;
  for (const bson::Element& e : key) {
    if (e.name() == field) {
      continue;
    }
    if (field != "$**") {
      if (Overlap(e.name(), field.substr(0, field.size() - 4))) {
        return {7246204, "The field '" + std::string(e.name()) +
                             "' of a compound wildcard index overlaps its wildcard field"};
      }
      continue;
    }
    if (projected == nullptr) {
      return {kCannotCreateIndex,
              "A compound wildcard index on all fields needs a wildcardProjection that leaves out "
              "its other fields"};
    }
    if (projected->Meets(e.name())) {
      return {7246209,
              "The wildcardProjection of a compound wildcard index must leave out its "
              "field '" +
                  std::string(e.name()) + "'"};
    }
  }
  return Status::Ok();
}

}  // namespace

Result<KeyFacts> CheckIndexKey(bson::View key, int version) {
  if (key.empty()) {
    return Status(kCannotCreateIndex, "Index keys cannot be empty.");
  }
  if (key.size() > kMaxBytes) {
    return Status(kCannotCreateIndex, "Index key pattern too large.");
  }
  KeyFacts facts;
  std::set<std::string_view> seen;
  for (const bson::Element& e : key) {
    RETURN_IF_ERROR(CheckPart(e, version, &facts));
    if (!seen.insert(e.name()).second) {
      return Status(kBadValue, "The field '" + std::string(e.name()) +
                                   "' appears multiple times in the index key pattern " +
                                   bson::DocumentText(key));
    }
  }
  facts.fields = seen.size();
  if (facts.fields > kMaxFields) {
    return Status(13103, "too many compound keys");
  }
  facts.is_id = IsIdPattern(key);
  if (facts.is_id && bson::IsNegative(key.front().value())) {
    return Status(kBadValue, "The field 'key' for an _id index must be {_id: 1}, but got " +
                                 bson::DocumentText(key));
  }
  if (!facts.wildcard.empty() && (facts.hashed || facts.text || facts.geo)) {
    return Status(kCannotCreateIndex, "wildcard indexes do not allow compounding with '" +
                                          std::string(facts.hashed ? "hashed"
                                                      : facts.text ? "text"
                                                                   : "geo") +
                                          "' fields");
  }
  return facts;
}

Status CheckWildcard(const KeyFacts& facts, bson::View key, const bson::Value& projection) {
  if (projection.missing()) {
    return facts.wildcard.empty() ? Status::Ok() : CheckCompoundWildcard(facts, key, nullptr);
  }
  if (facts.wildcard.empty()) {
    return {kBadValue, "The field 'wildcardProjection' is only allowed in an 'wildcard' index"};
  }
  if (facts.wildcard != "$**") {
    return {kFailedToParse,
            "The field 'wildcardProjection' is only allowed when 'key' is {\"$**\": ±1}"};
  }
  ASSIGN_OR_RETURN(auto paths,
                   store::WildcardPaths::Parse(facts.wildcard, projection.AsDocument()));
  return CheckCompoundWildcard(facts, key, &paths);
}

}  // namespace quire::engine
