// SPDX-License-Identifier: Apache-2.0
#include "plan/stages/sub_pipeline.h"

#include "base/try.h"
#include "pipeline/parse.h"
#include "pipeline/rewrite.h"
#include "pipeline/stages/foreign.h"

namespace quire::plan {

namespace {

// The filter before the pipeline's stages, behind its first when that is $documents.
bson::Document Filtered(bson::View filter, bson::View stages) {
  const bool documents_first = pipeline::StartsWithDocuments(bson::Value::Array(stages));
  bson::Builder whole;
  if (!filter.empty() && !documents_first) {
    whole.PushDocument().Append("$match", filter).End();
  }
  for (const bson::Element& stage : stages) {
    whole.Push(stage.value());
    if (documents_first && whole.pushed() == 1 && !filter.empty()) {
      whole.PushDocument().Append("$match", filter).End();
    }
  }
  return whole.Finish();
}

}  // namespace

Result<OperatorPtr> OpenSubPipeline(OpContext& op, PipelineEnvironment& env,
                                    const pipeline::Namespace& ns, bson::View filter,
                                    bson::View stages, const pipeline::PipelineOptions& options,
                                    const expr::Context& context) {
  const bson::Document whole = Filtered(filter, stages);
  ASSIGN_OR_RETURN(pipeline::Stages parsed, pipeline::ParsePipeline(whole, options, &context));
  RETURN_IF_ERROR(pipeline::RewriteStages(&parsed, &context, env.rewrites_off()));
  return env.OpenPipeline(op, ns, std::move(parsed), context);
}

}  // namespace quire::plan
