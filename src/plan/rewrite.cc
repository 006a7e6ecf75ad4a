// SPDX-License-Identifier: Apache-2.0
//
// The rewrites of pipelines, each a named step that keeps the result the same.
#include <algorithm>

#include "plan/stages/order_internal.h"
#include "plan/stages/reshape_internal.h"
#include "plan/stages/stage_internal.h"
#include "plan/stages/unwind_internal.h"

namespace quire::plan {

namespace {

Result<StagePtr> MakeMatch(bson::View filter, const expr::Context* context) {
  bson::Builder builder;
  builder.Append("$match", filter);
  bson::Document spec = builder.Finish();
  StageContext stage_context;
  stage_context.context = context;
  ASSIGN_OR_RETURN(Stages made, MakeStage<MatchStage>(spec.view().front(), stage_context));
  return std::move(made[0]);
}

bool HasText(const MatchStage& match) { return match.filter().Has("$text"); }

// {$match: a}, {$match: b} -> {$match: {$and: [a, b]}}
Status MergeMatches(Stages* stages, const expr::Context* context) {
  for (size_t i = 0; i + 1 < stages->size();) {
    auto* first = dynamic_cast<MatchStage*>((*stages)[i].get());
    auto* second = dynamic_cast<MatchStage*>((*stages)[i + 1].get());
    if (!first || !second || HasText(*second)) {
      ++i;
      continue;
    }
    if (first->filter().empty() || second->filter().empty()) {
      stages->erase(stages->begin() + static_cast<long>(first->filter().empty() ? i : i + 1));
      continue;
    }
    bson::Builder both;
    both.BeginArray("$and").Push(first->filter()).Push(second->filter()).End();
    bson::Document filter = both.Finish();
    ASSIGN_OR_RETURN((*stages)[i], MakeMatch(filter, context));
    stages->erase(stages->begin() + static_cast<long>(i) + 1);
  }
  return Status::Ok();
}

bool Disjoint(const std::set<std::string>& fields, std::string_view name) {
  return fields.count(std::string(name)) == 0;
}

// Whether a filter on `fields` gives the same before `stage` as after it.
bool MatchPasses(const std::set<std::string>& fields, const Stage& stage) {
  if (dynamic_cast<const SortStage*>(&stage)) {
    return static_cast<const SortStage&>(stage).limit() == 0;
  }
  if (const auto* add = dynamic_cast<const AddFieldsStage*>(&stage)) {
    auto written = add->fields().Written();
    return std::all_of(written.begin(), written.end(),
                       [&](std::string_view name) { return Disjoint(fields, name); });
  }
  if (const auto* unwind = dynamic_cast<const UnwindStage*>(&stage)) {
    const exec::UnwindOptions& options = unwind->options();
    return Disjoint(fields, options.path[0]) &&
           (options.index_path.empty() || Disjoint(fields, options.index_path[0]));
  }
  const auto* project = dynamic_cast<const ProjectStage*>(&stage);
  if (!project) {
    return false;
  }
  if (project->projection().is_exclusion()) {
    for (const bson::Element& path : project->document()) {
      if (!Disjoint(fields, path.name().substr(0, path.name().find('.')))) {
        return false;
      }
    }
    return true;
  }
  std::set<std::string> kept;
  return project->projection().PlainInclusion(&kept) &&
         std::includes(kept.begin(), kept.end(), fields.begin(), fields.end());
}

// Moves filters before stages that do not change what they read.
Status PushMatches(Stages* stages, const expr::Context*) {
  for (size_t i = 1; i < stages->size(); ++i) {
    auto* match = dynamic_cast<MatchStage*>((*stages)[i].get());
    std::set<std::string> fields;
    if (!match || !match->AddDependencies(&fields)) {
      continue;
    }
    for (size_t at = i; at > 0 && MatchPasses(fields, *(*stages)[at - 1]); --at) {
      std::swap((*stages)[at], (*stages)[at - 1]);
    }
  }
  return Status::Ok();
}

// {$limit: 5}, {$limit: 3} -> {$limit: 3}; {$skip: 5}, {$skip: 3} -> {$skip: 8}
Status MergeCuts(Stages* stages, const expr::Context*) {
  for (size_t i = 0; i + 1 < stages->size();) {
    auto* first = dynamic_cast<CutStage*>((*stages)[i].get());
    auto* second = dynamic_cast<CutStage*>((*stages)[i + 1].get());
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

// Tells a $sort how many rows the $skip and $limit behind it let through.
Status LimitSorts(Stages* stages, const expr::Context*) {
  for (size_t i = 0; i < stages->size(); ++i) {
    auto* sort = dynamic_cast<SortStage*>((*stages)[i].get());
    if (!sort) {
      continue;
    }
    int64_t skipped = 0;
    for (size_t at = i + 1; at < stages->size(); ++at) {
      auto* cut = dynamic_cast<CutStage*>((*stages)[at].get());
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

}  // namespace

const std::vector<Rewrite>& Rewrites() {
  static const auto* rewrites = new std::vector<Rewrite>{
      {"push-matches", PushMatches},
      {"merge-matches", MergeMatches},
      {"merge-cuts", MergeCuts},
      {"limit-sorts", LimitSorts},
  };
  return *rewrites;
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

}  // namespace quire::plan
