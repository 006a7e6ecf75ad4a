// SPDX-License-Identifier: Apache-2.0
//
// The rewrites of pipelines, each a named step that keeps the result the same.
#include "pipeline/rewrite.h"

#include <algorithm>

#include "base/try.h"
#include "pipeline/rewrite_internal.h"
#include "pipeline/stages/order.h"

namespace quire::pipeline {

// Rows beyond a limit are not looked at, so an error they would give is not seen.
Status CutEarly(Stages* stages, const expr::Context*) {
  for (size_t i = 1; i < stages->size(); ++i) {
    for (size_t at = i; at > 0; --at) {
      if (!(*stages)[at - 1]->LetsCutPass() || (*stages)[at]->kind() != StageKind::kCut) {
        break;
      }
      std::swap((*stages)[at], (*stages)[at - 1]);
    }
  }
  return Status::Ok();
}

// {$skip: 5}, {$skip: 3} -> {$skip: 8} too.
Status MergeCuts(Stages* stages, const expr::Context*) {
  for (size_t i = 0; i + 1 < stages->size();) {
    auto* first = As<CutStage>((*stages)[i].get());
    auto* second = As<CutStage>((*stages)[i + 1].get());
    int64_t sum = 0;
    if (!first || !second || first->is_limit() != second->is_limit() ||
        (!first->is_limit() && __builtin_add_overflow(first->count(), second->count(), &sum))) {
      ++i;
      continue;
    }
    first->set_count(first->is_limit() ? std::min(first->count(), second->count()) : sum);
    stages->erase(stages->begin() + static_cast<long>(i) + 1);
  }
  return Status::Ok();
}

// A sort whose rows are sorted anew at once.
Status DropSorts(Stages* stages, const expr::Context*) {
  for (size_t i = 0; i + 1 < stages->size();) {
    const auto* sort = As<SortStage>((*stages)[i].get());
    const auto* next = As<SortStage>((*stages)[i + 1].get());
    if (sort != nullptr && next != nullptr && sort->limit() == 0) {
      stages->erase(stages->begin() + static_cast<long>(i));
    } else {
      ++i;
    }
  }
  return Status::Ok();
}

Status LimitSorts(Stages* stages, const expr::Context*) {
  for (size_t i = 0; i < stages->size(); ++i) {
    auto* sort = As<SortStage>((*stages)[i].get());
    if (!sort) {
      continue;
    }
    int64_t skipped = 0;
    for (size_t at = i + 1; at < stages->size(); ++at) {
      auto* cut = As<CutStage>((*stages)[at].get());
      int64_t sum = 0;
      if (!cut || __builtin_add_overflow(skipped, cut->count(), &sum)) {
        break;
      }
      if (cut->is_limit()) {
        sort->set_limit(sum);
        break;
      }
      skipped = sum;
    }
  }
  return Status::Ok();
}

const std::vector<Rewrite>& Rewrites() {
  static const auto* rewrites = new std::vector<Rewrite>{
      {"split-matches", SplitMatches}, {"push-matches", PushMatches}, {"fuse-lookups", FuseLookups},
      {"merge-matches", MergeMatches}, {"cut-early", CutEarly},       {"merge-cuts", MergeCuts},
      {"drop-sorts", DropSorts},       {"limit-sorts", LimitSorts},
  };
  return *rewrites;
}

const std::vector<std::string_view>& RewriteNames() {
  static const auto* names = [] {
    auto* all = new std::vector<std::string_view>;
    for (const Rewrite& rewrite : Rewrites()) {
      all->push_back(rewrite.name);
    }
    for (std::string_view later :
         {"leading-find", "needed-fields", "group-by-index", "hash-join"}) {
      all->push_back(later);
    }
    return all;
  }();
  return *names;
}

Status RewriteStages(Stages* stages, const expr::Context* context,
                     const std::set<std::string>& off) {
  for (const Rewrite& rewrite : Rewrites()) {
    if (off.count(std::string(rewrite.name)) == 0) {
      RETURN_IF_ERROR(rewrite.run(stages, context));
    }
  }
  return Status::Ok();
}

}  // namespace quire::pipeline
