// SPDX-License-Identifier: Apache-2.0
//
// The reply of commands that open or read a cursor: {cursor: {firstBatch, id, ns}}.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::request {

enum class BatchKind : uint8_t { kFirst, kNext };

// Views of the reply, or of what the writer keeps.
struct CursorReply {
  bson::View batch = {};  // an array of documents, when read
  // Where a change stream goes on after the batch; empty in other cursors.
  bson::Document post_batch_resume_token = {};
  bson::Document stream = {};  // what a shard's change stream tells a router
  std::optional<bson::Timestamp> at_cluster_time = {};  // of a snapshot read
  bool partial = false;                                 // some shards gave nothing
  int64_t id = 0;                                       // 0: there is no more
  std::string_view ns = {};

  // ProtocolError when the document is no such reply.
  static Result<CursorReply> Read(const bson::Argument& reply);

  // Begins the reply: the documents of the batch are pushed onto the builder then.
  static void Begin(BatchKind kind, bson::Builder* reply);
  // Ends the batch and the cursor document; `batch` counts as pushed.
  void End(bson::Builder* reply) const;
};

}  // namespace quire::request
