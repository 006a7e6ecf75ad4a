// SPDX-License-Identifier: Apache-2.0
#include "pipeline/leading_find.h"

#include <algorithm>

#include "pipeline/stages/group.h"
#include "pipeline/stages/match.h"
#include "pipeline/stages/order.h"
#include "pipeline/stages/reshape.h"

namespace quire::pipeline {

namespace {

// Notes what the stages read: an inclusion, that they read nothing, or neither when they need whole
// documents.
void NoteNeededFields(const Stages& stages, size_t from, LeadingFind* find) {
  std::set<std::string> fields;
  bool narrowed = false;
  for (size_t i = from; i < stages.size() && !narrowed; ++i) {
    if (!stages[i]->AddDependencies(&fields)) {
      return;
    }
    narrowed = stages[i]->Narrows();
  }
  if (!narrowed) {
    return;
  }
  if (fields.empty()) {
    find->no_fields = true;
    return;
  }
  bson::Builder projection;
  if (fields.count("_id") == 0) {
    projection.Append("_id", int32_t{0});
  }
  for (const std::string& field : fields) {
    if (field.empty() || field[0] == '$' || field.find('.') != std::string::npos) {
      return;
    }
    projection.Append(field, int32_t{1});
  }
  find->projection = projection.Finish();
}

// A $project that a find does as well: top-level fields kept as they are.
bool KeepsWholeFields(const ProjectStage& project) {
  std::set<std::string> paths;
  return project.projection().PlainInclusion(&paths) && !paths.empty() &&
         std::none_of(paths.begin(), paths.end(),
                      [](const std::string& path) { return path.find('.') != std::string::npos; });
}

// The field whose distinct values are all that a $group at `stage` wants of documents that `filter`
// chooses by that field alone; empty when it is another stage or wants more.
std::string DistinctKey(bson::View filter, const Stage* stage) {
  const auto* group = As<GroupStage>(stage);
  std::set<std::string> fields;
  if (group == nullptr || group->accumulates() || !AddFilterFields(filter, &fields)) {
    return "";
  }
  std::string key = group->FieldOfKey("_id");
  fields.erase(key);
  return fields.empty() ? key : "";
}

}  // namespace

LeadingFind TakeLeadingFind(Stages* stages, const std::set<std::string>& off) {
  LeadingFind find;
  if (StartsWithSource(*stages) || off.count("leading-find") > 0) {
    return find;
  }
  size_t taken = 0;
  auto at = [&]() { return taken < stages->size() ? (*stages)[taken].get() : nullptr; };
  if (auto* match = As<MatchStage>(at())) {
    find.filter = bson::Document(match->filter());
    ++taken;
  }
  if (auto* sort = As<SortStage>(at())) {
    find.sort = bson::Document(sort->document());
    ++taken;
  }
  if (auto* skip = As<CutStage>(at()); skip && !skip->is_limit()) {
    find.skip = skip->count();
    ++taken;
  }
  if (auto* limit = As<CutStage>(at()); limit && limit->is_limit()) {
    find.limit = limit->count();
    ++taken;
  }
  if (auto* project = As<ProjectStage>(at()); project && KeepsWholeFields(*project)) {
    find.projection = bson::Document(project->document());
    ++taken;
  } else if (off.count("needed-fields") == 0) {
    NoteNeededFields(*stages, taken, &find);
    find.only_needs = true;
  }
  if (find.skip == 0 && find.limit == 0 && off.count("group-by-index") == 0) {
    find.distinct_path = DistinctKey(find.filter, at());
  }
  stages->erase(stages->begin(), stages->begin() + static_cast<long>(taken));
  return find;
}

}  // namespace quire::pipeline
