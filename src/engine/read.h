// SPDX-License-Identifier: Apache-2.0
//
// Reading: queries become plans, plans become cursors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/planned_query.h"
#include "request/crud.h"
#include "request/dispatch.h"

namespace quire::engine {

// A cursor positioned before the first document, not yet in the table. `ns` is "db.collection".
Result<std::shared_ptr<Cursor>> Find(const Operation& operation, const std::string& ns,
                                     const request::FindRequest& request);

// A find on a view as stages; a sort by $natural is left out.
std::vector<bson::Document> StagesOf(const request::FindRequest& request);

// The parts of a read, for explain too.
PlannedQuery::Parts FindParts(const request::FindRequest& request, store::CollectionPtr collection);
PlannedQuery::Parts CountParts(const request::CountRequest& request,
                               store::CollectionPtr collection);
PlannedQuery::Parts DistinctParts(const request::DistinctRequest& request,
                                  store::CollectionPtr collection);

// {name: argument}.
bson::Document StageOf(std::string_view name, const bson::Value& argument);

// What the profiler and the log say of the run.
void Summarise(const PlannedQuery& query, request::OpSummary* summary);

Result<int64_t> Count(const Operation& operation, const std::string& ns,
                      const request::CountRequest& request, request::OpSummary* summary);

// Appends the array "values".
Status Distinct(const Operation& operation, const std::string& ns,
                const request::DistinctRequest& request, request::OpSummary* summary,
                bson::Builder* reply);

}  // namespace quire::engine
