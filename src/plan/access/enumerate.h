// SPDX-License-Identifier: Apache-2.0
//
// The ways in which indexes can answer a filter.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "expr/match/node.h"
#include "plan/bounds/index_choice.h"
#include "plan/bounds/predicates.h"
#include "plan/plan_node.h"
#include "plan/query.h"

namespace quire::plan {

struct TextUse;

class Enumerator {
 public:
  // Everything given outlives it.
  Enumerator(const QuerySpec& query, std::span<const IndexChoice> indexes)
      : query_(query), indexes_(indexes) {}

  // The $text of the filter is answered by `text`, which outlives it. REQUIRES: before Access,
  // when the filter has one.
  void AnswerText(const TextUse* text) { text_ = text; }

  // Index scans, with a fetch and residual filter where the keys do not decide, or an $or of such.
  // `filter` is the whole filter or a branch of its $or.
  std::vector<PlanNodePtr> Access(const expr::match::NodePtr& filter) {
    return ForNode(filter, {}, {});
  }

  // $or branches at the top, one list each; empty when some branch has no index.
  std::vector<std::vector<PlanNodePtr>> Branches(const expr::match::Node& alternatives);
  // The $or of one access per branch.
  static PlanNodePtr Combine(std::vector<PlanNodePtr> branches);

  // A scan of the whole index with the filter asked of the documents.
  PlanNodePtr WholeIndex(const IndexChoice& choice, bool backward) const;

 private:
  using Nodes = std::vector<expr::match::NodePtr>;
  struct Assignment {
    std::vector<std::vector<const Predicate*>> parts;  // by part of the index
    bool operator==(const Assignment&) const = default;
  };

  std::vector<PlanNodePtr> ForNode(const expr::match::NodePtr& node,
                                   const std::vector<Predicate>& outside, const Nodes& known);
  std::vector<PlanNodePtr> ForAnd(std::span<const expr::match::NodePtr> children,
                                  const std::vector<Predicate>& outside, const Nodes& known);
  std::vector<PlanNodePtr> ForOr(const expr::match::Node& alternatives,
                                 const std::vector<Predicate>& outside, const Nodes& known);
  std::vector<Assignment> Assignments(const IndexChoice& choice,
                                      const std::vector<Predicate>& predicates) const;
  void AssignSafely(const IndexChoice& choice,
                    const std::vector<std::vector<const Predicate*>>& usable,
                    Assignment* assignment) const;
  PlanNodePtr Build(const IndexChoice& choice, const Assignment& assignment,
                    std::span<const expr::match::NodePtr> children) const;

  const QuerySpec& query_;
  std::span<const IndexChoice> indexes_;
  const TextUse* text_ = nullptr;
};

}  // namespace quire::plan
