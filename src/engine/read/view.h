// SPDX-License-Identifier: Apache-2.0
//
// Views, and reads as the stages that follow a view's own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "request/crud.h"

namespace quire::engine {

// A collection behind zero or more views: what to read, and the stages the views put before a
// query's own.
struct ResolvedView {
  store::CollectionPtr collection;  // null when there is none
  bool is_view = false;
  bool lists_views = false;  // it is system.views: the definitions of the database's views
  std::vector<bson::Document> stages;
  std::shared_ptr<const expr::Collator> collator;  // of the outermost view
};
// ViewDepthLimitExceeded for more than 20 levels; OptionNotSupportedOnView when the views'
// collations differ.
Result<ResolvedView> ResolveView(const Operation& operation, std::string_view ns);

// Whether `ns` is read through a pipeline: a view, or system.views, which is no stored collection.
bool ReadsAsView(const store::CollectionInfo* collection, std::string_view ns);

// Null is the simple collation.
bool SameCollation(const expr::Collator* a, const expr::Collator* b);

// A read of a view: stages that follow the view's own.
struct ViewRead {
  std::vector<bson::Document> stages;
  bson::View collation;
  bson::View let;
  bson::Value hint;
};
// The filter, sort, skip, limit and projection of a find as stages.
std::vector<bson::Document> StagesOf(const request::FindRequest& request);

// {name: argument}.
bson::Document StageOf(std::string_view name, const bson::Value& argument);

// The array of the stages.
bson::Document PipelineOf(const std::vector<bson::Document>& stages);

}  // namespace quire::engine
