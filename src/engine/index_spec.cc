// SPDX-License-Identifier: Apache-2.0
//
// Checking and completing the index specs of createIndexes.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "engine/schema.h"

namespace quire::engine {

namespace {

constexpr size_t kMaxFields = 32;

// Options of an index and the types they take ("" in `type`: any, checked elsewhere).
struct OptionRow {
  std::string_view name;
  enum { kBool, kNumber, kDocument, kString, kAny } type;
};
constexpr OptionRow kOptions[] = {
    {"v", OptionRow::kNumber},
    {"key", OptionRow::kDocument},
    {"name", OptionRow::kString},
    {"ns", OptionRow::kString},
    {"unique", OptionRow::kBool},
    {"background", OptionRow::kBool},
    {"sparse", OptionRow::kBool},
    {"expireAfterSeconds", OptionRow::kAny},
    {"partialFilterExpression", OptionRow::kDocument},
    {"collation", OptionRow::kDocument},
    {"hidden", OptionRow::kBool},
    {"storageEngine", OptionRow::kDocument},
    {"weights", OptionRow::kAny},
    {"default_language", OptionRow::kString},
    {"language_override", OptionRow::kString},
    {"textIndexVersion", OptionRow::kNumber},
    {"2dsphereIndexVersion", OptionRow::kNumber},
    {"bits", OptionRow::kNumber},
    {"min", OptionRow::kNumber},
    {"max", OptionRow::kNumber},
    {"bucketSize", OptionRow::kNumber},
    {"wildcardProjection", OptionRow::kDocument},
    {"clustered", OptionRow::kBool},
    {"prepareUnique", OptionRow::kBool},
    {"dropDups", OptionRow::kAny},
};

bool TypeFits(const OptionRow& row, const bson::Value& value) {
  switch (row.type) {
    case OptionRow::kBool:
      return value.type() == bson::Type::kBool || value.is_number();
    case OptionRow::kNumber:
      return value.is_number();
    case OptionRow::kDocument:
      return value.is_document();
    case OptionRow::kString:
      return value.is_string();
    case OptionRow::kAny:
      return true;
  }
  return false;
}

Status CheckOptions(bson::View spec) {
  for (const bson::Element& e : spec) {
    const OptionRow* row = nullptr;
    for (const OptionRow& candidate : kOptions) {
      if (candidate.name == e.name()) {
        row = &candidate;
      }
    }
    if (row == nullptr) {
      return {
          kInvalidIndexSpecificationOption,
          "The field '" + std::string(e.name()) +
              "' is not valid for an index specification. Specification: " + bson::ToJson(spec)};
    }
    if (!TypeFits(*row, e.value())) {
      return {kTypeMismatch, "The field '" + std::string(e.name()) +
                                 "' has value with the wrong type " +
                                 std::string(bson::TypeName(e.type()))};
    }
  }
  return Status::Ok();
}

Status CheckPath(std::string_view path) {
  if (path.empty()) {
    return {kCannotCreateIndex, "Index keys cannot be an empty field."};
  }
  size_t start = 0;
  while (true) {
    size_t dot = path.find('.', start);
    std::string_view part = path.substr(start, dot == std::string_view::npos ? dot : dot - start);
    if (part.empty()) {
      return {kCannotCreateIndex, "Index keys cannot contain an empty field."};
    }
    if (part.front() == '$' && part != "$**" && part != "$id" && part != "$ref" && part != "$db") {
      return {kCannotCreateIndex,
              "Index key contains an illegal field name: field name starts "
              "with '$'."};
    }
    if (dot == std::string_view::npos) {
      return Status::Ok();
    }
    start = dot + 1;
  }
}

Status CheckPart(const bson::Element& e) {
  bson::Value value = e.value();
  if (value.is_number()) {
    double direction = bson::ToDouble(value);
    if (direction == 0 || std::isnan(direction)) {
      return {kCannotCreateIndex, "Values in the index key pattern cannot be 0."};
    }
    return Status::Ok();
  }
  if (value.is_string()) {
    constexpr std::array<std::string_view, 4> kKinds = {"hashed", "text", "2d", "2dsphere"};
    if (std::find(kKinds.begin(), kKinds.end(), value.AsString()) != kKinds.end()) {
      return Status::Ok();
    }
    return {kCannotCreateIndex, "Unknown index plugin '" + std::string(value.AsString()) + "'"};
  }
  return {kCannotCreateIndex, "Values in v:2 index key pattern cannot be of type " +
                                  std::string(bson::TypeName(e.type())) +
                                  ". Only numbers > 0, numbers < 0, and strings are allowed."};
}

Status CheckKey(bson::View key) {
  if (key.empty()) {
    return {kCannotCreateIndex, "Index keys cannot be empty."};
  }
  std::set<std::string_view> seen;
  size_t hashed = 0;
  for (const bson::Element& e : key) {
    RETURN_IF_ERROR(CheckPath(e.name()));
    RETURN_IF_ERROR(CheckPart(e));
    if (!seen.insert(e.name()).second) {
      return {kBadValue, "The field '" + std::string(e.name()) +
                             "' appears multiple times in the index key pattern"};
    }
    hashed += e.value().is_string() && e.value().AsString() == "hashed" ? 1 : 0;
  }
  if (seen.size() > kMaxFields) {
    return {13103, "too many compound keys"};
  }
  if (hashed > 1) {
    return {31303, "A maximum of one index field is allowed to be hashed"};
  }
  return Status::Ok();
}

bool IsIdPattern(bson::View key) {
  return key.Count() == 1 && key.front().name() == "_id" && key.front().value().is_number() &&
         bson::ToDouble(key.front().value()) > 0;
}

Status CheckIdIndex(bson::View spec) {
  for (const bson::Element& e : spec) {
    std::string_view name = e.name();
    if (name != "v" && name != "key" && name != "name" && name != "ns" && name != "collation" &&
        name != "unique" && name != "background" && name != "clustered") {
      return {kInvalidIndexSpecificationOption,
              "The field '" + std::string(name) +
                  "' is not valid for an _id index specification. Specification: " +
                  bson::ToJson(spec)};
    }
  }
  return Status::Ok();
}

Status CheckTtl(const bson::Value& seconds, bson::View key) {
  constexpr double kMost = 2147483647;
  if (!seconds.is_number()) {
    return {kCannotCreateIndex,
            "TTL index 'expireAfterSeconds' option must be numeric, but received a type of '" +
                std::string(bson::TypeName(seconds.type())) + "'"};
  }
  double n = bson::ToDouble(seconds);
  if (std::isnan(n)) {
    n = 0;
  }
  if (n < 0 || n > kMost) {
    return {kCannotCreateIndex,
            "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a "
            "number between 0 and 2147483647."};
  }
  if (key.Count() > 1) {
    return {kCannotCreateIndex,
            "TTL indexes are single-field indexes, compound indexes do not "
            "support TTL. Index spec: " +
                bson::ToJson(key)};
  }
  return Status::Ok();
}

bool IsTrue(const bson::Value& value) {
  return value.type() == bson::Type::kBool ? value.AsBool()
                                           : value.is_number() && bson::ToDouble(value) != 0;
}

}  // namespace

Result<bson::Document> NormaliseIndexSpec(bson::View spec, const expr::Collator* default_collator) {
  RETURN_IF_ERROR(CheckOptions(spec));
  if (!spec.Has("key")) {
    return Status(kFailedToParse,
                  "The 'key' field is a required property of an index "
                  "specification");
  }
  if (!spec.Has("name")) {
    return Status(kFailedToParse,
                  "The 'name' field is a required property of an index "
                  "specification");
  }
  bson::View key = spec["key"].AsDocument();
  std::string_view name = spec["name"].AsString();
  RETURN_IF_ERROR(CheckKey(key));
  if (name.empty()) {
    return Status(kCannotCreateIndex, "index name cannot be empty");
  }
  if (name == "*") {
    return Status(kBadValue, "The index name '*' is not valid.");
  }
  if (name.find('\0') != std::string_view::npos) {
    return Status(kCannotCreateIndex, "index name cannot contain NUL bytes");
  }
  if (bson::Value v = spec["v"]; !v.missing()) {
    double version = bson::ToDouble(v);
    if (version != 1 && version != 2) {
      return Status(kCannotCreateIndex,
                    "Invalid index specification; cannot create an index with "
                    "v=" +
                        std::to_string(static_cast<int64_t>(version)));
    }
  }
  bool is_id = IsIdPattern(key);
  if (is_id) {
    RETURN_IF_ERROR(CheckIdIndex(spec));
    name = "_id_";
  } else if (name == "_id_") {
    return Status(kBadValue, "The index name '_id_' is reserved for the _id index");
  }
  bson::Value sparse = spec["sparse"];
  bson::Value partial = spec["partialFilterExpression"];
  if (!partial.missing() && IsTrue(sparse)) {
    return Status(kCannotCreateIndex,
                  "cannot mix \"partialFilterExpression\" and \"sparse\" options");
  }
  bson::Builder out;
  out.Append("v", 2).Append("key", key).Append("name", name);
  for (std::string_view flag : {"unique", "sparse", "hidden", "prepareUnique"}) {
    if (IsTrue(spec[flag]) && !is_id) {
      out.Append(flag, true);
    }
  }
  if (bson::Value background = spec["background"]; !background.missing()) {
    out.Append("background", background);
  }
  if (bson::Value seconds = spec["expireAfterSeconds"]; !seconds.missing()) {
    RETURN_IF_ERROR(CheckTtl(seconds, key));
    out.Append("expireAfterSeconds", bson::IsNan(seconds) ? bson::Value(0) : seconds);
  }
  if (!partial.missing()) {
    expr::Context context;
    RETURN_IF_ERROR(expr::match::Filter::Parse(partial.AsDocument(), &context).status());
    out.Append("partialFilterExpression", partial);
  }
  if (bson::Value collation = spec["collation"]; !collation.missing()) {
    ASSIGN_OR_RETURN(auto collator, expr::Collator::Parse(collation.AsDocument()));
    if (collator != nullptr) {
      out.Append("collation", collator->spec());
    }
  } else if (default_collator != nullptr) {
    out.Append("collation", default_collator->spec());
  }
  for (std::string_view option :
       {"weights", "default_language", "language_override", "textIndexVersion",
        "2dsphereIndexVersion", "bits", "min", "max", "wildcardProjection", "storageEngine"}) {
    if (bson::Value value = spec[option]; !value.missing()) {
      out.Append(option, value);
    }
  }
  return out.Finish();
}

}  // namespace quire::engine
