// SPDX-License-Identifier: Apache-2.0
//
// The kinds that a part of an index can have, as rows: what its pattern says, what createIndexes
// checks, what its keys are made of, which predicates it answers and what explain calls that. A
// kind's row stands in the file of the kind.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"
#include "store/keys/index_key.h"

namespace quire::expr::geo {
class Area;
struct KeyRange;
struct Near;
}  // namespace quire::expr::geo

namespace quire::store {

// What a key has at the part.
enum class PartHolds {
  kValue,  // the document's value, in MongoDB's order
  kHash,   // its hash: one value, no arrays
  kMade,   // something made of the document; the index has a SpecialSpec
};

// A field that an index spec may have, whatever the kind of the index.
struct IndexOption {
  std::string_view name;
  enum Type { kBool, kStrictBool, kNumber, kDocument, kString, kAny } type;
  std::string_view wanted;  // in the message for a wrong type
};

// An index spec as it is stored.
struct SpecialIndexSpec {
  bson::Document key;      // {_fts: "text", _ftsx: 1} for a text index
  bson::Document options;  // fields of the kind, complete with their defaults
};

// Of a kind whose keys are cells of a plane or a sphere.
struct CellKind {
  // What the part holds for a cell.
  bson::OwnedValue (*value)(uint64_t cell);
  // Whether cells can cover the area of a predicate.
  bool (*can_cover)(const expr::geo::Area& area);
  // The ranges of cells that cover the area. REQUIRES: can_cover.
  std::vector<expr::geo::KeyRange> (*cover)(const expr::geo::Area& area, const SpecialSpec& spec);
  // Whether the kind measures the distances that a $near asks for.
  bool (*measures)(const expr::geo::Near& near);
  // The cells with all places between two distances, in the query's unit. REQUIRES: measures.
  std::vector<expr::geo::KeyRange> (*ring)(const expr::geo::Near& near, const SpecialSpec& spec,
                                           double min, double max);
  std::string_view near_stage;  // explain's name for a $near by the kind
  // What is wrong with the center of a $near; null: nothing can be.
  Status (*check_center)(const expr::geo::Near& near, const SpecialSpec& spec) = nullptr;
  // When both a kind that has this and one that has not could answer a $near, the first does.
  bool preferred = false;
};

struct IndexKindRow {
  std::string_view name;  // in the pattern; "" for 1 and -1
  PartHolds holds;
  std::span<const IndexOption> options = {};
  // Of kMade, checking and completing a spec for createIndexes. REQUIRES: the parts of the key are
  // numbers or names of kinds.
  Result<SpecialIndexSpec> (*normalise)(bson::View spec) = nullptr;
  bool takes_collation = false;     // of kMade
  bool one_per_collection = false;  // of kMade
  // Of kMade: the keys of an index with such a part, not sorted yet. When an index has parts of
  // several kinds, the kind that is first in the table makes them.
  Status (*keys)(const IndexKeySpec& spec, bson::View document, IndexKeySet* out) = nullptr;
  // Whether a change at a path that no part has may change the entries; null: it never does.
  bool (*depends_on)(const SpecialSpec& spec, std::string_view path) = nullptr;
  const CellKind* cells = nullptr;  // null in kinds whose keys are none
  // The other parts hold values as in any index, so that bounds can be made for them.
  bool values_beside = false;
  // A document in which the part finds nothing has no entry.
  bool leaves_out = false;
  // The catalog knows where arrays were met.
  bool knows_arrays = false;
};

// All there are, in the order in which $geoNear without a key looks for one.
std::span<const IndexKindRow* const> IndexKinds();
// The row of a name in a pattern ("hashed"); null when there is none.
const IndexKindRow* FindIndexKind(std::string_view name);
// The kind of the part that makes the keys of an index with a SpecialSpec; null when it holds
// nothing.
const IndexKindRow* MakerOf(const IndexKeySpec& spec);

}  // namespace quire::store
