// SPDX-License-Identifier: Apache-2.0
//
// How a batch of writes is cut into commands for shards. No I/O.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "placement/target/target.h"
#include "quire/bson.h"

namespace quire::router {

// One document to insert, or one update or delete statement.
struct WriteStatement {
  int32_t index = 0;  // in the client's batch
  bson::Document document;
  placement::WriteWay way = placement::WriteWay::kDirect;
  std::vector<placement::ShardName> shards;  // one, unless kEach
  int32_t number = 0;                        // in a retryable write
  // Of kEach: those that have run it. It is not sent there again, whatever is learnt meanwhile.
  std::vector<placement::ShardName> answered = {};
};

// Statements that one shard gets in one command.
struct WritePart {
  placement::ShardName shard;
  std::vector<size_t> statements;  // places in the list
};

// What may be sent next of the statements at the places `open`. Ordered: the run of those that go
// to one shard. Unordered: one part per shard of all that go to a single one. A statement that is
// for several shards is a round by itself. No part is larger than a message.
std::vector<WritePart> NextParts(const std::vector<WriteStatement>& statements,
                                 const std::vector<size_t>& open, bool ordered);

// A command with these statements: `array` is "documents", "updates" or "deletes". Shards always
// tell what became of it.
bson::Document PartCommand(bson::View command, std::string_view array,
                           const std::vector<WriteStatement>& statements, const WritePart& part,
                           bool with_ids);

}  // namespace quire::router
