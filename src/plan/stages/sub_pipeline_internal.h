// SPDX-License-Identifier: Apache-2.0
//
// Pipelines inside $lookup and $unionWith.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "expr/context.h"
#include "plan/pipeline.h"

namespace quire::plan {

// An operator and what it was built from.
class OwnedRun final : public exec::Operator {
 public:
  OwnedRun(std::unique_ptr<expr::Context> context, OperatorPtr top)
      : context_(std::move(context)), top_(std::move(top)) {}
  Result<bool> Next(OpContext& op, exec::Row* row) override { return top_->Next(op, row); }

 private:
  std::unique_ptr<expr::Context> context_;
  OperatorPtr top_;
};

// A collection's name as stages write it: "c" in the pipeline's database, or {db, coll}. Errors
// InvalidNamespace, 40415, FailedToParse.
Result<Namespace> ParseFrom(const bson::Value& from, std::string_view stage,
                            const Namespace& current);

// States what a stage needs that runs `pipeline` (missing: none) on the collection `from` (missing
// or null: none) of another name than its own.
Status AddInnerNeeds(const bson::Value& from, const bson::Value& pipeline, std::string_view stage,
                     const PipelineOptions& options, auth::Needs* needs);

// Whether the pipeline begins with $documents, and so needs no collection.
bool StartsWithDocuments(const bson::Value& pipeline);

// Runs `pipeline` (an array), after the documents `filter` (empty: all) accepts, on `ns`.
Result<OperatorPtr> OpenSubPipeline(OpContext& op, PipelineEnvironment& env, const Namespace& ns,
                                    bson::View filter, bson::View pipeline,
                                    const PipelineOptions& options, const expr::Context& context);

}  // namespace quire::plan
