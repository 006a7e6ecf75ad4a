// SPDX-License-Identifier: Apache-2.0
#include "store/keys/index_kind.h"

#include <algorithm>
#include <iterator>

#include "store/keys/special_keys.h"

namespace quire::store {

constinit const IndexKindRow kOrderedKind = {
    .name = "", .holds = PartHolds::kValue, .values_beside = true, .knows_arrays = true};

constinit const IndexKindRow kHashedKind = {
    .name = "hashed", .holds = PartHolds::kHash, .values_beside = true, .knows_arrays = true};

namespace {

constexpr const IndexKindRow* kKinds[] = {&kOrderedKind, &kHashedKind, &kTextKind, &kFlatKind,
                                          &kSphereKind};

bool HasPart(const IndexKeySpec& spec, const IndexKindRow* kind) {
  return std::any_of(spec.parts.begin(), spec.parts.end(),
                     [&](const auto& part) { return part.kind == kind; });
}

}  // namespace

std::span<const IndexKindRow* const> IndexKinds() { return kKinds; }

const IndexKindRow* FindIndexKind(std::string_view name) {
  const auto* found = std::find_if(
      std::begin(kKinds), std::end(kKinds),
      [&](const IndexKindRow* kind) { return !kind->name.empty() && kind->name == name; });
  return found == std::end(kKinds) ? nullptr : *found;
}

const IndexKindRow* MakerOf(const IndexKeySpec& spec) {
  const auto* found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const IndexKindRow* kind) {
        return kind->holds == PartHolds::kMade && HasPart(spec, kind);
      });
  return found == std::end(kKinds) ? nullptr : *found;
}

}  // namespace quire::store
