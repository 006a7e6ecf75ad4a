// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage.h"

namespace quire::pipeline {

Stage::Stage(StageKind kind, const bson::Element& spec, const StageContext& context)
    : kind_(kind), context_(context.context) {
  bson::Builder builder;
  builder.Append(spec);
  source_ = builder.Finish();
}

void Stage::Explain(bson::Builder* out) const { out->Append(source_.view().front()); }

bool StartsWithSource(const Stages& stages) {
  return !stages.empty() && (stages.front()->kind() == StageKind::kSource ||
                             stages.front()->kind() == StageKind::kDocuments);
}

bool EndsWithSink(const Stages& stages) {
  return !stages.empty() && stages.back()->kind() == StageKind::kSink;
}

void AddNamespaces(const Stages& stages, std::vector<Namespace>* namespaces) {
  for (const StagePtr& stage : stages) {
    stage->AddNamespaces(namespaces);
  }
}

}  // namespace quire::pipeline
