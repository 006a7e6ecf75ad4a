// SPDX-License-Identifier: Apache-2.0
//
// What aggregate and its explain share.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "expr/collation/collator.h"
#include "expr/context.h"
#include "pipeline/stage.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "request/crud.h"
#include "router/routed.h"

namespace quire::router {

// A pipeline as it was written, and what it names.
class ParsedPipeline {
 public:
  Status Parse(Routed& request, const request::AggregateRequest& aggregate);

 private:
  std::shared_ptr<const expr::Collator> collator_;
  expr::Context context_;

 public:
  pipeline::Stages stages;       // refer to the context
  std::set<std::string> others;  // namespaces that it reads besides its own
  std::string sink;              // that it writes; empty: none
};

// The filter of the $match that the pipeline begins with; empty without.
bson::View LeadingFilter(bson::View pipeline);
// The aggregate command for shards with these stages.
bson::Document ShardsCommand(bson::View body, const std::vector<bson::Document>& stages);

// Explains an aggregate command (`command` as the client wrote it) that is divided, or runs on one
// shard of a sharded collection.
Task<Status> ExplainDivided(Routed& request, const bson::Document& command, std::string verbosity);

}  // namespace quire::router
