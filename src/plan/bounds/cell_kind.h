// SPDX-License-Identifier: Apache-2.0
//
// The kinds of index parts whose keys are cells of a plane or a sphere, as rows: which predicates
// they answer, and by which cells.
#pragma once

#include <vector>

#include "expr/geo/flat.h"
#include "expr/geo/shape.h"
#include "store/keys/index_key.h"

namespace quire::plan {

struct CellKindRow {
  store::IndexKeySpec::Kind kind;
  // Whether cells can cover the area.
  bool (*can_cover)(const expr::geo::Area& area);
  // Those that do. REQUIRES: can_cover.
  std::vector<expr::geo::KeyRange> (*cover)(const expr::geo::Area& area,
                                            const store::IndexKeySpec& keys);
};

// Null for kinds without cells.
const CellKindRow* FindCellKind(store::IndexKeySpec::Kind kind);

}  // namespace quire::plan
