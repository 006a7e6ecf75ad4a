// SPDX-License-Identifier: Apache-2.0
//
// Requests to shards, several at once, without a thread that waits.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "placement/chunk_map.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "router/flow/flow.h"
#include "router/remote/lanes.h"
#include "router/remote/members.h"

namespace quire::router {

// How a router reaches its shards.
struct Remote {
  Lanes& lanes;
  Members& members;
  // Told of every reply: it carries the cluster time.
  std::function<void(bson::View reply)> heard;
};

struct Asked {
  placement::ShardName shard;
  std::string host;        // of the member that has to answer; empty: whoever may
  bson::Document command;  // with its $db
};

struct Heard {
  placement::ShardName shard;
  std::string host;              // that was asked last
  Result<bson::Document> reply;  // an error of the command is the result's
  bson::Document error;          // the reply that the error was read from; empty: there was none
};

struct AskOptions {
  ReadPreference preference;
  // The request may be sent again when nobody knows whether it was run: it reads, or shards
  // remember it.
  bool repeatable = false;
  // How long a member that may answer is looked for.
  std::chrono::milliseconds timeout = std::chrono::seconds(20);
  // How long one that was found has for its answer, where the operation has no less.
  std::chrono::milliseconds limit = std::chrono::hours(24);
};

// What each of them answered, in the order asked. Sent again where that does no harm. Error: why
// the operation has to end.
Task<Result<std::vector<Heard>>> AskShards(Flow& flow, Remote& remote, std::vector<Asked> asked,
                                           AskOptions options);

}  // namespace quire::router
