// SPDX-License-Identifier: Apache-2.0
//
// From the spec of an index to how it makes keys.
#include <algorithm>

#include "bson/number.h"
#include "store/keys/index_kind.h"
#include "store/keys/special_keys.h"
#include "store/keys/wildcard.h"

namespace quire::store {

namespace {

int LevelOf(const bson::Value& value, int otherwise) {
  return value.is_number() ? static_cast<int>(std::clamp(bson::ToDouble(value), 0.0, 30.0))
                           : otherwise;
}

// Whether a part of the pattern is made of the document. One of a kind that there is not is, too,
// and the index holds nothing.
bool IsMade(const bson::Value& part) {
  if (!part.is_string()) {
    return false;
  }
  const IndexKindRow* row = FindIndexKind(part.AsString());
  return row == nullptr || row->holds == PartHolds::kMade;
}

}  // namespace

IndexKeySpec IndexKeySpec::FromPattern(bson::View key_pattern, bson::View projection) {
  IndexKeySpec spec;
  for (const bson::Element& e : key_pattern) {
    bson::Value value = e.value();
    if (IsWildcardField(e.name()) && value.is_number()) {
      spec.wildcard = WildcardPaths::Of(e.name(), projection);
      spec.path_part = spec.parts.size();
      spec.parts.push_back({"$_path"});
      spec.paths.emplace_back("$_path");
    }
    Part part;
    part.path = e.name();
    part.descending = value.is_number() && bson::IsNegative(value);
    const IndexKindRow* row = value.is_string() ? FindIndexKind(value.AsString()) : nullptr;
    // Text elsewhere is not as createIndexes stores it: such an index holds nothing.
    if (row != nullptr && !(row == &kTextKind && part.path != "_fts")) {
      part.kind = row;
    }
    spec.parts.push_back(std::move(part));
    spec.paths.emplace_back(e.name());
  }
  return spec;
}

std::shared_ptr<const SpecialSpec> SpecialSpecOf(bson::View spec) {
  for (const bson::Element& part : spec["key"].AsDocument()) {
    if (IsMade(part.value())) {
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

}  // namespace quire::store
