// SPDX-License-Identifier: Apache-2.0
//
// $text through its index: one scan per term.
#include "plan/access/text_access.h"

#include <algorithm>

#include "expr/match/leaf.h"
#include "plan/bounds/predicates.h"
#include "plan/bounds/subset.h"
#include "store/keys/special_keys.h"

namespace quire::plan {

namespace {

using expr::match::ComparisonNode;
using expr::match::Kind;
using expr::match::NodePtr;

// The member that says which value a field has; null when there is none.
const ComparisonNode* EqualityOn(std::span<const NodePtr> conjunction, const std::string& path) {
  for (const NodePtr& member : conjunction) {
    if (member->kind() == Kind::kEq && member->path() == path) {
      return static_cast<const ComparisonNode*>(member.get());
    }
  }
  return nullptr;
}

// A scan of the entries of one term.
PlanNodePtr TermScan(const TextUse& text, bson::View prefix, const std::string& term) {
  const store::IndexKeySpec& spec = text.index->keys;
  auto scan = std::make_unique<PlanNode>(NodeKind::kIndexScan);
  scan->index = text.index;
  scan->multikey = text.index->state->multikey_steps.load(std::memory_order_relaxed);
  scan->backward = true;
  scan->text = text.search;
  for (const bson::Element& value : prefix) {
    scan->bounds.parts.emplace_back(Interval::Point(value.value()));
  }
  std::string indexed = store::IndexedTerm(term);
  scan->bounds.parts.emplace_back(Interval::Point(bson::Value(std::string_view(indexed))));
  if (text.wants_score) {
    scan->score_part = scan->bounds.parts.size();
  }
  scan->bounds.parts.resize(spec.parts.size(), IntervalList::All());
  return scan;
}

// The candidates: documents with any of the terms that match the filter.
PlanNodePtr Candidates(const TextUse& text, bson::View prefix,
                       std::shared_ptr<const expr::match::Filter> filter) {
  std::vector<PlanNodePtr> scans;
  for (const std::string& term : text.search->query.terms()) {
    scans.push_back(TermScan(text, prefix, term));
  }
  if (scans.empty()) {
    return std::make_unique<PlanNode>(NodeKind::kEof);
  }
  if (text.wants_score) {
    auto all = std::make_unique<PlanNode>(NodeKind::kTextOr);
    all->inputs = std::move(scans);
    all->filter = std::move(filter);
    return all;
  }
  PlanNodePtr input = std::move(scans[0]);
  if (scans.size() > 1) {
    scans[0] = std::move(input);
    input = std::make_unique<PlanNode>(NodeKind::kOr);
    input->inputs = std::move(scans);
  }
  PlanNodePtr fetch = Over(NodeKind::kFetch, std::move(input));
  fetch->filter = std::move(filter);
  return fetch;
}

}  // namespace

bool HasText(const expr::match::Filter& filter) {
  return FirstOfKind(filter.root(), Kind::kText) != nullptr;
}

bool HasText(std::span<const NodePtr> conjunction) {
  return std::any_of(conjunction.begin(), conjunction.end(),
                     [](const NodePtr& member) { return member->kind() == Kind::kText; });
}

PlanNodePtr TextAccess(const TextUse& text, std::span<const NodePtr> conjunction,
                       const std::vector<NodePtr>& known) {
  const store::IndexInfo& index = *text.index;
  if (index.partial_filter != nullptr && !Implies(known, index.partial_filter->root())) {
    return nullptr;
  }
  bson::Builder prefix;
  std::vector<const expr::match::Node*> answered;
  for (const auto& part : index.keys.parts) {
    if (part.kind == &store::kTextKind) {
      break;
    }
    const ComparisonNode* equality = EqualityOn(conjunction, part.path);
    if (equality == nullptr) {
      return nullptr;
    }
    prefix.Append(part.path, equality->operand());
    if (!text.collated && !equality->operand().nullish() && !equality->operand().is_array()) {
      answered.push_back(equality);
    }
  }
  TextUse use = text;
  auto search = std::make_shared<TextSearch>(*text.search);
  search->prefix = prefix.Finish();
  use.search = search;
  std::vector<NodePtr> others;
  for (const NodePtr& member : conjunction) {
    bool done = std::find(answered.begin(), answered.end(), member.get()) != answered.end();
    if (member->kind() != Kind::kText && !done) {
      others.push_back(member);
    }
  }
  PlanNodePtr match =
      Over(NodeKind::kTextMatch, Candidates(use, search->prefix, Conjunction(std::move(others))));
  match->index = text.index;
  match->text = std::move(search);
  return match;
}

}  // namespace quire::plan
