// SPDX-License-Identifier: Apache-2.0
#include "store/keys/special_keys.h"

#include <algorithm>
#include <span>
#include <vector>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/hash/index_hash.h"
#include "bson/key_tuples.h"
#include "bson/number.h"
#include "expr/geo/geometry.h"
#include "store/keys/multikey.h"

namespace quire::store {

namespace {

using Kind = IndexKeySpec::Kind;
using Values = std::vector<bson::OwnedValue>;

constexpr size_t kMostKeys = 100'000;
constexpr int kTooManyKeys = 201;  // CannotBuildIndexKeys

bool Has(const IndexKeySpec& spec, Kind kind) {
  return std::any_of(spec.parts.begin(), spec.parts.end(),
                     [&](const auto& part) { return part.kind == kind; });
}

// ------------------------------------------------------------------ text
Result<bson::Value> ValueBesideText(const bson::FieldPath& path, bson::View document) {
  size_t next = 0;
  bson::Value value = bson::GetPathOrArray(document, path, &next);
  if (value.is_array()) {
    return Status(16675, "cannot have a multi-key as a prefix to a text index");
  }
  return value.missing() ? bson::Value::Null() : value;
}

Status TextKeys(const IndexKeySpec& spec, bson::View document, IndexKeySet* out) {
  ASSIGN_OR_RETURN(auto scores, expr::text::ScoreDocument(spec.special->text, document));
  if (scores.empty()) {
    return Status::Ok();
  }
  std::vector<bson::Value> values(spec.parts.size());
  size_t term_part = 0;
  for (size_t i = 0; i < spec.parts.size(); ++i) {
    if (spec.parts[i].kind == Kind::kText) {
      term_part = i++;  // the score is next
      continue;
    }
    ASSIGN_OR_RETURN(values[i], ValueBesideText(spec.paths[i], document));
  }
  for (const auto& [term, score] : scores) {
    std::string indexed = IndexedTerm(term);
    values[term_part] = bson::Value(std::string_view(indexed));
    values[term_part + 1] = bson::Value(score);
    out->keys.push_back(MakeKey(spec, values));
  }
  if (out->keys.size() > 1) {
    out->multikey_steps |= MultikeyBit(spec, term_part, 0);
  }
  return Status::Ok();
}

// ------------------------------------------------------------------ 2dsphere
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
    } else {
      std::vector<uint64_t> more = (*geometry)->Cells(spec.special->levels);
      cells.insert(cells.end(), more.begin(), more.end());
    }
    return status.ok();
  });
  RETURN_IF_ERROR(status);
  *steps |= ArraysOnTheWay(spec, part, document);
  if (cells.size() > 1) {
    *steps |= MultikeyBit(spec, part, spec.paths[part].size() - 1);
  }
  for (uint64_t cell : cells) {
    out->push_back(CellValue(Kind::kSphere, cell));
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
    bool sphere = spec.parts[i].kind == Kind::kSphere;
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

// ------------------------------------------------------------------ 2d
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
  Values beside(spec.parts.size());
  std::vector<bson::Value> values(spec.parts.size());
  for (size_t i = 1; i < spec.parts.size(); ++i) {
    beside[i] = ValuesBesideFlat(spec.paths[i], document);
    values[i] = beside[i].value();
  }
  for (uint64_t cell : cells) {
    bson::OwnedValue value = CellValue(Kind::kFlat, cell);
    values[0] = value.value();
    out->keys.push_back(MakeKey(spec, values));
  }
  if (cells.size() > 1) {
    out->multikey_steps |= MultikeyBit(spec, 0, spec.paths[0].size() - 1);
  }
  return Status::Ok();
}

int LevelOf(const bson::Value& value, int otherwise) {
  return value.is_number() ? static_cast<int>(std::clamp(bson::ToDouble(value), 0.0, 30.0))
                           : otherwise;
}

}  // namespace

std::shared_ptr<const SpecialSpec> SpecialSpecOf(bson::View spec) {
  for (const bson::Element& part : spec["key"].AsDocument()) {
    bool special = part.type() == bson::Type::kString && part.value().AsString() != "hashed";
    if (special) {
      auto made = std::make_shared<SpecialSpec>();
      made->text = expr::text::IndexSpec::FromIndex(spec);
      made->grid = expr::geo::FlatGrid::FromIndex(spec);
      made->levels.coarsest = LevelOf(spec["coarsestIndexedLevel"], made->levels.coarsest);
      made->levels.finest = LevelOf(spec["finestIndexedLevel"], made->levels.finest);
      return made;
    }
  }
  return nullptr;
}

Status SpecialKeys(const IndexKeySpec& spec, bson::View document, IndexKeySet* out) {
  auto make = Has(spec, Kind::kText) ? TextKeys : Has(spec, Kind::kFlat) ? FlatKeys : SphereKeys;
  RETURN_IF_ERROR(make(spec, document, out));
  SortKeys(&out->keys);
  return Status::Ok();
}

bool TextDependsOn(const SpecialSpec& spec, std::string_view path) {
  const expr::text::IndexSpec& text = spec.text;
  if (text.wildcard_weight > 0) {
    return true;
  }
  std::string_view last = path.substr(path.rfind('.') + 1);
  if (last == text.language_override) {
    return true;
  }
  std::string_view top = path.substr(0, path.find('.'));
  return std::any_of(text.weights.begin(), text.weights.end(), [&](const auto& weight) {
    return std::string_view(weight.first).substr(0, weight.first.find('.')) == top;
  });
}

std::string IndexedTerm(const std::string& term) {
  constexpr size_t kLongest = 256;
  constexpr size_t kKept = 224;
  if (term.size() <= kLongest) {
    return term;
  }
  constexpr char kDigits[] = "0123456789abcdef";
  auto hash = static_cast<uint64_t>(bson::IndexHash(bson::Value(std::string_view(term))));
  std::string cut = term.substr(0, kKept);
  for (int shift = 60; shift >= 0; shift -= 4) {
    cut.push_back(kDigits[(hash >> shift) & 15]);
  }
  return cut;
}

bson::OwnedValue CellValue(IndexKeySpec::Kind kind, uint64_t cell) {
  if (kind == Kind::kSphere) {
    return bson::OwnedValue(bson::Value(static_cast<int64_t>(cell)));
  }
  constexpr uint8_t kSubtype = 128;
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(cell >> shift));
  }
  return bson::OwnedValue(bson::Value::Binary(std::string_view(bytes), kSubtype));
}

}  // namespace quire::store
