// SPDX-License-Identifier: Apache-2.0
#include "router/pipeline/view_read.h"

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

}  // namespace quire::router
