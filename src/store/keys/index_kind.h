// SPDX-License-Identifier: Apache-2.0
//
// The kinds that a part of an index can have, as rows: what its pattern says, what its keys are
// made of, and what follows from that. How cells are planned with is in plan/bounds/cell_kind.h,
// what createIndexes checks in engine/schema/special_index_spec.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"
#include "store/keys/index_key.h"

namespace quire::store {

// What a key has at the part.
enum class PartHolds {
  kValue,  // the document's value, in MongoDB's order
  kHash,   // its hash: one value, no arrays
  kMade,   // something made of the document; the index has a SpecialSpec
};

struct IndexKindRow {
  IndexKeySpec::Kind kind;
  std::string_view name;  // in the pattern; "" for 1 and -1
  PartHolds holds;
  // Of kMade: the keys of an index with such a part, not sorted yet. When an index has parts of
  // several kinds, the kind whose row comes first makes them.
  Status (*keys)(const IndexKeySpec& spec, bson::View document, IndexKeySet* out) = nullptr;
  // Whether a change at a path that no part has may change the entries; null: it never does.
  bool (*depends_on)(const SpecialSpec& spec, std::string_view path) = nullptr;
  // Of a kind whose keys are cells: what the part holds for one; null in others.
  bson::OwnedValue (*cell)(uint64_t number) = nullptr;
  // The other parts hold values as in any index, so that bounds can be made for them.
  bool values_beside = false;
  // A document in which the part finds nothing has no entry.
  bool leaves_out = false;
  // It is known where arrays were met.
  bool knows_arrays = false;
};

const IndexKindRow& RowOf(IndexKeySpec::Kind kind);
// The row of a name in a pattern ("hashed"); null when there is none.
const IndexKindRow* FindIndexKind(std::string_view name);
// The row of the part that makes the keys of an index with a SpecialSpec; null when it holds
// nothing.
const IndexKindRow* MakerOf(const IndexKeySpec& spec);

}  // namespace quire::store
