// SPDX-License-Identifier: Apache-2.0
//
// Reading: queries become plans, plans become cursors.
#pragma once

#include <memory>
#include <string>

#include "engine/read/planned_query.h"
#include "engine/read/shard_rows.h"
#include "engine/read/view.h"
#include "request/call.h"
#include "request/crud.h"

namespace quire::engine {

// A cursor positioned before the first document, not yet in the table. `ns` is "db.collection".
// `rows`: how a router wants them.
Result<std::shared_ptr<run::Cursor>> Find(const Operation& operation, const std::string& ns,
                                          const request::FindRequest& request,
                                          const ShardRowsWish& rows = {});

// InvalidPipelineOperator for a find with options that views do not have. A sort by $natural is
// left out.
Result<ViewRead> FindOnView(const std::string& ns, const request::FindRequest& request);
// The view's documents are those to be counted.
ViewRead CountOnView(const request::CountRequest& request);
// The view's documents hold the values.
ViewRead DistinctOnView(const request::DistinctRequest& request);
// The same as the aggregations that explain shows: they count, and collect the values.
ViewRead ExplainedCountOnView(const request::CountRequest& request);
ViewRead ExplainedDistinctOnView(const request::DistinctRequest& request);

// What a read asks for, for explain too.
plan::QuerySpec FindQuery(const request::FindRequest& request, store::CollectionPtr collection);
plan::QuerySpec CountQuery(const request::CountRequest& request, store::CollectionPtr collection);
plan::QuerySpec DistinctQuery(const request::DistinctRequest& request,
                              store::CollectionPtr collection);

// What the profiler and the log say of the run.
void Summarise(const PlannedQuery& query, request::OpSummary* summary);

Result<int64_t> Count(const Operation& operation, const std::string& ns,
                      const request::CountRequest& request, request::OpSummary* summary);

// Appends the array "values".
Status Distinct(const Operation& operation, const std::string& ns,
                const request::DistinctRequest& request, request::OpSummary* summary,
                bson::Builder* reply);

}  // namespace quire::engine
