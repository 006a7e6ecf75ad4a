// SPDX-License-Identifier: Apache-2.0
#include "engine/schema/special_index_spec.h"

#include <string>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::engine {

namespace {

Status Refused(std::string why) { return {kCannotCreateIndex, std::move(why)}; }

// The kind of the index; null for a plain one. Error when the key mixes kinds.
Result<const store::IndexKindRow*> KindOfKey(bson::View key) {
  const store::IndexKindRow* kind = nullptr;
  for (const bson::Element& part : key) {
    const bson::Value value = part.value();
    const store::IndexKindRow* other =
        value.is_string() ? store::FindIndexKind(value.AsString()) : nullptr;
    if (other != nullptr && kind != nullptr && other != kind) {
      return Refused("Can't use more than one index plugin for a single index.");
    }
    kind = kind == nullptr ? other : kind;
  }
  return kind;
}

// Null for an index that createIndexes would not make.
const store::IndexKindRow* KindOfIndex(bson::View spec) {
  const auto kind = KindOfKey(spec["key"].AsDocument());
  return kind.ok() ? *kind : nullptr;
}

}  // namespace

Result<std::optional<store::SpecialIndexSpec>> NormaliseSpecialIndex(bson::View spec,
                                                                     bool collated) {
  ASSIGN_OR_RETURN(const store::IndexKindRow* kind, KindOfKey(spec["key"].AsDocument()));
  if (kind == nullptr || kind->normalise == nullptr) {
    return std::optional<store::SpecialIndexSpec>();
  }
  if (collated && !kind->takes_collation) {
    return Refused("Index type '" + std::string(kind->name) + "' does not support collation");
  }
  ASSIGN_OR_RETURN(store::SpecialIndexSpec normal, kind->normalise(spec));
  return std::optional(std::move(normal));
}

Status CheckOnlyOneOfKind(const store::CollectionInfo& collection,
                          const std::vector<store::NewIndex>& fresh, bson::View spec) {
  const store::IndexKindRow* kind = KindOfIndex(spec);
  if (kind == nullptr || !kind->one_per_collection) {
    return Status::Ok();
  }
  std::vector<bson::View> others;
  for (const auto& index : collection.indexes) {
    others.push_back(index->spec);
  }
  for (const store::NewIndex& index : fresh) {
    others.push_back(index.spec);
  }
  for (bson::View other : others) {
    if (KindOfIndex(other) == kind) {
      const std::string name(kind->name);
      return Refused("only one " + name + " index per collection allowed, found existing " + name +
                     " index \"" + std::string(other["name"].AsString()) + "\"");
    }
  }
  return Status::Ok();
}

}  // namespace quire::engine
