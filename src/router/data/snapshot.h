// SPDX-License-Identifier: Apache-2.0
//
// Reads with read concern "snapshot" outside transactions: all shards show one cluster time.
//
// A shard can show a time again that it has kept. So before the first read of a snapshot a time is
// chosen that lies a little ahead, and every shard keeps what it has when its clock passes it; one
// that has written at a later time by then says no, and a later time is chosen. All are asked, not
// only those of this read: the client may read others at the time that the reply tells.
#pragma once

#include "quire/status.h"
#include "router/catalog/route.h"
#include "router/flow/task.h"
#include "router/routed.h"

namespace quire::router {

bool ReadsSnapshot(const Routed& request);

// Sets request.snapshot_time: what its client names, or a time of which the shards that answer keep
// what they have. REQUIRES: ReadsSnapshot(request). Error: SnapshotUnavailable.
Task<Status> FixSnapshotTime(Routed& request);

// Error: SnapshotUnavailable, when the collection has been placed otherwise since the request's
// snapshot time. What a shard gave away it does not show.
Status CheckPlacedThen(const Routed& request, const Route& route);

}  // namespace quire::router
