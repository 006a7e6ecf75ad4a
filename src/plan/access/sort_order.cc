// SPDX-License-Identifier: Apache-2.0
#include "plan/access/sort_order.h"

#include <algorithm>

#include "plan/bounds/bounds.h"
#include "store/keys/multikey.h"

namespace quire::plan {

namespace {

using store::IndexKeySpec;

bool BoundedToPoint(const PlanNode& scan, size_t part) {
  return !scan.bounds.range && scan.bounds.parts[part].IsPoint();
}

// A path with arrays sorts by the smallest element of all, so the scan must see all of them.
bool SeesWholeArrays(const PlanNode& scan, size_t part) {
  const IndexKeySpec& spec = scan.index->keys;
  auto prefixes = store::MultikeyPrefixes(spec, scan.multikey, part);
  if (prefixes.empty()) {
    return true;
  }
  if (scan.bounds.range) {
    return false;
  }
  for (size_t other = 0; other < spec.parts.size(); ++other) {
    auto shared = store::MultikeyPrefixes(spec, scan.multikey, other);
    bool meets = std::find_first_of(prefixes.begin(), prefixes.end(), shared.begin(),
                                    shared.end()) != prefixes.end();
    if (meets && !scan.bounds.parts[other].IsAll()) {
      return false;
    }
  }
  return true;
}

// Whether all rows have the same value at the path, so that sorting by it changes nothing.
bool IsConstant(const PlanNode& scan, const std::string& path) {
  const IndexKeySpec& spec = scan.index->keys;
  for (size_t part = 0; part < spec.parts.size(); ++part) {
    if (spec.parts[part].path == path && BoundedToPoint(scan, part) &&
        !store::IsMultikey(spec, scan.multikey, part) &&
        spec.parts[part].kind == &store::kOrderedKind) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool Sorts(const QuerySpec& query) { return query.sort != nullptr && !query.sort->empty(); }

SortOrder OrderOf(const QuerySpec& query, const PlanNode& scan) {
  const IndexKeySpec& spec = scan.index->keys;
  if (!SameCollation(scan.index->collator.get(), query.context->collator)) {
    return SortOrder::kNone;
  }
  SortOrder order = SortOrder::kNone;
  size_t part = 0;
  for (const auto& wanted : query.sort->parts()) {
    if (!wanted.meta.empty()) {
      return SortOrder::kNone;
    }
    if (IsConstant(scan, wanted.path)) {
      continue;
    }
    while (part < spec.parts.size() && spec.parts[part].path != wanted.path &&
           BoundedToPoint(scan, part)) {
      ++part;
    }
    if (part == spec.parts.size() || spec.parts[part].path != wanted.path ||
        spec.parts[part].kind != &store::kOrderedKind || !SeesWholeArrays(scan, part)) {
      return SortOrder::kNone;
    }
    bool forward = wanted.ascending != spec.parts[part].descending;
    SortOrder needed = forward ? SortOrder::kForward : SortOrder::kBackward;
    if (order != SortOrder::kNone && order != needed) {
      return SortOrder::kNone;
    }
    order = needed;
    ++part;
  }
  return order == SortOrder::kNone ? SortOrder::kForward : order;
}

}  // namespace quire::plan
