// SPDX-License-Identifier: Apache-2.0
//
// Rewrites that bring filters nearer to the documents.
#include <algorithm>
#include <optional>
#include <vector>

#include "plan/rewrite_internal.h"
#include "plan/stages/group_internal.h"
#include "plan/stages/lookup_internal.h"
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

// Operators that must stay where they were written.
bool StaysInPlace(const MatchStage& match) {
  return FilterUses(match.filter(), {"$text", "$near", "$nearSphere", "$where"});
}

// The conditions of a filter that must all hold, each as a filter of its own.
void AddConditions(bson::View filter, std::vector<bson::Document>* conditions) {
  for (const bson::Element& element : filter) {
    if (element.name() == "$and" && element.type() == bson::Type::kArray) {
      for (const bson::Element& branch : element.value().AsArray()) {
        AddConditions(branch.value().AsDocument(), conditions);
      }
      continue;
    }
    bson::Builder condition;
    condition.Append(element);
    conditions->push_back(condition.Finish());
  }
}

bool Disjoint(const std::set<std::string>& fields, std::string_view name) {
  return fields.count(std::string(name)) == 0;
}

bool PassesProject(const std::set<std::string>& fields, const ProjectStage& project) {
  if (!project.projection().is_exclusion()) {
    std::set<std::string> kept;
    return project.projection().PlainInclusion(&kept) &&
           std::includes(kept.begin(), kept.end(), fields.begin(), fields.end());
  }
  for (const bson::Element& path : project.document()) {
    if (!Disjoint(fields, path.name().substr(0, path.name().find('.')))) {
      return false;
    }
  }
  return true;
}

// Whether a filter on `fields` gives the same before `stage` as after it.
bool Passes(const std::set<std::string>& fields, const Stage& stage) {
  if (const auto* sort = dynamic_cast<const SortStage*>(&stage)) {
    return sort->limit() == 0;
  }
  if (const auto* match = dynamic_cast<const MatchStage*>(&stage)) {
    return !StaysInPlace(*match);
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
  if (const auto* lookup = dynamic_cast<const LookupStage*>(&stage)) {
    return Disjoint(fields, lookup->as()[0]);
  }
  const auto* project = dynamic_cast<const ProjectStage*>(&stage);
  return project != nullptr && PassesProject(fields, *project);
}

// Values that compare alike whether a field is missing or null.
bool IsPlainOperand(const bson::Value& value) {
  switch (value.type()) {
    case bson::Type::kInt32:
    case bson::Type::kInt64:
    case bson::Type::kDouble:
    case bson::Type::kDecimal128:
    case bson::Type::kString:
    case bson::Type::kBool:
    case bson::Type::kDate:
    case bson::Type::kObjectId:
      return true;
    default:
      return false;
  }
}

// Whether the condition says the same of a $group's key and of the field the key was taken from.
bool HoldsForKeys(const bson::Value& condition) {
  if (!condition.is_document()) {
    return IsPlainOperand(condition) || condition.type() == bson::Type::kNull;
  }
  constexpr std::string_view kComparisons[] = {"$eq", "$ne", "$gt", "$gte", "$lt", "$lte"};
  for (const bson::Element& element : condition.AsDocument()) {
    bool list = element.name() == "$in" || element.name() == "$nin";
    if (list && element.type() == bson::Type::kArray) {
      for (const bson::Element& item : element.value().AsArray()) {
        if (!IsPlainOperand(item.value())) {
          return false;
        }
      }
    } else if (std::find(std::begin(kComparisons), std::end(kComparisons), element.name()) ==
                   std::end(kComparisons) ||
               !IsPlainOperand(element.value())) {
      return false;
    }
  }
  return !condition.AsDocument().empty();
}

// The condition on a key of `group` as one on its input; nothing when there is none.
std::optional<bson::Document> BeforeGroup(bson::View condition, const GroupStage& group) {
  bson::Element only = condition.front();
  std::string field = group.FieldOfKey(only.name());
  if (condition.Count() != 1 || field.empty() || !HoldsForKeys(only.value())) {
    return std::nullopt;
  }
  bson::Builder renamed;
  renamed.Append(field, only.value());
  return renamed.Finish();
}

// The condition on what `lookup` joins as one on the joined documents.
std::optional<bson::Document> InsideLookup(bson::View condition, const LookupStage& lookup) {
  bson::Element only = condition.front();
  const std::string prefix = lookup.as()[0] + ".";
  bool joined = condition.Count() == 1 && lookup.as().size() == 1 &&
                only.name().size() > prefix.size() && only.name().starts_with(prefix);
  if (!joined) {
    return std::nullopt;
  }
  bson::Builder inner;
  inner.Append(only.name().substr(prefix.size()), only.value());
  return inner.Finish();
}

}  // namespace

Status SplitMatches(Stages* stages, const expr::Context* context) {
  Stages out;
  for (StagePtr& stage : *stages) {
    auto* match = dynamic_cast<MatchStage*>(stage.get());
    std::vector<bson::Document> conditions;
    if (match != nullptr && !out.empty() && !StaysInPlace(*match)) {
      AddConditions(match->filter(), &conditions);
    }
    if (conditions.size() < 2) {
      out.push_back(std::move(stage));
      continue;
    }
    for (const bson::Document& condition : conditions) {
      ASSIGN_OR_RETURN(StagePtr part, MakeMatch(condition, context));
      out.push_back(std::move(part));
    }
  }
  *stages = std::move(out);
  return Status::Ok();
}

Status PushMatches(Stages* stages, const expr::Context* context) {
  for (size_t i = 1; i < stages->size(); ++i) {
    for (size_t at = i; at > 0; --at) {
      StagePtr& stage = (*stages)[at];
      auto* match = dynamic_cast<MatchStage*>(stage.get());
      std::set<std::string> fields;
      if (match == nullptr || StaysInPlace(*match) || !match->AddDependencies(&fields)) {
        break;
      }
      StagePtr& before = (*stages)[at - 1];
      if (const auto* group = dynamic_cast<const GroupStage*>(before.get())) {
        std::optional<bson::Document> renamed = BeforeGroup(match->filter(), *group);
        if (!renamed) {
          break;
        }
        ASSIGN_OR_RETURN(stage, MakeMatch(*renamed, context));
      } else if (!Passes(fields, *before)) {
        break;
      }
      std::swap(stage, before);
    }
  }
  return Status::Ok();
}

Status FuseLookups(Stages* stages, const expr::Context*) {
  for (size_t i = 0; i + 1 < stages->size(); ++i) {
    auto* lookup = dynamic_cast<LookupStage*>((*stages)[i].get());
    auto* unwind = dynamic_cast<UnwindStage*>((*stages)[i + 1].get());
    if (lookup == nullptr || unwind == nullptr || lookup->as().size() != 1 ||
        unwind->options().path != lookup->as()) {
      continue;
    }
    lookup->TakeUnwind(unwind->options());
    bool keeps_unmatched = unwind->options().preserve;
    auto next = stages->begin() + static_cast<long>(i) + 1;
    next = stages->erase(next);
    while (next != stages->end() && !keeps_unmatched) {
      auto* match = dynamic_cast<MatchStage*>(next->get());
      std::optional<bson::Document> inner;
      if (match != nullptr && !StaysInPlace(*match)) {
        inner = InsideLookup(match->filter(), *lookup);
      }
      if (!inner) {
        break;
      }
      lookup->TakeFilter(*inner);
      next = stages->erase(next);
    }
  }
  return Status::Ok();
}

Status MergeMatches(Stages* stages, const expr::Context* context) {
  auto match_at = [&](size_t i) {
    return i < stages->size() ? dynamic_cast<const MatchStage*>((*stages)[i].get()) : nullptr;
  };
  for (size_t i = 0; i < stages->size(); ++i) {
    // One list of all that stand together: nested pairs would be too deep for many of them.
    std::vector<bson::View> filters;
    size_t end = i;
    for (const MatchStage* match = match_at(end);
         match != nullptr && (end == i || !match->filter().Has("$text")); match = match_at(++end)) {
      if (!match->filter().empty()) {
        filters.push_back(match->filter());
      }
    }
    if (end < i + 2) {
      continue;
    }
    bson::Document filter;
    if (filters.size() == 1) {
      filter = bson::Document(filters[0]);
    } else if (!filters.empty()) {
      bson::Builder all;
      all.BeginArray("$and");
      for (bson::View each : filters) {
        all.Push(each);
      }
      all.End();
      filter = all.Finish();
    }
    ASSIGN_OR_RETURN((*stages)[i], MakeMatch(filter, context));
    stages->erase(stages->begin() + static_cast<long>(i) + 1,
                  stages->begin() + static_cast<long>(end));
  }
  return Status::Ok();
}

}  // namespace quire::plan
