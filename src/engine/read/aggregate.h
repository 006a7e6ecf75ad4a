// SPDX-License-Identifier: Apache-2.0
//
// Aggregation: a pipeline over a collection, a view or a source of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/read/read.h"
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

// A running pipeline with everything it owns.
class PipelineRun;

// A cursor on the pipeline's result, not yet in the table. `ns` is "db.collection", or
// "db.$cmd.aggregate" for a pipeline on the database.
Result<std::shared_ptr<Cursor>> Aggregate(const Operation& operation, std::string_view database,
                                          const request::AggregateRequest& request);

// Appends the fields of explain's reply.
Status ExplainAggregate(const Operation& operation, std::string_view database,
                        const request::AggregateRequest& request, std::string_view verbosity,
                        bson::Builder* reply);

// Appends the same for a read of the view `ns`.
Status ExplainView(const Operation& operation, const std::string& ns, const ViewRead& read,
                   std::string_view verbosity, bson::Builder* reply);

// A pipeline on the documents of `ns`, for reads of views.
Result<std::shared_ptr<Cursor>> ReadView(const Operation& operation, const std::string& ns,
                                         const ViewRead& read);

// The array of the stages.
bson::Document PipelineOf(const std::vector<bson::Document>& stages);

// Makes the parts of an explained query read what is in no table: the oplog when that is their
// collection, else system.views of the database.
void ScanWithoutTable(const Operation& operation, const std::string& database,
                      PlannedQuery::Parts* parts);

}  // namespace quire::engine
