// SPDX-License-Identifier: Apache-2.0
//
// Aggregation: a pipeline over a collection, a view or a source of its own.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"
#include "engine/read/shard_rows.h"
#include "engine/read/view.h"
#include "request/crud.h"

namespace quire::engine {

// A cursor on the pipeline's result, not yet in the table. `ns` is "db.collection", or
// "db.$cmd.aggregate" for a pipeline on the database. `rows`: how a router wants them.
Result<std::shared_ptr<run::Cursor>> Aggregate(const Operation& operation,
                                               std::string_view database,
                                               const request::AggregateRequest& request,
                                               const ShardRowsWish& rows = {});

// Appends the fields of explain's reply.
Status ExplainAggregate(const Operation& operation, std::string_view database,
                        const request::AggregateRequest& request, std::string_view verbosity,
                        bson::Builder* reply);

// Appends the same for a read of the view `ns`.
Status ExplainView(const Operation& operation, const std::string& ns, const ViewRead& read,
                   std::string_view verbosity, bson::Builder* reply);

// A pipeline on the documents of `ns`, for reads of views.
Result<std::shared_ptr<run::Cursor>> ReadView(const Operation& operation, const std::string& ns,
                                              const ViewRead& read);

}  // namespace quire::engine
