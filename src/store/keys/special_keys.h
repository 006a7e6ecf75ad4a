// SPDX-License-Identifier: Apache-2.0
//
// The entries of text, 2dsphere and 2d indexes. A key has one value for each part of the pattern,
// as in any index, but these are not values of the document:
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
#include "quire/status.h"
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

// As IndexKeys. REQUIRES: spec.special, and a part of the kind. Errors besides those of IndexKeys:
// 16755 for what is no geometry, 13026, 13027, 13068 and 16804 for what is no location of a 2d
// index, 16675 for an array beside the text, 17261 and 17262 for a bad language.
Status TextKeys(const IndexKeySpec& spec, bson::View document, IndexKeySet* out);
Status SphereKeys(const IndexKeySpec& spec, bson::View document, IndexKeySet* out);
Status FlatKeys(const IndexKeySpec& spec, bson::View document, IndexKeySet* out);

// Whether a change at the dotted path may change the entries. REQUIRES: a text index.
bool TextDependsOn(const SpecialSpec& spec, std::string_view path);

// The term as the index holds it: long ones are cut and told apart by a hash.
std::string IndexedTerm(const std::string& term);

// What a part of a 2dsphere or 2d index holds for a cell.
bson::OwnedValue SphereCellValue(uint64_t cell);
bson::OwnedValue FlatCellValue(uint64_t cell);

}  // namespace quire::store
