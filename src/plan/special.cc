// SPDX-License-Identifier: Apache-2.0
#include "plan/special.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "expr/match/geo.h"
#include "expr/match/node.h"
#include "expr/match/special.h"
#include "plan/candidates.h"

namespace quire::plan {

namespace {

using expr::match::GeoNearNode;
using expr::match::Kind;
using expr::match::Node;
using expr::match::NodePtr;
using expr::match::TextNode;

bool Contains(const Node& node, Kind kind) {
  auto children = node.children();
  return node.kind() == kind ||
         std::any_of(children.begin(), children.end(),
                     [&](const NodePtr& child) { return Contains(*child, kind); });
}

// The node of that kind when it is the filter or a condition of its $and; *rest becomes the filter
// without it (null when nothing is left).
const Node* TakeTopLevel(const NodePtr& root, Kind kind,
                         std::shared_ptr<const expr::match::Filter>* rest) {
  if (root->kind() == kind) {
    return root.get();
  }
  if (root->kind() != Kind::kAnd) {
    return nullptr;
  }
  const Node* taken = nullptr;
  std::vector<NodePtr> others;
  for (const NodePtr& child : root->children()) {
    if (child->kind() == kind) {
      taken = child.get();
    } else {
      others.push_back(child);
    }
  }
  if (taken != nullptr && !others.empty()) {
    NodePtr left =
        others.size() == 1 ? others[0] : std::make_shared<expr::match::AndNode>(std::move(others));
    *rest = std::make_shared<expr::match::Filter>(std::move(left));
  }
  return taken;
}

// The kind of special part a field of the index's pattern is ("text", "2d"...); "" for a plain one.
std::string_view PartKind(const bson::Element& part) {
  if (part.type() != bson::Type::kString || part.value().AsString() == "hashed") {
    return {};
  }
  return part.value().AsString();
}

PlanNodePtr Scan(std::shared_ptr<const expr::match::Filter> filter) {
  auto scan = std::make_unique<PlanNode>(StageKind::kCollectionScan);
  scan->filter = std::move(filter);
  return scan;
}

// ------------------------------------------------------------------ $text
const store::IndexInfo* TextIndex(const Query& query) {
  for (const auto& index : query.collection->indexes) {
    for (const bson::Element& part : index->key_pattern.view()) {
      if (PartKind(part) == "text") {
        return index.get();
      }
    }
  }
  return nullptr;
}

Result<PlanNodePtr> TextAccess(const Query& query) {
  const NodePtr& root = query.filter->shared_root();
  std::shared_ptr<const expr::match::Filter> rest;
  const Node* node = TakeTopLevel(root, Kind::kText, &rest);
  if (NaturalHint(query) != 0) {
    return Status(kBadValue, "text expression not allowed with $natural sort order");
  }
  if (!query.hint.missing() && !(query.hint.is_document() && query.hint.AsDocument().empty())) {
    return Status(kBadValue, "text and hint not allowed in same query");
  }
  const store::IndexInfo* index = TextIndex(query);
  if (index == nullptr) {
    return Status(kIndexNotFound, "text index required for $text query");
  }
  if (node == nullptr) {
    return Status(kNoQueryExecutionPlans,
                  "Failed to produce a solution for TEXT under OR with other non-TEXT clauses");
  }
  auto search = std::make_shared<TextSearch>();
  search->spec = expr::text::IndexSpec::FromIndex(index->spec);
  ASSIGN_OR_RETURN(search->query,
                   expr::text::Query::Parse(static_cast<const TextNode*>(node)->options(),
                                            search->spec.default_language));
  PlanNodePtr plan = Over(StageKind::kTextMatch, Scan(std::move(rest)));
  plan->index = index;
  plan->text = std::move(search);
  return plan;
}

// ------------------------------------------------------------------ $near
// Whether an index part of that kind answers the query.
bool Serves(std::string_view kind, const expr::geo::Near& near) {
  return kind == "2dsphere" ? near.sphere : kind == "2d" && !near.geojson;
}

struct GeoPart {
  const store::IndexInfo* index;
  std::string path;
  std::string_view kind;
};

std::vector<GeoPart> GeoParts(const Query& query, const GeoNearNode& node) {
  std::vector<GeoPart> parts;
  for (const auto& index : query.collection->indexes) {
    for (const bson::Element& part : index->key_pattern.view()) {
      bool wanted = node.path().empty() || node.path() == part.name();
      if (wanted && Serves(PartKind(part), node.near())) {
        parts.push_back({index.get(), std::string(part.name()), PartKind(part)});
      }
    }
  }
  return parts;
}

Result<PlanNodePtr> NearAccess(const Query& query) {
  std::shared_ptr<const expr::match::Filter> rest;
  auto* node = static_cast<const GeoNearNode*>(
      TakeTopLevel(query.filter->shared_root(), Kind::kGeoNear, &rest));
  if (node == nullptr) {
    return Status(kBadValue, "geoNear must be top-level expr");
  }
  std::vector<GeoPart> parts = GeoParts(query, *node);
  if (parts.empty()) {
    if (node->path().empty()) {
      return Status(kIndexNotFound,
                    "$geoNear requires a 2d or 2dsphere index, but none were found");
    }
    return Status(kNoQueryExecutionPlans,
                  "error processing query: ns=" + query.collection->ns() +
                      " planner returned error :: caused by :: unable to find index for $geoNear "
                      "query");
  }
  if (node->path().empty() && parts.size() > 1) {
    return Status(kIndexNotFound, "There is more than one geo index on " + query.collection->ns() +
                                      "; unsure which to use for $geoNear");
  }
  bool flat = parts[0].kind == "2d";
  PlanNodePtr plan =
      Over(flat ? StageKind::kGeoNear2d : StageKind::kGeoNear2dsphere, Scan(std::move(rest)));
  plan->index = parts[0].index;
  bool sorts = query.sort != nullptr && !query.sort->empty();
  plan->amount = query.limit > 0 && !sorts ? query.limit + query.skip : 0;
  plan->near = node;
  plan->near_path = parts[0].path;
  return plan;
}

}  // namespace

bool IsSpecialIndex(const store::IndexInfo& index) {
  bson::View pattern = index.key_pattern;
  return std::any_of(pattern.begin(), pattern.end(),
                     [](const bson::Element& part) { return !PartKind(part).empty(); });
}

Result<PlanNodePtr> SpecialAccess(const Query& query) {
  if (query.filter == nullptr) {
    return PlanNodePtr();
  }
  if (Contains(query.filter->root(), Kind::kText)) {
    if (query.collection == nullptr) {
      return Status(kIndexNotFound, "text index required for $text query");
    }
    return TextAccess(query);
  }
  if (query.collection != nullptr && Contains(query.filter->root(), Kind::kGeoNear)) {
    return NearAccess(query);
  }
  return PlanNodePtr();
}

}  // namespace quire::plan
