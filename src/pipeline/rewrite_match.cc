// SPDX-License-Identifier: Apache-2.0
//
// Rewrites that bring filters nearer to the documents.
#include <optional>
#include <vector>

#include "base/try.h"
#include "pipeline/rewrite_internal.h"
#include "pipeline/stages/group.h"
#include "pipeline/stages/lookup.h"
#include "pipeline/stages/match.h"
#include "pipeline/stages/unwind.h"

namespace quire::pipeline {

namespace {

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

// The condition on a field that the stage gives another name, on the field itself; nothing when it
// does not.
std::optional<bson::Document> BeforeRename(const Stage& stage, bson::View condition) {
  const bool writes = stage.kind() == StageKind::kProject || stage.kind() == StageKind::kAddFields;
  if (!writes || !stage.spec().is_document() || condition.Count() != 1) {
    return std::nullopt;
  }
  const std::string_view name = condition.front().name();
  const bson::Value source = stage.spec().AsDocument()[name];
  if (name.starts_with('$') || !source.is_string()) {
    return std::nullopt;
  }
  const std::string_view path = source.AsString();
  const bool plain = path.size() > 1 && path[0] == '$' && path[1] != '$' &&
                     path.find('.') == std::string_view::npos &&
                     name.find('.') == std::string_view::npos;
  if (!plain) {
    return std::nullopt;
  }
  return bson::Builder().Append(path.substr(1), condition.front().value()).Finish();
}

}  // namespace

Status SplitMatches(Stages* stages, const expr::Context* context) {
  Stages out;
  for (StagePtr& stage : *stages) {
    auto* match = As<MatchStage>(stage.get());
    if (match != nullptr && match->filter().empty()) {
      continue;  // lets everything pass
    }
    std::vector<bson::Document> conditions;
    if (match != nullptr && !out.empty() && !match->StaysInPlace()) {
      AddConditions(match->filter(), &conditions);
    }
    if (conditions.size() < 2) {
      out.push_back(std::move(stage));
      continue;
    }
    for (const bson::Document& condition : conditions) {
      ASSIGN_OR_RETURN(StagePtr part, MakeMatch(condition, {context, {}}));
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
      auto* match = As<MatchStage>(stage.get());
      std::set<std::string> fields;
      if (match == nullptr || match->StaysInPlace() || !match->AddDependencies(&fields)) {
        break;
      }
      StagePtr& before = (*stages)[at - 1];
      if (const auto* group = As<GroupStage>(before.get())) {
        std::optional<bson::Document> renamed = group->FilterOnInput(match->filter());
        if (!renamed) {
          break;
        }
        ASSIGN_OR_RETURN(stage, MakeMatch(*renamed, {context, {}}));
      } else if (!before->LetsFilterPass(fields)) {
        std::optional<bson::Document> renamed = BeforeRename(*before, match->filter());
        if (!renamed) {
          break;
        }
        ASSIGN_OR_RETURN(stage, MakeMatch(*renamed, {context, {}}));
      }
      std::swap(stage, before);
    }
  }
  return Status::Ok();
}

Status FuseLookups(Stages* stages, const expr::Context*) {
  for (size_t i = 0; i + 1 < stages->size(); ++i) {
    auto* lookup = As<LookupStage>((*stages)[i].get());
    auto* unwind = As<UnwindStage>((*stages)[i + 1].get());
    if (lookup == nullptr || unwind == nullptr || lookup->as().size() != 1 ||
        unwind->options().path != lookup->as()) {
      continue;
    }
    lookup->TakeUnwind(unwind->options());
    bool keeps_unmatched = unwind->options().preserve;
    auto next = stages->begin() + static_cast<long>(i) + 1;
    next = stages->erase(next);
    while (next != stages->end() && !keeps_unmatched) {
      auto* match = As<MatchStage>(next->get());
      std::optional<bson::Document> inner;
      if (match != nullptr && !match->StaysInPlace()) {
        inner = lookup->FilterOnJoined(match->filter());
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
    return i < stages->size() ? As<MatchStage>((*stages)[i].get()) : nullptr;
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
    ASSIGN_OR_RETURN((*stages)[i], MakeMatch(filter, {context, {}}));
    stages->erase(stages->begin() + static_cast<long>(i) + 1,
                  stages->begin() + static_cast<long>(end));
  }
  return Status::Ok();
}

}  // namespace quire::pipeline
