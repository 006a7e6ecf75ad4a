// SPDX-License-Identifier: Apache-2.0
//
// From a predicate to the interval of index values that can satisfy it.
#pragma once

#include "expr/context.h"
#include "expr/match/node.h"
#include "plan/bounds/interval.h"
#include "store/catalog.h"
#include "store/keys/index_kind.h"

namespace quire::plan {

// What may be concluded from a key within the bounds.
enum class Tightness {
  kExact,    // the predicate holds
  kCovered,  // the predicate can be asked of the key
  kFetch,    // the document must be asked
};

struct FieldBounds {
  IntervalList intervals;
  Tightness tightness = Tightness::kExact;
};

// One part of an index as the planner sees it.
struct IndexPart {
  const store::IndexInfo* index = nullptr;
  size_t part = 0;
  bool multikey = false;  // some value of the path came from an array

  const store::IndexKeySpec::Part& spec() const { return index->keys.parts[part]; }
  store::PartHolds holds() const { return spec().kind->holds; }
};

// Whether bounds can be made of the predicate: a leaf, $not of one, or $elemMatch's value form.
// `in_elem_match`: it stands below an $elemMatch. `context` is the query's.
bool CanUseIndex(const expr::match::Node& predicate, const IndexPart& part, bool in_elem_match,
                 const expr::Context& context);

// REQUIRES: CanUseIndex.
FieldBounds BoundsOf(const expr::match::Node& predicate, const IndexPart& part);

// The same strings compare equal and in the same order under both.
bool SameCollation(const expr::Collator* a, const expr::Collator* b);

// {a: null}, {a: {$in: [null]}}, {a: {$gte: null}}...
bool AsksForNull(const expr::match::Node& predicate);

// The value as an index with that collation stores it: strings replaced by their sort keys.
bson::OwnedValue AsStored(const bson::Value& value, const expr::Collator* collator);

}  // namespace quire::plan
