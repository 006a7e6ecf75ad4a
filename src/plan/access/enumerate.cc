// SPDX-License-Identifier: Apache-2.0
#include "plan/access/enumerate.h"

#include <algorithm>
#include <map>

#include "base/current_op.h"
#include "plan/access/text_access.h"
#include "plan/bounds/bounds.h"
#include "plan/bounds/subset.h"
#include "plan/bounds/wildcard.h"
#include "store/keys/multikey.h"
#include "store/keys/wildcard.h"

namespace quire::plan {

namespace {

using expr::match::Kind;
using expr::match::Node;
using expr::match::NodePtr;

constexpr size_t kMostCandidates = 64;
constexpr size_t kMostOrCombinations = 10;

// Whether the thread's operation is to end: what is found so far is thrown away then (plan.cc).
bool Ends() { return !CheckCurrentOp().ok(); }

// Two predicates on a path that met an array may be about different elements, unless one
// $elemMatch on that array holds both. Remembers which $elemMatch took each array first.
class ArrayClaims {
 public:
  bool MayTake(const Predicate& predicate, const std::vector<std::string>& prefixes) const {
    return std::all_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) {
      auto taken = by_prefix_.find(prefix);
      if (taken == by_prefix_.end()) {
        return true;
      }
      const Node* scope = predicate.ScopeAt(prefix);
      return scope != nullptr && scope == taken->second;
    });
  }
  void Take(const Predicate& predicate, const std::vector<std::string>& prefixes) {
    for (const std::string& prefix : prefixes) {
      by_prefix_.emplace(prefix, predicate.ScopeAt(prefix));
    }
  }

 private:
  std::map<std::string, const Node*> by_prefix_;
};

// An index that leaves out documents without a location is of use only to those who ask for one.
bool Locates(const store::IndexKeySpec& spec,
             const std::vector<std::vector<const Predicate*>>& assigned) {
  bool needed = false;
  for (size_t part = 0; part < spec.parts.size(); ++part) {
    const store::IndexKindRow& row = *spec.parts[part].kind;
    if (row.leaves_out && row.values_beside) {
      needed = true;
      if (!assigned[part].empty()) {
        return true;
      }
    }
  }
  return !needed;
}

std::vector<Predicate> AsOutside(std::vector<Predicate> predicates) {
  for (Predicate& predicate : predicates) {
    predicate.outside = true;
  }
  return predicates;
}

bool SameScan(const PlanNode& a, const PlanNode& b) {
  return a.kind == NodeKind::kIndexScan && b.kind == NodeKind::kIndexScan && a.index == b.index &&
         a.filter == nullptr && b.filter == nullptr;
}

bool OnlyFirstPartBounded(const PlanNode& scan) {
  return std::all_of(scan.bounds.parts.begin() + 1, scan.bounds.parts.end(),
                     [](const IntervalList& list) { return list.IsAll(); });
}

// Branches of $or that read the same index become one scan of all their intervals.
void MergeScans(std::vector<PlanNodePtr>* branches) {
  std::vector<PlanNodePtr> merged;
  for (PlanNodePtr& branch : *branches) {
    bool plain = !Ends() && branch->kind == NodeKind::kIndexScan && branch->filter == nullptr &&
                 OnlyFirstPartBounded(*branch);
    auto same = merged.end();
    if (plain) {
      same = std::find_if(merged.begin(), merged.end(), [&](const PlanNodePtr& other) {
        return SameScan(*other, *branch) && OnlyFirstPartBounded(*other);
      });
    }
    if (same == merged.end()) {
      merged.push_back(std::move(branch));
      continue;
    }
    for (const Interval& interval : branch->bounds.parts[0].intervals()) {
      (*same)->bounds.parts[0].Add(interval);
    }
  }
  for (PlanNodePtr& branch : merged) {
    if (branch->kind == NodeKind::kIndexScan) {
      branch->bounds.parts[0].Unite();
    }
  }
  *branches = std::move(merged);
}

}  // namespace

std::vector<PlanNodePtr> Enumerator::ForNode(const NodePtr& node,
                                             const std::vector<Predicate>& outside,
                                             const Nodes& known) {
  switch (node->kind()) {
    case Kind::kOr:
      return ForOr(*node, outside, known);
    case Kind::kAnd:
      return ForAnd(node->children(), outside, known);
    default:
      return ForAnd({&node, 1}, outside, known);
  }
}

std::vector<PlanNodePtr> Enumerator::ForAnd(std::span<const NodePtr> children,
                                            const std::vector<Predicate>& outside,
                                            const Nodes& known) {
  std::vector<Predicate> predicates = CollectPredicates(children);
  std::vector<Predicate> own = predicates;
  predicates.insert(predicates.end(), outside.begin(), outside.end());
  Nodes all_known = known;
  all_known.insert(all_known.end(), children.begin(), children.end());

  std::vector<PlanNodePtr> found;
  if (text_ != nullptr && HasText(children)) {
    if (PlanNodePtr access = TextAccess(*text_, children, all_known)) {
      found.push_back(std::move(access));
    }
    return found;
  }
  for (const IndexChoice& choice : indexes_) {
    if (choice.info->partial_filter != nullptr &&
        !Implies(all_known, choice.info->partial_filter->root())) {
      continue;
    }
    for (const Assignment& assignment : Assignments(choice, predicates)) {
      found.push_back(Build(choice, assignment, children));
    }
  }
  for (size_t i = 0; i < children.size() && found.size() < kMostCandidates && !Ends(); ++i) {
    if (children[i]->kind() != Kind::kOr) {
      continue;
    }
    std::vector<Predicate> given = AsOutside(own);
    given.insert(given.end(), outside.begin(), outside.end());
    Nodes rest(children.begin(), children.end());
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    for (PlanNodePtr& access : ForOr(*children[i], given, all_known)) {
      if (!rest.empty()) {
        access = Over(NodeKind::kFetch, std::move(access));
        access->filter = Conjunction(rest);
      }
      found.push_back(std::move(access));
    }
  }
  if (found.size() > kMostCandidates) {
    found.resize(kMostCandidates);
  }
  return found;
}

std::vector<PlanNodePtr> Enumerator::ForOr(const Node& alternatives,
                                           const std::vector<Predicate>& outside,
                                           const Nodes& known) {
  std::vector<std::vector<PlanNodePtr>> lists;
  size_t combinations = 1;
  for (const NodePtr& branch : alternatives.children()) {
    lists.push_back(ForNode(branch, outside, known));
    if (lists.back().empty() || Ends()) {
      return {};
    }
    combinations = std::min(combinations * lists.back().size(), kMostOrCombinations);
  }
  std::vector<PlanNodePtr> found;
  for (size_t number = 0; number < combinations; ++number) {
    std::vector<PlanNodePtr> branches;
    size_t rest = number;
    for (const auto& list : lists) {
      branches.push_back(list[rest % list.size()]->Clone());
      rest /= list.size();
    }
    found.push_back(Combine(std::move(branches)));
  }
  return found;
}

std::vector<std::vector<PlanNodePtr>> Enumerator::Branches(const Node& alternatives) {
  std::vector<std::vector<PlanNodePtr>> lists;
  for (const NodePtr& branch : alternatives.children()) {
    lists.push_back(ForNode(branch, {}, {}));
    if (lists.back().empty() || Ends()) {
      return {};
    }
  }
  return lists;
}

PlanNodePtr Enumerator::Combine(std::vector<PlanNodePtr> branches) {
  MergeScans(&branches);
  if (branches.size() == 1) {
    return std::move(branches[0]);
  }
  auto all = std::make_unique<PlanNode>(NodeKind::kOr);
  all->inputs = std::move(branches);
  return all;
}

std::vector<Enumerator::Assignment> Enumerator::Assignments(
    const IndexChoice& choice, const std::vector<Predicate>& predicates) const {
  const store::IndexKeySpec& spec = choice.info->keys;
  std::vector<std::vector<const Predicate*>> usable(spec.parts.size());
  for (size_t part = 0; part < spec.parts.size(); ++part) {
    IndexPart index_part{choice.info, part, store::IsMultikey(spec, choice.multikey, part)};
    for (const Predicate& predicate : predicates) {
      if (predicate.path == spec.parts[part].path &&
          CanUseIndex(predicate, index_part, *query_.context)) {
        usable[part].push_back(&predicate);
      }
    }
  }
  std::vector<Assignment> found;
  auto add = [&](Assignment assignment) {
    if (!Locates(spec, assignment.parts)) {
      return;
    }
    bool own =
        std::any_of(assignment.parts.begin(), assignment.parts.end(), [](const auto& assigned) {
          return std::any_of(assigned.begin(), assigned.end(), [](auto* p) { return !p->outside; });
        });
    if (own && std::find(found.begin(), found.end(), assignment) == found.end()) {
      found.push_back(std::move(assignment));
    }
  };
  Assignment empty;
  empty.parts.resize(spec.parts.size());
  // The form of a wildcard for a path is there for a predicate on that path.
  bool for_path =
      spec.wildcard != nullptr && !store::IsWildcardField(spec.parts[spec.path_part + 1].path);
  size_t lead = spec.IsPath(0) ? 1 : 0;
  if (usable[lead].empty() || (for_path && usable[spec.path_part + 1].empty())) {
    return found;
  }
  if (!store::IsMultikey(spec, choice.multikey, lead)) {
    AssignSafely(choice, usable, &empty);
    add(std::move(empty));
    return found;
  }
  for (const Predicate* first : usable[lead]) {
    if (found.size() == kMostCandidates || Ends()) {
      break;
    }
    Assignment assignment = empty;
    assignment.parts[lead].push_back(first);
    AssignSafely(choice, usable, &assignment);
    for (auto& assigned : assignment.parts) {
      std::sort(assigned.begin(), assigned.end());
    }
    add(std::move(assignment));
  }
  return found;
}

void Enumerator::AssignSafely(const IndexChoice& choice,
                              const std::vector<std::vector<const Predicate*>>& usable,
                              Assignment* assignment) const {
  ArrayClaims claims;
  for (size_t part = 0; part < usable.size(); ++part) {
    auto prefixes = store::MultikeyPrefixes(choice.info->keys, choice.multikey, part);
    auto& assigned = assignment->parts[part];
    for (const Predicate* predicate : assigned) {
      claims.Take(*predicate, prefixes);
    }
    const auto given = static_cast<std::ptrdiff_t>(assigned.size());  // those after it are new
    for (const Predicate* predicate : usable[part]) {
      const auto end = assigned.begin() + given;
      const bool there = std::find(assigned.begin(), end, predicate) != end;
      if (!there && claims.MayTake(*predicate, prefixes)) {
        claims.Take(*predicate, prefixes);
        assigned.push_back(predicate);
      }
    }
  }
}

PlanNodePtr Enumerator::Build(const IndexChoice& choice, const Assignment& assignment,
                              std::span<const NodePtr> children) const {
  auto scan = std::make_unique<PlanNode>(NodeKind::kIndexScan);
  scan->index = choice.info;
  scan->owned_index = choice.owned;
  scan->multikey = choice.multikey;
  std::vector<Tightness> tightness(children.size(), Tightness::kFetch);
  for (size_t part = 0; part < assignment.parts.size(); ++part) {
    IndexPart index_part{choice.info, part,
                         store::IsMultikey(choice.info->keys, choice.multikey, part)};
    IntervalList intervals = IntervalList::All();
    for (const Predicate* predicate : assignment.parts[part]) {
      if (Ends()) {
        break;
      }
      FieldBounds bounds = BoundsOf(*predicate, index_part);
      intervals.IntersectWith(bounds.intervals);
      if (!predicate->outside && predicate->scopes.empty()) {
        tightness[predicate->child] = bounds.tightness;
      }
    }
    scan->bounds.parts.push_back(std::move(intervals));
  }
  if (choice.info->keys.wildcard != nullptr) {
    bool only_exists = SetPathBounds(choice, &scan->bounds);
    for (const Predicate* predicate : assignment.parts[choice.info->keys.path_part + 1]) {
      if (!predicate->outside && (choice.readings.size() > 1 ||
                                  (only_exists && predicate->node->kind() != Kind::kExists))) {
        tightness[predicate->child] = Tightness::kFetch;
      }
    }
  }
  Nodes covered;
  Nodes fetched;
  for (size_t i = 0; i < children.size(); ++i) {
    bool may_cover = choice.multikey == 0 && choice.info->collator == nullptr;
    if (tightness[i] == Tightness::kCovered && may_cover) {
      covered.push_back(children[i]);
    } else if (tightness[i] != Tightness::kExact) {
      fetched.push_back(children[i]);
    }
  }
  scan->filter = Conjunction(std::move(covered));
  if (fetched.empty()) {
    return scan;
  }
  PlanNodePtr fetch = Over(NodeKind::kFetch, std::move(scan));
  fetch->filter = Conjunction(std::move(fetched));
  return fetch;
}

PlanNodePtr Enumerator::WholeIndex(const IndexChoice& choice, bool backward) const {
  auto scan = std::make_unique<PlanNode>(NodeKind::kIndexScan);
  scan->index = choice.info;
  scan->multikey = choice.multikey;
  scan->backward = backward;
  scan->bounds.parts.assign(choice.info->keys.parts.size(), IntervalList::All());
  if (query_.filter == nullptr || query_.filter->trivial()) {
    return scan;
  }
  PlanNodePtr fetch = Over(NodeKind::kFetch, std::move(scan));
  fetch->filter = {std::shared_ptr<const void>(), query_.filter};
  return fetch;
}

}  // namespace quire::plan
