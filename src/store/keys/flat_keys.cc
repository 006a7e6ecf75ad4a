// SPDX-License-Identifier: Apache-2.0
//
// The entries of 2d indexes.
#include <algorithm>
#include <string>
#include <vector>

#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"
#include "bson/path.h"
#include "store/keys/multikey.h"
#include "store/keys/special_keys.h"

namespace quire::store {

namespace {

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

}  // namespace

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
    bson::OwnedValue value = FlatCellValue(cell);
    values[0] = value.value();
    out->keys.push_back(MakeKey(spec, values));
  }
  if (cells.size() > 1) {
    out->multikey_steps |= MultikeyBit(spec, 0, spec.paths[0].size() - 1);
  }
  return Status::Ok();
}

bson::OwnedValue FlatCellValue(uint64_t cell) {
  constexpr uint8_t kSubtype = 128;
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(cell >> shift));
  }
  return bson::OwnedValue(bson::Value::Binary(std::string_view(bytes), kSubtype));
}

}  // namespace quire::store
