// SPDX-License-Identifier: Apache-2.0
//
// What createIndexes checks and completes in the specs of indexes of special kinds
// (store/keys/index_kind.h).
#pragma once

#include <optional>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"
#include "store/catalog.h"
#include "store/keys/index_kind.h"

namespace quire::engine {

// Nothing for an index of plain or hashed values. `collated`: it would have a collation. Errors:
// CannotCreateIndex, and those of the kind.
// REQUIRES: the parts of the key are numbers or names of index kinds.
Result<std::optional<store::SpecialIndexSpec>> NormaliseSpecialIndex(bson::View spec,
                                                                     bool collated);

// CannotCreateIndex when a collection has one index of the kind, and there is another one.
Status CheckOnlyOneOfKind(const store::CollectionInfo& collection,
                          const std::vector<store::NewIndex>& fresh, bson::View spec);

}  // namespace quire::engine
