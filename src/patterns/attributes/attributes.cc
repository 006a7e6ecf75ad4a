// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/attributes.h"

#include <algorithm>
#include <set>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/walk.h"
#include "quire/patterns/names.h"

namespace quire::patterns {

namespace {

using bson::Document;
using bson::OwnedValue;

constexpr char kProducts[] = "products";

OwnedValue AsArray(const bson::Document& elements) {
  return OwnedValue(bson::Value::Array(elements.view()));
}

// One element of an array encoding as name and value.
Result<std::pair<std::string, OwnedValue>> DecodeElement(const bson::Value& element,
                                                         AttributeEncoding encoding) {
  const bool pairs = encoding == AttributeEncoding::kPairs;
  if (pairs ? !element.is_array() : !element.is_document()) {
    return MakeError(Error::kWrongType, bson::ToJson(element));
  }
  bson::View fields = element.AsDocument();
  bson::Value name = fields[pairs ? "0" : "k"];
  bson::Value value = fields[pairs ? "1" : "v"];
  if (!name.is_string() || value.missing()) {
    return MakeError(Error::kWrongType, bson::ToJson(element));
  }
  return std::pair<std::string, OwnedValue>(name.AsString(), value);
}

}  // namespace

Result<OwnedValue> EncodeAttributes(const Attributes& attributes, AttributeEncoding encoding) {
  std::set<std::string_view> seen;
  bson::Builder document;
  std::vector<Array> pairs;
  std::vector<Document> keyed;
  for (const auto& [name, value] : attributes) {
    ASSIGN_OR_RETURN(std::string field, EncodeName(name));
    if (!seen.insert(name).second) {
      return MakeError(Error::kNameClash, name);
    }
    document.Append(field, value.value());
    pairs.push_back(List(name, value));
    keyed.push_back(Doc("k", name, "v", value));
  }
  switch (encoding) {
    case AttributeEncoding::kPairs:
      return AsArray(ListOf(pairs).elements);
    case AttributeEncoding::kKeyValue:
      return AsArray(ListOf(keyed).elements);
    case AttributeEncoding::kDocument:
      break;
  }
  Document fields = document.Finish();
  return OwnedValue(bson::Value(fields.view()));
}

Result<Attributes> DecodeAttributes(const bson::Value& properties, AttributeEncoding encoding) {
  Attributes attributes;
  if (encoding == AttributeEncoding::kDocument ? !properties.is_document()
                                               : !properties.is_array()) {
    return MakeError(Error::kWrongType, bson::ToJson(properties));
  }
  for (const bson::Element& element : properties.AsDocument()) {
    if (encoding == AttributeEncoding::kDocument) {
      attributes.emplace_back(DecodeName(element.name()), element.value());
    } else {
      ASSIGN_OR_RETURN(auto attribute, DecodeElement(element.value(), encoding));
      attributes.push_back(std::move(attribute));
    }
  }
  return attributes;
}

AttributeCatalog::AttributeCatalog(const Client& client, std::string_view database,
                                   AttributeEncoding encoding, std::vector<std::string> known,
                                   const Seams& seams)
    : store_(client, database, seams), calls_(store_, "attributes"), encoding_(encoding) {
  for (const std::string& name : known) {
    if (auto field = EncodeName(name); field.ok()) {
      Document keys = Doc("properties." + *field, 1);
      known_keys_.push_back(bson::ToJson(keys.view()));
    }
  }
}

std::vector<IndexSpec> AttributeCatalog::Indexes() const {
  switch (encoding_) {
    case AttributeEncoding::kPairs:
      return {{kProducts, R"({"properties": 1})"}, Idempotency::Index()};
    case AttributeEncoding::kKeyValue:
      return {{kProducts, R"({"properties.k": 1, "properties.v": 1})"}, Idempotency::Index()};
    case AttributeEncoding::kDocument:
      break;
  }
  std::vector<IndexSpec> indexes;
  for (const std::string& keys : known_keys_) {
    indexes.push_back({kProducts, keys});
  }
  indexes.push_back(Idempotency::Index());
  return indexes;
}

const std::vector<ShardKeySpec>& AttributeCatalog::ShardKeys() {
  static const std::vector<ShardKeySpec> kKeys = {{kProducts, R"({"_id": "hashed"})"},
                                                  Idempotency::ShardKey()};
  return kKeys;
}

Status AttributeCatalog::Put(std::string_view id, const Attributes& attributes,
                             const CallKey& key) const {
  ASSIGN_OR_RETURN(OwnedValue properties, EncodeAttributes(attributes, encoding_));
  return calls_.DoOnce("attributes.put", key, Doc("id", id, "properties", properties),
                       [&](const Claim& claim) { return PutOnce(id, properties, claim); });
}

Status AttributeCatalog::PutOnce(std::string_view id, const OwnedValue& properties,
                                 const Claim& claim) const {
  const Document product = Unmarked(Doc("_id", id), claim);
  const Document update = Marking(Doc("$set", Doc("properties", properties)), claim);
  Status status = store_.UpdateOne(kProducts, product, update, true).status();
  if (IsDuplicateKey(status)) {  // done already, or another Put made it between: replace that
    status = store_.UpdateOne(kProducts, product, update).status();
  }
  RETURN_IF_ERROR(status);
  return store_.seams().After("attributes.put.c1");
}

Result<Attributes> AttributeCatalog::Get(std::string_view id) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kProducts, Doc("_id", id)));
  if (!found) {
    return MakeError(Error::kNotFound, id);
  }
  return DecodeAttributes((*found)["properties"], encoding_);
}

// The one value, and not the element of an array or what has no value: as pairs compare.
Result<Document> AttributeCatalog::EqualityFilter(std::string_view name,
                                                  const bson::Value& value) const {
  ASSIGN_OR_RETURN(std::string field, EncodeName(name));
  const Document element = Doc("$elemMatch", Doc("$eq", value));
  switch (encoding_) {
    case AttributeEncoding::kPairs:
      return Doc("properties", List(name, value));
    case AttributeEncoding::kKeyValue:
      return Doc("properties",
                 Doc("$elemMatch", Doc("k", name, "v", Doc("$eq", value, "$not", element))));
    case AttributeEncoding::kDocument:
      break;
  }
  return Doc("properties." + field, Doc("$eq", value, "$exists", true, "$not", element));
}

Result<Document> AttributeCatalog::RangeFilter(std::string_view name, const bson::Value& lo,
                                               const bson::Value& hi) const {
  ASSIGN_OR_RETURN(std::string field, EncodeName(name));
  const Document range = Doc("$gte", lo, "$lt", hi, "$not", Doc("$type", "array"));
  switch (encoding_) {
    case AttributeEncoding::kPairs:
      return Doc("properties",
                 Doc("$elemMatch", Doc("$gte", List(name, lo), "$lt", List(name, hi))));
    case AttributeEncoding::kKeyValue:
      return Doc("properties", Doc("$elemMatch", Doc("k", name, "v", range)));
    case AttributeEncoding::kDocument:
      break;
  }
  return Doc("properties." + field, range);
}

Result<std::vector<std::string>> AttributeCatalog::Ids(const Result<Document>& filter) const {
  RETURN_IF_ERROR(filter.status());
  ASSIGN_OR_RETURN(auto found, store_.Find(kProducts, *filter, {.projection = Doc("_id", 1)}));
  std::vector<std::string> ids;
  for (const Document& product : found) {
    ids.emplace_back(TextAt(product, "_id"));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

Result<std::vector<std::string>> AttributeCatalog::FindByAttribute(std::string_view name,
                                                                   const bson::Value& value) const {
  return Ids(EqualityFilter(name, value));
}

Result<std::vector<std::string>> AttributeCatalog::FindByRange(std::string_view name,
                                                               const bson::Value& lo,
                                                               const bson::Value& hi) const {
  return Ids(RangeFilter(name, lo, hi));
}

Result<std::vector<std::string>> AttributeCatalog::CheckInvariants() const {
  std::vector<std::string> wrong;
  auto check = [&](const Document& product) {
    auto attributes = DecodeAttributes(product["properties"], encoding_);
    Status status =
        attributes.ok() ? EncodeAttributes(*attributes, encoding_).status() : attributes.status();
    if (!status.ok()) {
      wrong.push_back(std::string(TextAt(product, "_id")) + ": " + status.message());
    }
    return Status::Ok();
  };
  RETURN_IF_ERROR(Walk(store_, kProducts, check));
  return wrong;
}

}  // namespace quire::patterns
