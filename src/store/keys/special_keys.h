// SPDX-License-Identifier: Apache-2.0
//
// The kinds of indexes whose keys are made of documents: text, 2dsphere and 2d. A key has one value
// for each part of the pattern, as in any index, but these are not values of the document:
//
//   text      {a: 1, _fts: "text", _ftsx: 1}   a's value, a stemmed term, the term's score (double)
//   2dsphere  {a: 1, b: "2dsphere"}            a's value, the id of an S2 cell (64-bit integer)
//   2d        {a: "2d", b: 1}                  the cell of the grid (8 bytes of binary subtype 128,
//                                              most significant first), b's value or values
//
// A document without terms or without a location has no entry.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "expr/geo/cells.h"
#include "expr/text/text.h"
#include "quire/bson.h"
#include "store/keys/index_key.h"

namespace quire::store {

// The options of a special index. Immutable.
struct SpecialSpec {
  expr::text::IndexSpec text;
  expr::geo::FlatGrid grid;
  expr::geo::CellLevels levels;
};

// Null for an index whose keys are values of the document. `spec` is as listIndexes shows it.
std::shared_ptr<const SpecialSpec> SpecialSpecOf(bson::View spec);

// Errors of their keys besides those of IndexKeys: 16755 for what is no geometry, 13026, 13027,
// 13068 and 16804 for what is no location of a 2d index, 16675 for an array beside the text, 17261
// and 17262 for a bad language.
// Errors of their specs: CannotCreateIndex, TypeMismatch, InvalidOptions, 16747 to 16749 for levels
// of cells, 16800 and 16801 for misplaced 2d fields.
extern const IndexKindRow kTextKind;
extern const IndexKindRow kSphereKind;
extern const IndexKindRow kFlatKind;

// The term as the index holds it: long ones are cut and told apart by a hash.
std::string IndexedTerm(const std::string& term);

}  // namespace quire::store
