// SPDX-License-Identifier: Apache-2.0
#include "router/pipeline/aggregation.h"

#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "pipeline/parse.h"
#include "pipeline/rewrite.h"
#include "pipeline/stages/match.h"
#include "pipeline/stages/sink.h"

namespace quire::router {

Aggregation Aggregation::Of(const std::string& database, const bson::Argument& command) {
  const bson::Value target = command.view().front().value();
  Aggregation aggregation;
  aggregation.ns = database;
  if (target.is_string()) {
    aggregation.ns += "." + std::string(target.AsString());
  }
  aggregation.shown = aggregation.ns;
  aggregation.command = bson::Document(command.view());
  return aggregation;
}

bool Aggregation::IsRefusal(const Status& status) {
  return status.code() == kCommandOnShardedViewNotSupportedOnMongod;
}

Status Aggregation::Resolve(const Status& refusal) {
  if (refusal.extra().empty()) {
    return refusal;
  }
  const bson::Document extra = bson::Document::FromTrusted(std::string(refusal.extra()));
  const bson::Value view = extra["resolvedView"];
  if (!view.is_document() || !view.AsDocument()["ns"].is_string() ||
      !view.AsDocument()["pipeline"].is_array() || reads_through_router) {
    return refusal;
  }
  const bson::View resolved = view.AsDocument();
  ns = std::string(resolved["ns"].AsString());
  reads_through_router = true;
  const bool has_collation = !command["collation"].missing();
  bson::Builder out;
  out.Append("aggregate", ns.substr(ns.find('.') + 1));
  bool first = true;
  for (const bson::Element& field : command.view()) {
    if (std::exchange(first, false)) {
      continue;
    }
    if (field.name() != "pipeline") {
      out.Append(field);
      continue;
    }
    out.BeginArray("pipeline");
    for (const bson::Value& part : {resolved["pipeline"], field.value()}) {
      for (const bson::Element& stage : part.AsArray()) {
        out.Push(stage.value());
      }
    }
    out.End();
  }
  if (!has_collation && shown != ns) {  // the view's, not that of what it is on
    if (resolved["collation"].is_document()) {
      out.Append("collation", resolved["collation"]);
    } else {
      out.BeginDocument("collation").Append("locale", "simple").End();
    }
  }
  command = out.Finish();
  return Status::Ok();
}

void ParsedPipeline::UseScripts(std::shared_ptr<const js::Scope> scope) {
  context_.script_scope = std::move(scope);
  internal_ = true;
}

Status ParsedPipeline::Parse(const engine::Operation& operation, const Aggregation& aggregation) {
  ASSIGN_OR_RETURN(request_, request::AggregateRequest::Parse(aggregation.command));
  if (!request_.collation.empty()) {
    ASSIGN_OR_RETURN(collator_, expr::Collator::Parse(request_.collation));
    context_.collator = collator_.get();
  }
  RETURN_IF_ERROR(engine::FillContext(operation, request_.let, &context_));
  pipeline::PipelineOptions options;
  options.ns = {aggregation.ns.substr(0, aggregation.ns.find('.')),
                std::string(request_.collection)};
  options.internal = internal_;
  ASSIGN_OR_RETURN(stages_, pipeline::ParsePipeline(request_.pipeline.view, options, &context_));
  std::vector<pipeline::Namespace> read;
  pipeline::AddNamespaces(stages_, &read);
  for (const pipeline::Namespace& ns : read) {
    if (!ns.collection.empty()) {
      others_.insert(ns.database + "." + ns.collection);
    }
  }
  if (!stages_.empty()) {
    if (const auto* last = pipeline::As<pipeline::SinkStage>(stages_.back().get())) {
      sink_ = last->options().target.database + "." + last->options().target.collection;
    }
  }
  return pipeline::RewriteStages(&stages_, &context_, {"fuse-lookups"});
}

bson::View ParsedPipeline::leading_filter() const {
  const auto* match =
      stages_.empty() ? nullptr : pipeline::As<pipeline::MatchStage>(stages_.front().get());
  return match == nullptr ? bson::View() : match->filter();
}

bson::Document ArrayOf(const std::vector<bson::Document>& stages) {
  bson::Builder out;
  for (const bson::Document& stage : stages) {
    out.Push(stage);
  }
  return out.Finish();
}

}  // namespace quire::router
