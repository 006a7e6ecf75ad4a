// SPDX-License-Identifier: Apache-2.0
#include "router/pipeline/view_read.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "engine/read/read.h"

namespace quire::router {

Aggregation OnView(const std::string& ns, const engine::ViewRead& read, bson::View command) {
  const size_t dot = ns.find('.');
  bson::Builder out;
  out.Append("aggregate", ns.substr(dot + 1)).BeginArray("pipeline");
  for (const bson::Document& stage : read.stages) {
    out.Push(stage);
  }
  out.End();
  if (!read.collation.empty()) {
    out.Append("collation", read.collation);
  }
  if (!read.let.empty()) {
    out.Append("let", read.let);
  }
  if (!read.hint.missing()) {
    out.Append("hint", read.hint);
  }
  out.BeginDocument("cursor");
  if (const bson::Value size = command["batchSize"]; size.is_number()) {
    out.Append("batchSize", size);
  }
  out.End();
  for (std::string_view name : {"readConcern", "$readPreference"}) {
    if (const bson::Value value = command[name]; !value.missing()) {
      out.Append(name, value);
    }
  }
  return Aggregation::Of(ns.substr(0, dot), out.Finish());
}

Result<Aggregation> OnView(const std::string& ns, bson::View command) {
  const std::string_view name = command.front().name();
  engine::ViewRead read;
  if (name == "find") {
    ASSIGN_OR_RETURN(const auto find, request::FindRequest::Parse(command));
    ASSIGN_OR_RETURN(read, engine::FindOnView(ns, find));
  } else if (name == "count") {
    ASSIGN_OR_RETURN(const auto count, request::CountRequest::Parse(command));
    read = engine::ExplainedCountOnView(count);
  } else if (name == "distinct") {
    ASSIGN_OR_RETURN(const auto distinct, request::DistinctRequest::Parse(command));
    read = engine::ExplainedDistinctOnView(distinct);
  } else {
    return Status(kCommandNotSupportedOnView, "Namespace " + ns + " is a view, not a collection");
  }
  return OnView(ns, read, command);
}

}  // namespace quire::router
