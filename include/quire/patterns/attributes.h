// SPDX-License-Identifier: Apache-2.0
//
// Free-form attributes that can be searched, in three encodings.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/patterns/error.h"
#include "quire/patterns/idempotency.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

enum class AttributeEncoding {
  kDocument,  // {"Seek Time": "5ms"}: one index per name that is known beforehand
  kPairs,     // [["Seek Time", "5ms"], ...]: one index for equality; ranges read everything
  kKeyValue,  // [{k: "Seek Time", v: "5ms"}, ...]: one index for equality and ranges
};

// In the order given; a name occurs once.
using Attributes = std::vector<std::pair<std::string, bson::OwnedValue>>;

// The value of the field `properties`. Errors: InvalidName (empty), NameClash (a name twice).
Result<bson::OwnedValue> EncodeAttributes(const Attributes& attributes, AttributeEncoding encoding);
// The attributes again. Error: WrongType when the value is not of that encoding.
Result<Attributes> DecodeAttributes(const bson::Value& properties, AttributeEncoding encoding);

// Documents: products {_id, properties, marks}; idempotency; jobs. Safe for concurrent use.
class AttributeCatalog {
 public:
  // `known` are the names that get an index each with kDocument; the others need none.
  AttributeCatalog(const Client& client, std::string_view database, AttributeEncoding encoding,
                   std::vector<std::string> known = {}, const Seams& seams = {});

  std::vector<IndexSpec> Indexes() const;
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes());
  }

  // Stores or replaces the attributes of a product. Errors as in EncodeAttributes.
  Status Put(std::string_view id, const Attributes& attributes,
             const CallKey& key = std::nullopt) const;
  // Error: NotFound.
  Result<Attributes> Get(std::string_view id) const;

  // The ids of the products with that attribute equal to `value`, or in [lo, hi), sorted. An array
  // equals only an array, and is in no range of values that are none. REQUIRES: lo and hi are of
  // one type.
  Result<std::vector<std::string>> FindByAttribute(std::string_view name,
                                                   const bson::Value& value) const;
  Result<std::vector<std::string>> FindByRange(std::string_view name, const bson::Value& lo,
                                               const bson::Value& hi) const;

  // The filters those two run. Error: InvalidName.
  Result<bson::Document> EqualityFilter(std::string_view name, const bson::Value& value) const;
  Result<bson::Document> RangeFilter(std::string_view name, const bson::Value& lo,
                                     const bson::Value& hi) const;

  // Forgets keys first used `options.retention` ago. skipped is 1 while another worker does.
  Result<JobReport> PurgeKeys(const PurgeOptions& options = {}) const {
    return calls_.Purge(options);
  }

  // What is wrong, a line each: attributes that are not in the encoding, names twice.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  Result<std::vector<std::string>> Ids(const Result<bson::Document>& filter) const;
  Status PutOnce(std::string_view id, const bson::OwnedValue& properties, const Claim& claim) const;

  Store store_;
  Idempotency calls_;
  AttributeEncoding encoding_;
  std::vector<std::string> known_keys_;  // of the indexes over known names, as JSON
};

}  // namespace quire::patterns
