// SPDX-License-Identifier: Apache-2.0
//
// 2dsphere indexes: their specs, their entries and the cells of a query.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/key_tuples.h"
#include "bson/path.h"
#include "expr/geo/geometry.h"
#include "expr/geo/shape.h"
#include "store/keys/index_kind.h"
#include "store/keys/kind_internal.h"
#include "store/keys/multikey.h"
#include "store/keys/special_keys.h"

namespace quire::store {

namespace {

using expr::geo::Area;
using expr::geo::KeyRange;
using expr::geo::Near;

constexpr IndexOption kOptions[] = {
    {"2dsphereIndexVersion", IndexOption::kNumber, "a number"},
    {"coarsestIndexedLevel", IndexOption::kNumber, "a number"},
    {"finestIndexedLevel", IndexOption::kNumber, "a number"},
};

Status CheckLevels(bson::View spec) {
  std::optional<int32_t> coarsest = WholeOption(spec, "coarsestIndexedLevel", 0);
  std::optional<int32_t> finest = WholeOption(spec, "finestIndexedLevel", 23);
  if (!coarsest || *coarsest < 0) {
    return {16747, "coarsestIndexedLevel must be >= 0"};
  }
  if (!finest || *finest > 30) {
    return {16748, "finestIndexedLevel must be <= 30"};
  }
  if (*finest < *coarsest) {
    return {16749, "finestIndexedLevel must be >= coarsestIndexedLevel"};
  }
  return Status::Ok();
}

Result<SpecialIndexSpec> NormaliseSphere(bson::View spec) {
  std::optional<int32_t> version = WholeOption(spec, "2dsphereIndexVersion", 3);
  if (!version || *version < 1 || *version > 3) {
    return RefusedIndex("unsupported geo index version { 2dsphereIndexVersion : " +
                        bson::ToJson(spec["2dsphereIndexVersion"]) +
                        " }, only support versions: [1,2,3]");
  }
  RETURN_IF_ERROR(CheckLevels(spec));
  SpecialIndexSpec out;
  out.key = bson::Document(spec["key"].AsDocument());
  out.options = bson::Builder().Append("2dsphereIndexVersion", *version).Finish();
  return out;
}

constexpr size_t kMostKeys = 100'000;

using Values = std::vector<bson::OwnedValue>;

bson::OwnedValue CellValue(uint64_t cell) {
  return bson::OwnedValue(bson::Value(static_cast<int64_t>(cell)));
}

bool IsNothing(const bson::Value& value) {
  return value.nullish() || value.missing() ||
         ((value.is_array() || value.is_document()) && value.AsDocument().empty());
}

// Arrays on the way to a location; the steps after the first one count too.
uint64_t ArraysOnTheWay(const IndexKeySpec& spec, size_t part, bson::View document) {
  uint64_t steps = 0;
  size_t next = 0;
  bson::GetPathOrArray(document, spec.paths[part], &next);
  for (size_t step = next; step < spec.paths[part].size(); ++step) {
    steps |= MultikeyBit(spec, part, step - 1);
  }
  return steps;
}

Status SphereCells(const IndexKeySpec& spec, size_t part, bson::View document, Values* out,
                   uint64_t* steps) {
  Status status = Status::Ok();
  std::vector<uint64_t> cells;
  bson::ForEachValue(document, spec.paths[part], {}, [&](const bson::Value& value) {
    if (IsNothing(value)) {
      return true;
    }
    auto geometry = expr::geo::Geometry::FromStored(value);
    if (!geometry.ok() && geometry.status().code() != kBadValue) {
      status = geometry.status();  // the operation is to end
    } else if (!geometry.ok()) {
      status = Status(16755, "Can't extract geo keys: " + geometry.status().message());
    } else if (!(*geometry)->spherical()) {
      status = Status(16755, "Can't extract geo keys: longitude/latitude is out of bounds: " +
                                 bson::ToJson(value));
    } else if ((*geometry)->big_polygon()) {
      status =
          Status(16755, "Can't extract geo keys: can't index geometry with strict winding order " +
                            bson::ToJson(value));
    } else if (auto more = (*geometry)->Cells(spec.special->levels); more.ok()) {
      cells.insert(cells.end(), more->begin(), more->end());
    } else {
      status = more.status();
    }
    return status.ok();
  });
  RETURN_IF_ERROR(status);
  *steps |= ArraysOnTheWay(spec, part, document);
  if (cells.size() > 1) {
    *steps |= MultikeyBit(spec, part, spec.paths[part].size() - 1);
  }
  for (uint64_t cell : cells) {
    out->push_back(CellValue(cell));
  }
  return Status::Ok();
}

Status PlainValues(const IndexKeySpec& spec, size_t part, bson::View document, Values* out,
                   uint64_t* steps) {
  uint64_t own = 0;
  RETURN_IF_ERROR(bson::ForEachKeyTuple(
      {spec.paths[part]}, document, &own,
      [&](std::span<const bson::Value> values, bool) { out->emplace_back(values[0]); }));
  for (size_t step = 0; step < spec.paths[part].size(); ++step) {
    if ((own >> std::min(step, kMultikeyBits - 1)) & 1) {
      *steps |= MultikeyBit(spec, part, step);
    }
  }
  return Status::Ok();
}

Status SphereKeys(const IndexKeySpec& spec, bson::View document, IndexKeySet* out) {
  std::vector<Values> choices(spec.parts.size());
  bool located = false;
  size_t combinations = 1;
  for (size_t i = 0; i < spec.parts.size(); ++i) {
    bool sphere = spec.parts[i].kind == &kSphereKind;
    auto fill = sphere ? SphereCells : PlainValues;
    RETURN_IF_ERROR(fill(spec, i, document, &choices[i], &out->multikey_steps));
    located = located || (sphere && !choices[i].empty());
    if (choices[i].empty()) {
      choices[i].emplace_back(bson::Value::Null());
    }
    combinations *= choices[i].size();
    if (combinations > kMostKeys) {
      return Status(kCannotBuildIndexKeys, "Too many keys of one document for an index");
    }
  }
  if (!located) {
    out->Clear();
    return Status::Ok();
  }
  std::vector<bson::Value> values(spec.parts.size());
  for (size_t number = 0; number < combinations; ++number) {
    size_t rest = number;
    for (size_t i = 0; i < choices.size(); ++i) {
      values[i] = choices[i][rest % choices[i].size()].value();
      rest /= choices[i].size();
    }
    out->keys.push_back(MakeKey(spec, values));
  }
  return Status::Ok();
}

bool CanCover(const Area& area) { return area.sphere() != nullptr; }
std::vector<KeyRange> Cover(const Area& area, const SpecialSpec&) {
  return area.sphere()->CellRanges();
}

bool Measures(const Near& near) { return near.sphere; }
std::vector<KeyRange> Ring(const Near& near, const SpecialSpec&, double min, double max) {
  const double radians = near.RadiansPerUnit();
  return expr::geo::RingCells(near.center, min * radians, max * radians);
}

constexpr CellKind kCells = {
    .value = CellValue,
    .can_cover = CanCover,
    .cover = Cover,
    .measures = Measures,
    .ring = Ring,
    .near_stage = "GEO_NEAR_2DSPHERE",
    .preferred = true,  // what is measured on the sphere is better looked for there
};

}  // namespace

constinit const IndexKindRow kSphereKind = {
    .name = "2dsphere",
    .holds = PartHolds::kMade,
    .options = kOptions,
    .normalise = NormaliseSphere,
    .takes_collation = true,
    .keys = SphereKeys,
    .cells = &kCells,
    .values_beside = true,
    .leaves_out = true,
    .knows_arrays = true,
};

}  // namespace quire::store
