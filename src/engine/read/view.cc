// SPDX-License-Identifier: Apache-2.0
#include "engine/read/view.h"

#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"

namespace quire::engine {

bson::Document PipelineOf(const std::vector<bson::Document>& stages) {
  bson::Builder array;
  for (const bson::Document& stage : stages) {
    array.Push(stage.view());
  }
  return array.Finish();
}

bool SameCollation(const expr::Collator* a, const expr::Collator* b) {
  if (a == nullptr || b == nullptr) {
    return a == b;
  }
  return bson::CompareDocuments(a->spec(), b->spec()) == 0;
}

bool ReadsAsView(const store::CollectionInfo* collection, std::string_view ns) {
  if (collection != nullptr) {
    return collection->is_view();
  }
  size_t dot = ns.find('.');
  return dot != std::string_view::npos && ns.substr(dot + 1) == "system.views";
}

Result<ResolvedView> ResolveView(const Operation& operation, std::string_view ns) {
  constexpr int kMaxDepth = 20;
  ResolvedView resolved;
  std::string at(ns);
  bool first = true;
  for (int depth = 0; depth <= kMaxDepth; ++depth) {
    ASSIGN_OR_RETURN(store::CollectionPtr info, operation.Find(at));
    if (first) {
      resolved.collator = info != nullptr ? info->collator : nullptr;
    } else if (info != nullptr && info->is_view() &&
               !SameCollation(info->collator.get(), resolved.collator.get())) {
      return Status(kOptionNotSupportedOnView,
                    "View " + std::string(ns) + " has a collation other than that of " + at);
    }
    first = false;
    if (info == nullptr || !info->is_view() || info->is_oplog) {
      resolved.lists_views = ReadsAsView(info.get(), at);
      resolved.collection = std::move(info);
      return resolved;
    }
    resolved.is_view = true;
    std::vector<bson::Document> stages;
    if (bson::Value pipeline = info->options["pipeline"]; pipeline.is_array()) {
      for (const bson::Element& e : pipeline.AsArray()) {
        stages.emplace_back(e.value().AsDocument());
      }
    }
    for (bson::Document& stage : resolved.stages) {
      stages.push_back(std::move(stage));
    }
    resolved.stages = std::move(stages);
    at = info->database + "." + info->view_on;
  }
  return Status(kViewDepthLimitExceeded,
                "View depth too deep: maximum is 20, from " + std::string(ns));
}

bson::Document StageOf(std::string_view name, const bson::Value& argument) {
  bson::Builder stage;
  stage.Append(name, argument);
  return stage.Finish();
}

std::vector<bson::Document> StagesOf(const request::FindRequest& request) {
  std::vector<bson::Document> stages;
  if (!request.filter.empty()) {
    stages.push_back(StageOf("$match", bson::Value(request.filter)));
  }
  if (!request.sort.empty() && !request.sort.Has("$natural")) {
    stages.push_back(StageOf("$sort", bson::Value(request.sort)));
  }
  if (request.skip > 0) {
    stages.push_back(StageOf("$skip", bson::Value(request.skip)));
  }
  if (request.limit > 0) {
    stages.push_back(StageOf("$limit", bson::Value(request.limit)));
  }
  if (!request.projection.empty()) {
    stages.push_back(StageOf("$project", bson::Value(request.projection)));
  }
  return stages;
}

}  // namespace quire::engine
