// SPDX-License-Identifier: Apache-2.0
//
// The entries of 2dsphere indexes.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/key_tuples.h"
#include "bson/path.h"
#include "expr/geo/geometry.h"
#include "store/keys/multikey.h"
#include "store/keys/special_keys.h"

namespace quire::store {

namespace {

constexpr size_t kMostKeys = 100'000;
constexpr int kTooManyKeys = 201;  // CannotBuildIndexKeys

using Values = std::vector<bson::OwnedValue>;

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
    out->push_back(SphereCellValue(cell));
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

}  // namespace

Status SphereKeys(const IndexKeySpec& spec, bson::View document, IndexKeySet* out) {
  std::vector<Values> choices(spec.parts.size());
  bool located = false;
  size_t combinations = 1;
  for (size_t i = 0; i < spec.parts.size(); ++i) {
    bool sphere = spec.parts[i].kind == IndexKeySpec::Kind::kSphere;
    auto fill = sphere ? SphereCells : PlainValues;
    RETURN_IF_ERROR(fill(spec, i, document, &choices[i], &out->multikey_steps));
    located = located || (sphere && !choices[i].empty());
    if (choices[i].empty()) {
      choices[i].emplace_back(bson::Value::Null());
    }
    combinations *= choices[i].size();
    if (combinations > kMostKeys) {
      return Status(kTooManyKeys, "Too many keys of one document for an index");
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

bson::OwnedValue SphereCellValue(uint64_t cell) {
  return bson::OwnedValue(bson::Value(static_cast<int64_t>(cell)));
}

}  // namespace quire::store
