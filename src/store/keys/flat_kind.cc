// SPDX-License-Identifier: Apache-2.0
//
// 2d indexes: their specs, their entries and the cells of a query.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"
#include "bson/path.h"
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
    {"bits", IndexOption::kNumber, "a number"},
    {"min", IndexOption::kNumber, "a number"},
    {"max", IndexOption::kNumber, "a number"},
};

Status CheckFlatKey(bson::View key) {
  size_t found = 0;
  for (const bson::Element& part : key) {
    found += KindNameOf(part.value()) == "2d" ? 1 : 0;
  }
  if (found > 1) {
    return {16800, "can't have 2 geo fields"};
  }
  if (KindNameOf(key.front().value()) != "2d") {
    return {16801, "2d has to be first in index"};
  }
  return Status::Ok();
}

Result<SpecialIndexSpec> NormaliseFlat(bson::View spec) {
  bson::View key = spec["key"].AsDocument();
  RETURN_IF_ERROR(CheckFlatKey(key));
  auto number = [&](std::string_view name, double otherwise) {
    bson::Value value = spec[name];
    return value.is_number() ? bson::ToDouble(value) : otherwise;
  };
  double bits = number("bits", 26);
  if (!(bits >= 1 && bits <= 32)) {
    return Status(kInvalidOptions, "bits for hash must be > 0 and <= 32, but " +
                                       bson::ToJson(spec["bits"]) + " bits were specified");
  }
  double min = number("min", -180);
  double max = number("max", 180);
  if (!(min < max) || std::isinf(min) || std::isinf(max)) {
    return Status(kInvalidOptions, "region for hash must be valid and have positive area, but [" +
                                       std::to_string(min) + ", " + std::to_string(max) +
                                       "] was specified");
  }
  SpecialIndexSpec out;
  out.key = bson::Document(key);
  bson::Builder options;
  if (spec.Has("bits")) {
    options.Append("bits", static_cast<int32_t>(bits));
  }
  for (std::string_view name : {"min", "max"}) {
    if (spec.Has(name)) {
      options.Append(name, spec[name]);
    }
  }
  out.options = options.Finish();
  return out;
}

Result<uint64_t> CellOfPair(const expr::geo::FlatGrid& grid, bson::View pair) {
  double numbers[2];
  size_t count = 0;
  for (const bson::Element& element : pair) {
    if (count == 2) {
      break;
    }
    if (!element.value().is_number()) {
      return Status(13026, "geo values must be 'legacy coordinate pairs' for 2d indexes");
    }
    numbers[count++] = bson::ToDouble(element.value());
  }
  if (count < 2) {
    return Status(13068, "geo field only has 1 element");
  }
  return grid.CellOf({numbers[0], numbers[1]});
}

// The number, most significant byte first.
bson::OwnedValue CellValue(uint64_t cell) {
  constexpr uint8_t kSubtype = 128;
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(cell >> shift));
  }
  return bson::OwnedValue(bson::Value::Binary(std::string_view(bytes), kSubtype));
}

// The cells of a location or of an array of locations.
Status FlatCells(const expr::geo::FlatGrid& grid, bson::View location,
                 std::vector<uint64_t>* cells) {
  if (location.front().value().is_number()) {
    ASSIGN_OR_RETURN(uint64_t cell, CellOfPair(grid, location));
    cells->push_back(cell);
    return Status::Ok();
  }
  for (const bson::Element& element : location) {
    bson::Value value = element.value();
    if (!value.is_document() && !value.is_array()) {
      return Status(16804, "location object expected, location array not in correct format: " +
                               bson::ToJson(value));
    }
    if (!value.AsDocument().empty()) {
      ASSIGN_OR_RETURN(uint64_t cell, CellOfPair(grid, value.AsDocument()));
      cells->push_back(cell);
    }
  }
  return Status::Ok();
}

// All values at the path: null, the one there is, or an array of them.
bson::OwnedValue ValuesBesideFlat(const bson::FieldPath& path, bson::View document) {
  std::vector<bson::Value> values;
  bson::ForEachValue(document, path, {.expand_last = true}, [&](const bson::Value& value) {
    values.push_back(value);
    return true;
  });
  if (values.size() < 2) {
    return bson::OwnedValue(values.empty() ? bson::Value::Null() : values[0]);
  }
  std::sort(values.begin(), values.end(),
            [](const bson::Value& a, const bson::Value& b) { return bson::Compare(a, b) < 0; });
  bson::Builder array;
  array.BeginArray("");
  for (const bson::Value& value : values) {
    array.Push(value);
  }
  bson::Document held = array.End().Finish();
  return bson::OwnedValue(held.view().front().value());
}

Status FlatKeys(const IndexKeySpec& spec, bson::View document, IndexKeySet* out) {
  std::vector<uint64_t> cells;
  Status status = Status::Ok();
  bson::ForEachValue(document, spec.paths[0], {}, [&](const bson::Value& value) {
    if ((value.is_document() || value.is_array()) && !value.AsDocument().empty()) {
      status = FlatCells(spec.special->grid, value.AsDocument(), &cells);
    }
    return status.ok();
  });
  RETURN_IF_ERROR(status);
  std::vector<bson::OwnedValue> beside(spec.parts.size());
  std::vector<bson::Value> values(spec.parts.size());
  for (size_t i = 1; i < spec.parts.size(); ++i) {
    beside[i] = ValuesBesideFlat(spec.paths[i], document);
    values[i] = beside[i].value();
  }
  for (uint64_t cell : cells) {
    bson::OwnedValue value = CellValue(cell);
    values[0] = value.value();
    out->keys.push_back(MakeKey(spec, values));
  }
  if (cells.size() > 1) {
    out->multikey_steps |= MultikeyBit(spec, 0, spec.paths[0].size() - 1);
  }
  return Status::Ok();
}

bool CanCover(const Area& area) { return area.Bounds().has_value(); }
std::vector<KeyRange> Cover(const Area& area, const SpecialSpec& spec) {
  return spec.grid.Cover(*area.Bounds());
}

bool Measures(const Near& near) { return !near.geojson; }

Status CheckCenter(const Near& near, const SpecialSpec& spec) {
  return spec.grid.Holds(near.center) ? Status::Ok()
                                      : Status(16433, "point not in interval of the 2d index");
}

std::vector<KeyRange> Ring(const Near& near, const SpecialSpec& spec, double, double max) {
  if (near.sphere) {
    return spec.grid.Cover(expr::geo::BoxAround(near.center, max * near.RadiansPerUnit()));
  }
  return spec.grid.Cover(
      {{near.center.x - max, near.center.y - max}, {near.center.x + max, near.center.y + max}});
}

constexpr CellKind kCells = {
    .value = CellValue,
    .can_cover = CanCover,
    .cover = Cover,
    .measures = Measures,
    .ring = Ring,
    .near_stage = "GEO_NEAR_2D",
    .check_center = CheckCenter,
};

}  // namespace

constinit const IndexKindRow kFlatKind = {
    .name = "2d",
    .holds = PartHolds::kMade,
    .options = kOptions,
    .normalise = NormaliseFlat,
    .keys = FlatKeys,
    .cells = &kCells,
    .leaves_out = true,
};

}  // namespace quire::store
