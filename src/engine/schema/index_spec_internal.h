// SPDX-License-Identifier: Apache-2.0
//
// The parts of checking an index spec (index_spec.cc puts them together).
#pragma once

#include <string>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"
#include "store/catalog.h"

namespace quire::engine {

// What kind of index a key pattern asks for.
struct KeyFacts {
  bool is_id = false;    // {_id: 1}
  bool hashed = false;   // some part is "hashed"
  bool text = false;     // some part is "text"
  bool geo = false;      // some part is "2d" or "2dsphere"
  std::string wildcard;  // the part that is "$**" or "a.$**"; "" when there is none
  size_t fields = 0;
};

// Errors: CannotCreateIndex for what no index can have as key, BadValue for a field given twice,
// 13103 for more than 32 fields, 31303 for two hashed ones, 7246201 for two wildcards.
Result<KeyFacts> CheckIndexKey(bson::View key, int version);

// wildcardProjection against the key: BadValue without a wildcard, FailedToParse beside "a.$**",
// and for compound ones whether it leaves out the other fields (7246209).
Status CheckWildcard(const KeyFacts& facts, bson::View key, const bson::Value& projection);

// Each field of a spec is known and has the right type.
Status CheckIndexOptions(bson::View spec);

// Only what a partial index may ask: CannotCreateIndex for other operators.
Status CheckPartialFilter(bson::View filter);

// The (normalised) specs that the collection does not have yet. Errors: 86 for a name that
// another index has, 85 for an index that is there under another name or with other options.
Result<std::vector<store::NewIndex>> MissingIndexes(const store::CollectionInfo& collection,
                                                    std::vector<bson::Document> specs);

}  // namespace quire::engine
