// SPDX-License-Identifier: Apache-2.0
//
// The batches of a cursor as replies carry them: the first one, those of getMores, and the wait of
// a tailable cursor for news.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "auth/needs.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "request/call.h"
#include "run/cursor.h"
#include "run/fail_point.h"

namespace quire::run {

// What the command that opens a cursor says about it.
struct FirstBatch {
  std::optional<int64_t> size;
  bool single = false;                             // nothing is kept for a getMore
  bool partial = false;                            // some shards gave nothing
  std::optional<bson::Timestamp> at_cluster_time;  // of a snapshot read
  std::shared_ptr<const auth::Needs> needs;        // what it was allowed to do
};

// Appends {cursor: {firstBatch, id, ns}}, keeping the cursor when it is not exhausted.
Status AppendFirstBatch(CursorTable& cursors, std::shared_ptr<Cursor> cursor,
                        const FirstBatch& first, request::Call& call);

// Runs a getMore: appends {cursor: {nextBatch, id, ns}}. An awaiting cursor that has nothing leaves
// a suspension in the call, which keeps the cursor and the reply as far as it goes. `may_read` says
// whether whoever calls may read the cursor.
Status RunGetMore(CursorTable& cursors, FailPoints& fail_points, request::Call& call,
                  const std::function<Status(const Cursor&)>& may_read);

}  // namespace quire::run
