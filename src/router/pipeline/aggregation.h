// SPDX-License-Identifier: Apache-2.0
//
// An aggregate command on its way through the router: what it reads, with views resolved, and its
// pipeline, parsed and rewritten. No I/O.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "expr/collation/collator.h"
#include "expr/context.h"
#include "pipeline/stage.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "request/crud.h"

namespace quire::router {

struct Aggregation {
  std::string shown;       // the namespace that the client named
  std::string ns;          // of what is read: a collection, or a view that nobody has resolved yet
  bson::Document command;  // on `ns`
  // It has turned out that the shard of `ns` cannot read all that the pipeline names: other
  // collections are read through the router, wherever they lie.
  bool reads_through_router = false;

  // Of a command as the client sent it, {aggregate: collection, ...}.
  static Aggregation Of(const std::string& database, const bson::Argument& command);
  // With what a shard said of a view (CommandOnShardedViewNotSupportedOnMongod): the view's stages
  // come before the command's own.
  Status Resolve(const Status& refusal);
  static bool IsRefusal(const Status& status);
};

// Everything refers to the aggregation's command.
class ParsedPipeline {
 public:
  // Errors: those of the command and of its pipeline.
  Status Parse(const engine::Operation& operation, const Aggregation& aggregation);
  // A command's own pipeline, whose scripts share `scope`. Before Parse.
  void UseScripts(std::shared_ptr<const js::Scope> scope);

  const request::AggregateRequest& request() const { return request_; }
  // Rewritten but for "fuse-lookups", whose stages cannot be sent.
  const pipeline::Stages& stages() const { return stages_; }
  // Namespaces that it reads besides its own.
  const std::set<std::string>& others() const { return others_; }
  // The namespace that it writes; empty: none.
  const std::string& sink() const { return sink_; }
  // The filter of the $match that it begins with; empty without.
  bson::View leading_filter() const;
  // Of a command's own pipeline; null: it is a client's.
  std::shared_ptr<const js::Scope> scripts() const {
    return internal_ ? context_.script_scope : nullptr;
  }
  // Whether what begins it stands for the database ($documents, $currentOp): it has no input.
  bool has_source() const { return pipeline::StartsWithSource(stages_); }

 private:
  request::AggregateRequest request_;
  std::shared_ptr<const expr::Collator> collator_;
  expr::Context context_;
  pipeline::Stages stages_;
  std::set<std::string> others_;
  std::string sink_;
  bool internal_ = false;
};

// The array of the stages.
bson::Document ArrayOf(const std::vector<bson::Document>& stages);

}  // namespace quire::router
