// SPDX-License-Identifier: Apache-2.0
#include "router/pipeline/split_command.h"

#include "pipeline/split.h"
#include "pipeline/stages/order.h"
#include "quire/doc.h"

namespace quire::router {

namespace {

using pipeline::Stage;
using pipeline::StageKind;

bson::Document AsWritten(const Stage& stage) {
  bson::Builder out;
  out.Append(stage.name(), stage.spec());
  return out.Finish();
}

bool ReadsOthers(const Stage& stage) {
  std::vector<pipeline::Namespace> read;
  stage.AddNamespaces(&read);
  return !read.empty() || stage.kind() == StageKind::kSink;
}

}  // namespace

DividedPipeline Divide(const pipeline::Stages& stages) {
  DividedPipeline divided;
  size_t at = 0;
  std::string last;
  // One name of the language may have become several stages: it is sent once.
  auto same_source = [&](size_t i) {
    return i > 0 && stages[i]->spec().BinaryEquals(stages[i - 1]->spec()) &&
           stages[i]->name() == stages[i - 1]->name() && stages[i]->kind() != stages[i - 1]->kind();
  };
  for (; at < stages.size(); ++at) {
    const Stage& stage = *stages[at];
    if (stage.name() == "$geoNear") {
      if (!same_source(at)) {
        divided.shards.push_back(AsWritten(stage));
        const bson::Value field = stage.spec().AsDocument()["distanceField"];
        if (field.is_string()) {
          divided.merger.push_back(Doc("$sort", Doc(field.AsString(), 1)));
        }
      }
      continue;
    }
    if (!divided.merger.empty() || stage.spread() != pipeline::Spread::kEach ||
        ReadsOthers(stage)) {
      break;
    }
    divided.shards.push_back(AsWritten(stage));
  }
  const bool near = !divided.merger.empty();
  if (!near && at < stages.size() && stages[at]->spread() == pipeline::Spread::kMerged) {
    if (const auto* sort = pipeline::As<pipeline::SortStage>(stages[at].get())) {
      divided.shards.push_back(AsWritten(*sort));
      const auto* cut =
          at + 1 < stages.size() ? pipeline::As<pipeline::CutStage>(stages[at + 1].get()) : nullptr;
      if (cut != nullptr && cut->is_limit()) {
        divided.shards.push_back(Doc("$limit", cut->count()));
      }
    } else if (const auto* limit = pipeline::As<pipeline::CutStage>(stages[at].get());
               limit != nullptr && limit->is_limit()) {
      divided.shards.push_back(Doc("$limit", limit->count()));
    } else if (stages[at]->kind() == StageKind::kSource) {
      divided.shards.push_back(AsWritten(*stages[at]));
      ++at;
    }
  }
  for (; at < stages.size(); ++at) {
    if (!same_source(at)) {
      divided.merger.push_back(AsWritten(*stages[at]));
    }
  }
  return divided;
}

}  // namespace quire::router
