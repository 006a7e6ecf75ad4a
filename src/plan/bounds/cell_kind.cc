// SPDX-License-Identifier: Apache-2.0
#include "plan/bounds/cell_kind.h"

#include "expr/geo/geometry.h"
#include "store/keys/special_keys.h"

namespace quire::plan {

namespace {

using expr::geo::Area;
using expr::geo::KeyRange;
using store::IndexKeySpec;

bool IsOnSphere(const Area& area) { return area.sphere() != nullptr; }
std::vector<KeyRange> SphereCells(const Area& area, const IndexKeySpec&) {
  return area.sphere()->CellRanges();
}

bool IsBounded(const Area& area) { return area.Bounds().has_value(); }
std::vector<KeyRange> GridCells(const Area& area, const IndexKeySpec& keys) {
  return keys.special->grid.Cover(*area.Bounds());
}

constexpr CellKindRow kRows[] = {
    {IndexKeySpec::Kind::kSphere, IsOnSphere, SphereCells},
    {IndexKeySpec::Kind::kFlat, IsBounded, GridCells},
};

}  // namespace

const CellKindRow* FindCellKind(IndexKeySpec::Kind kind) {
  for (const CellKindRow& row : kRows) {
    if (row.kind == kind) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace quire::plan
