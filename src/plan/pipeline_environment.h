// SPDX-License-Identifier: Apache-2.0
//
// What a running pipeline asks of the world around it: other collections, writes, statistics.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/op_context.h"
#include "expr/context.h"
#include "pipeline/stage.h"
#include "pipeline/stages/sink.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::plan {

using pipeline::OperatorPtr;

// Takes the documents $out and $merge write.
class DocumentSink {
 public:
  virtual ~DocumentSink() = default;
  virtual Status Write(OpContext& op, bson::View document) = 0;
  // After the last document: makes what was written visible.
  virtual Status Finish(OpContext& op) = 0;
};

// The engine's side of a running pipeline. Lives as long as the operators built with it.
class PipelineEnvironment {
 public:
  virtual ~PipelineEnvironment() = default;

  virtual bool allow_disk_use() const = 0;
  // Names of the rewrites that are switched off; see pipeline::RewriteNames.
  virtual const std::set<std::string>& rewrites_off() const = 0;

  // The documents of `ns` (a collection or a view, empty when there is none) through `stages`. The
  // operator takes the stages over; `context`, with which they were parsed, outlives it. The engine
  // plans the leading stages as a find.
  virtual Result<OperatorPtr> OpenPipeline(OpContext& op, const pipeline::Namespace& ns,
                                           pipeline::Stages stages,
                                           const expr::Context& context) = 0;
  // Whether an index of `ns` answers equality on `path` (then $lookup asks per document, else it
  // reads the collection once).
  virtual bool HasIndexOn(const pipeline::Namespace& ns, std::string_view path) = 0;

  // The rows of a stage of the kind kSource, by its name and its argument.
  virtual Result<OperatorPtr> OpenSource(OpContext& op, std::string_view stage,
                                         const bson::Value& spec) = 0;

  virtual Result<std::unique_ptr<DocumentSink>> OpenSink(OpContext& op,
                                                         const pipeline::SinkOptions& options) = 0;
};

}  // namespace quire::plan
