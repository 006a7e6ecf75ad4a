// SPDX-License-Identifier: Apache-2.0
//
// Checking and completing the index specs of createIndexes.
#include <cmath>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/json/value_text.h"
#include "bson/number.h"
#include "engine/schema/index_spec_internal.h"
#include "engine/schema/schema.h"
#include "engine/schema/special_index_spec.h"

namespace quire::engine {

namespace {

bool IsTrue(const bson::Value& value) {
  return value.type() == bson::Type::kBool ? value.AsBool()
                                           : value.is_number() && bson::ToDouble(value) != 0;
}

Result<int> VersionOf(bson::View spec) {
  bson::Value v = spec["v"];
  if (v.missing()) {
    return 2;
  }
  if (!bson::IsIntegral(v)) {
    return Status(kBadValue, "Index version must be representable as a 32-bit integer, but got " +
                                 bson::ValueText(v));
  }
  int64_t version = bson::ClampedInt64(v);
  if (version != 1 && version != 2) {
    return Status(kCannotCreateIndex,
                  "Invalid index specification " + bson::DocumentText(spec) +
                      "; cannot create an index with v=" + std::to_string(version));
  }
  return static_cast<int>(version);
}

Status CheckName(std::string_view name, const KeyFacts& facts, bson::View key) {
  if (name.empty()) {
    return {kCannotCreateIndex, "index name cannot be empty"};
  }
  if (name == "*") {
    return {kBadValue, "The index name '*' is not valid."};
  }
  if (name.find('\0') != std::string_view::npos) {
    return {kCannotCreateIndex, "index name cannot contain NUL bytes"};
  }
  if (name == "_id_" && !facts.is_id) {
    return {kBadValue,
            "The index name '_id_' is reserved for the _id index, which must have key pattern "
            "{_id: 1}, found key: " +
                bson::DocumentText(key)};
  }
  return Status::Ok();
}

Status CheckIdIndex(bson::View spec) {
  for (const bson::Element& e : spec) {
    std::string_view name = e.name();
    if (name != "v" && name != "key" && name != "name" && name != "ns" && name != "collation" &&
        name != "unique" && name != "background" && name != "clustered") {
      return {kInvalidIndexSpecificationOption,
              "The field '" + std::string(name) +
                  "' is not valid for an _id index specification. Specification: " +
                  bson::DocumentText(spec)};
    }
  }
  return Status::Ok();
}

Status CheckTtl(const bson::Value& seconds, const KeyFacts& facts) {
  constexpr double kMost = 2147483647;
  if (!seconds.is_number()) {
    return {kCannotCreateIndex,
            "TTL index 'expireAfterSeconds' option must be numeric, but received a type of '" +
                std::string(bson::TypeName(seconds.type())) + "'"};
  }
  double n = bson::ToDouble(seconds);
  if (std::isnan(n) || n < 0 || n > kMost) {
    return {kCannotCreateIndex,
            "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a "
            "number between 0 and 2147483647."};
  }
  if (facts.fields > 1) {
    return {kCannotCreateIndex,
            "TTL indexes are single-field indexes, compound indexes do not support TTL."};
  }
  return Status::Ok();
}

// Options that a kind of index refuses.
Status CheckKindOptions(bson::View spec, const KeyFacts& facts, int version) {
  if (!facts.wildcard.empty()) {
    for (std::string_view option : {"unique", "sparse"}) {
      if (IsTrue(spec[option])) {
        return {kCannotCreateIndex,
                "Index type 'wildcard' does not support the " + std::string(option) + " option"};
      }
    }
    if (spec.Has("expireAfterSeconds")) {
      return {kCannotCreateIndex, "Index type 'wildcard' cannot be a TTL index"};
    }
    if (version < 2) {
      return {kCannotCreateIndex,
              "Invalid index specification; cannot create a 'wildcard' index with v=1"};
    }
  }
  if (facts.hashed && IsTrue(spec["unique"])) {
    return {16764, "Currently hashed indexes cannot guarantee uniqueness. Use a regular index."};
  }
  if (spec.Has("weights") && !facts.text) {
    return {kCannotCreateIndex, "The field 'weights' is only allowed in a 'text' index"};
  }
  if (spec.Has("partialFilterExpression") && IsTrue(spec["sparse"])) {
    return {kCannotCreateIndex, "cannot mix \"partialFilterExpression\" and \"sparse\" options"};
  }
  return Status::Ok();
}

Result<std::shared_ptr<const expr::Collator>> CollatorOf(const bson::Value& collation,
                                                         int version) {
  if (collation.AsDocument().empty()) {
    return Status(kBadValue, "The field 'collation' cannot be an empty object.");
  }
  if (version < 2) {
    return Status(kCannotCreateIndex,
                  "Invalid index specification; cannot create an index with "
                  "the 'collation' option and v=1");
  }
  return expr::Collator::Parse(collation.AsDocument());
}

// The options in the order they were given, after v, key and name.
Status AppendOptions(bson::View spec, int version, bool is_id, bson::View special,
                     const expr::Collator* default_collator, bson::Builder* out) {
  for (const bson::Element& e : spec) {
    std::string_view name = e.name();
    bool dropped = special.Has(name) || name == "v" || name == "key" || name == "name" ||
                   name == "ns" || name == "dropDups" || name == "clustered" ||
                   name == "bucketSize";
    if (dropped) {
      continue;
    }
    if (name == "unique" || name == "hidden" || name == "prepareUnique" || name == "sparse") {
      if (IsTrue(e.value()) && !is_id) {
        out->Append(name, true);
      }
    } else if (name == "expireAfterSeconds") {
      out->Append(name, static_cast<int32_t>(bson::ClampedInt64(e.value())));
    } else if (name == "collation") {
      ASSIGN_OR_RETURN(auto collator, CollatorOf(e.value(), version));
      if (collator != nullptr) {
        out->Append(name, collator->spec());
      }
    } else {
      out->Append(e);
    }
  }
  if (!spec.Has("collation") && default_collator != nullptr && version > 1) {
    out->Append("collation", default_collator->spec());
  }
  out->AppendFields(special);
  return Status::Ok();
}

Result<bool> HasCollation(bson::View spec, int version, const expr::Collator* default_collator) {
  if (!spec.Has("collation")) {
    return default_collator != nullptr && version > 1;
  }
  ASSIGN_OR_RETURN(auto collator, CollatorOf(spec["collation"], version));
  return collator != nullptr;
}

Result<bson::Document> Normalise(bson::View spec, const expr::Collator* default_collator) {
  RETURN_IF_ERROR(CheckIndexOptions(spec));
  for (std::string_view field : {"key", "name"}) {
    if (!spec.Has(field)) {
      return Status(kFailedToParse, "The '" + std::string(field) +
                                        "' field is a required property of an index "
                                        "specification");
    }
  }
  bson::View key = spec["key"].AsDocument();
  std::string_view name = spec["name"].AsString();
  ASSIGN_OR_RETURN(int version, VersionOf(spec));
  ASSIGN_OR_RETURN(KeyFacts facts, CheckIndexKey(key, version));
  RETURN_IF_ERROR(CheckName(name, facts, key));
  RETURN_IF_ERROR(CheckWildcard(facts, key, spec["wildcardProjection"]));
  if (facts.is_id) {
    RETURN_IF_ERROR(CheckIdIndex(spec));
    name = "_id_";
  }
  RETURN_IF_ERROR(CheckKindOptions(spec, facts, version));
  if (bson::Value seconds = spec["expireAfterSeconds"]; !seconds.missing()) {
    RETURN_IF_ERROR(CheckTtl(seconds, facts));
  }
  if (bson::Value partial = spec["partialFilterExpression"]; !partial.missing()) {
    RETURN_IF_ERROR(CheckPartialFilter(partial.AsDocument()));
  }
  ASSIGN_OR_RETURN(bool collated, HasCollation(spec, version, default_collator));
  ASSIGN_OR_RETURN(auto special, NormaliseSpecialIndex(spec, collated));
  bson::Builder out;
  out.Append("v", version).Append("key", special ? special->key.view() : key).Append("name", name);
  bson::View options = special ? special->options.view() : bson::View();
  RETURN_IF_ERROR(AppendOptions(spec, version, facts.is_id, options, default_collator, &out));
  return out.Finish();
}

}  // namespace

Result<bson::Document> NormaliseIndexSpec(bson::View spec, const expr::Collator* default_collator) {
  Result<bson::Document> normal = Normalise(spec, default_collator);
  if (!normal.ok()) {
    return normal.status().WithPrefix("Error in specification " + bson::DocumentText(spec) +
                                      " :: caused by :: ");
  }
  return normal;
}

}  // namespace quire::engine
