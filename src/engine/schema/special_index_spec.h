// SPDX-License-Identifier: Apache-2.0
//
// What createIndexes checks and completes in the specs of text, 2dsphere and 2d indexes.
#pragma once

#include <optional>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"
#include "store/catalog.h"

namespace quire::engine {

struct SpecialIndexSpec {
  bson::Document key;      // as it is stored: {_fts: "text", _ftsx: 1} for a text index
  bson::Document options;  // fields of their own, complete with their defaults
};

// Nothing for an index of another kind. `collated`: it would have a collation. Errors:
// CannotCreateIndex, TypeMismatch, InvalidOptions, 16747 to 16749 for levels of cells, 16800 and
// 16801 for misplaced 2d fields.
// REQUIRES: the parts of the key are numbers or names of index kinds.
Result<std::optional<SpecialIndexSpec>> NormaliseSpecialIndex(bson::View spec, bool collated);

// CannotCreateIndex when `spec` is a text index and there is another one.
Status CheckOnlyTextIndex(const store::CollectionInfo& collection,
                          const std::vector<store::NewIndex>& fresh, bson::View spec);

}  // namespace quire::engine
