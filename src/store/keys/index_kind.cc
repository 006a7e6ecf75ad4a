// SPDX-License-Identifier: Apache-2.0
#include "store/keys/index_kind.h"

#include <algorithm>
#include <iterator>

#include "store/keys/special_keys.h"

namespace quire::store {

namespace {

using Kind = IndexKeySpec::Kind;

constexpr IndexKindRow kRows[] = {
    {.kind = Kind::kOrdered,
     .name = "",
     .holds = PartHolds::kValue,
     .values_beside = true,
     .knows_arrays = true},
    {.kind = Kind::kHashed,
     .name = "hashed",
     .holds = PartHolds::kHash,
     .values_beside = true,
     .knows_arrays = true},
    {.kind = Kind::kText,
     .name = "text",
     .holds = PartHolds::kMade,
     .keys = TextKeys,
     .depends_on = TextDependsOn,
     .leaves_out = true},
    {.kind = Kind::kFlat,
     .name = "2d",
     .holds = PartHolds::kMade,
     .keys = FlatKeys,
     .cell = FlatCellValue,
     .leaves_out = true},
    {.kind = Kind::kSphere,
     .name = "2dsphere",
     .holds = PartHolds::kMade,
     .keys = SphereKeys,
     .cell = SphereCellValue,
     .values_beside = true,
     .leaves_out = true,
     .knows_arrays = true},
};

bool HasPart(const IndexKeySpec& spec, Kind kind) {
  return std::any_of(spec.parts.begin(), spec.parts.end(),
                     [&](const auto& part) { return part.kind == kind; });
}

}  // namespace

const IndexKindRow& RowOf(Kind kind) {
  return *std::find_if(std::begin(kRows), std::end(kRows),
                       [&](const IndexKindRow& row) { return row.kind == kind; });
}

const IndexKindRow* FindIndexKind(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kRows), std::end(kRows),
                   [&](const IndexKindRow& row) { return !row.name.empty() && row.name == name; });
  return found == std::end(kRows) ? nullptr : found;
}

const IndexKindRow* MakerOf(const IndexKeySpec& spec) {
  const auto* found =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const IndexKindRow& row) {
        return row.holds == PartHolds::kMade && HasPart(spec, row.kind);
      });
  return found == std::end(kRows) ? nullptr : found;
}

}  // namespace quire::store
