// SPDX-License-Identifier: Apache-2.0
//
// $near through a geo index.
#include "plan/access/near_access.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "base/error_codes.h"
#include "base/try.h"
#include "expr/match/geo.h"
#include "plan/access/candidates.h"
#include "plan/bounds/bounds.h"
#include "plan/bounds/predicates.h"
#include "plan/bounds/subset.h"
#include "store/keys/multikey.h"
#include "store/keys/special_keys.h"

namespace quire::plan {

namespace {

using expr::match::GeoNearNode;
using expr::match::Kind;
using expr::match::NodePtr;

const store::CellKind& CellsOf(const PlanNode& plan) {
  return *plan.index->keys.parts[plan.geo_part].kind->cells;
}

// The $near when it is the filter or a member of its $and; *rest receives the other members.
const GeoNearNode* TakeNear(const NodePtr& root, std::vector<NodePtr>* rest) {
  if (root->kind() == Kind::kGeoNear) {
    return static_cast<const GeoNearNode*>(root.get());
  }
  const GeoNearNode* near = nullptr;
  if (root->kind() == Kind::kAnd) {
    for (const NodePtr& child : root->children()) {
      if (child->kind() == Kind::kGeoNear) {
        near = static_cast<const GeoNearNode*>(child.get());
      } else {
        rest->push_back(child);
      }
    }
  }
  return near;
}

// The field that $geoNear without a key means: that of the only index of the first kind of which
// there is one.
Result<std::string> GuessPath(const QuerySpec& query) {
  for (const store::IndexKindRow* kind : store::IndexKinds()) {
    std::vector<std::string> paths;
    for (const auto& index : query.collection->indexes) {
      for (const auto& part : index->keys.parts) {
        if (part.kind == kind && kind->cells != nullptr && !index->hidden) {
          paths.push_back(part.path);
        }
      }
    }
    if (paths.size() > 1) {
      return Status(kIndexNotFound, std::string("There is more than one ") +
                                        std::string(kind->name) + " index on " +
                                        query.collection->ns() +
                                        "; unsure which to use for $geoNear");
    }
    if (!paths.empty()) {
      return paths[0];
    }
  }
  return Status(kIndexNotFound, "$geoNear requires a 2d or 2dsphere index, but none were found");
}

// What the other members of the filter say about a part of the index.
IntervalList BoundsFor(const QuerySpec& query, const IndexChoice& choice, size_t part,
                       const std::vector<Predicate>& predicates, bool* bounded) {
  IntervalList intervals = IntervalList::All();
  IndexPart index_part{choice.info, part,
                       store::IsMultikey(choice.info->keys, choice.multikey, part)};
  *bounded = false;
  for (const Predicate& predicate : predicates) {
    bool fits = predicate.path == index_part.spec().path && predicate.scopes.empty() &&
                CanUseIndex(*predicate.node, index_part, false, *query.context);
    if (fits && !(*bounded && index_part.multikey)) {
      intervals.IntersectWith(BoundsOf(*predicate.node, index_part).intervals);
      *bounded = true;
    }
  }
  return intervals;
}

// The access by one index; null when it cannot serve.
PlanNodePtr AccessBy(const QuerySpec& query, const IndexChoice& choice, const GeoNearNode& near,
                     const std::string& path, const std::vector<NodePtr>& rest) {
  const store::IndexInfo& index = *choice.info;
  if (index.partial_filter != nullptr && !Implies(rest, index.partial_filter->root())) {
    return nullptr;
  }
  const auto& parts = index.keys.parts;
  auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& part) {
    return part.path == path && part.kind->cells != nullptr &&
           part.kind->cells->measures(near.near());
  });
  if (found == parts.end()) {
    return nullptr;
  }
  auto plan = std::make_unique<PlanNode>(NodeKind::kGeoNear);
  plan->index = &index;
  plan->multikey = choice.multikey;
  plan->near = &near;
  plan->geo_part = static_cast<size_t>(found - parts.begin());
  plan->filter = Conjunction(rest);
  std::vector<Predicate> predicates = CollectPredicates(rest);
  for (size_t part = 0; part < parts.size(); ++part) {
    bool bounded = part == plan->geo_part;
    plan->bounds.parts.push_back(bounded ? IntervalList::All()
                                         : BoundsFor(query, choice, part, predicates, &bounded));
    if (part == 0 && !bounded) {
      return nullptr;
    }
  }
  return plan;
}

// Says what was asked for in MongoDB's form: some applications read from it which index to make.
Status NoIndex(const QuerySpec& query, const GeoNearNode& near, const std::string& path) {
  bson::Builder operators;
  near.SerializeOperator(&operators);
  bson::Document asked = operators.Finish();
  bool near_sphere = asked.view().Has("$nearSphere");
  char max_distance[32];
  std::snprintf(max_distance, sizeof max_distance, "%g",
                std::min(near.near().max_distance, std::numeric_limits<double>::max()));
  return Status(kNoQueryExecutionPlans,
                "error processing query: ns=" + query.collection->ns() +
                    "Tree: GEONEAR  field=" + path + " maxdist=" + max_distance + " isNearSphere=" +
                    (near_sphere ? "1" : "0") + "\nSort: " + bson::ToJson(query.sort_spec) +
                    "\nProj: " + bson::ToJson(query.projection_spec) +
                    "\n planner returned error :: caused by :: unable to find index for $geoNear "
                    "query");
}

}  // namespace

Result<PlanNodePtr> NearAccess(const QuerySpec& query) {
  std::vector<NodePtr> rest;
  const GeoNearNode* near = TakeNear(query.filter->shared_root(), &rest);
  if (near == nullptr) {
    return Status(kBadValue, "geoNear must be top-level expr");
  }
  std::string path = near->path();
  if (path.empty()) {
    ASSIGN_OR_RETURN(path, GuessPath(query));
  }
  ASSIGN_OR_RETURN(std::vector<IndexChoice> indexes, UsableIndexes(query));
  PlanNodePtr plan;
  for (const IndexChoice& choice : indexes) {
    PlanNodePtr other = AccessBy(query, choice, *near, path, rest);
    if (other != nullptr &&
        (plan == nullptr || (!CellsOf(*plan).preferred && CellsOf(*other).preferred))) {
      plan = std::move(other);
    }
  }
  if (plan != nullptr) {
    if (const auto check = CellsOf(*plan).check_center; check != nullptr) {
      RETURN_IF_ERROR(check(near->near(), *plan->index->keys.special));
    }
    return plan;
  }
  return NoIndex(query, *near, path);
}

}  // namespace quire::plan
