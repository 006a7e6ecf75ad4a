// SPDX-License-Identifier: Apache-2.0
//
// Entries of the log that change nothing.
#pragma once

#include <string_view>

#include "kv/kv.h"
#include "store/collection_info.h"
#include "store/log/change_log.h"
#include "store/log/change_reader.h"

namespace quire::store {

// What the entry says that a new log begins with.
inline constexpr std::string_view kFirstMessage = "initiating set";

// What an entry says, with the name in `shard`, before a set becomes a shard of the cluster.
inline constexpr std::string_view kShardJoins = "shard joins";

// What an entry says when a primary keeps a snapshot: the other members keep what is before it.
inline constexpr std::string_view kSnapshotKept = "snapshot kept";

// Whether it is the entry of kFirstMessage: nothing was cut off before it.
bool BeginsLog(const Change& change);

// The shard that joins the cluster, by what the change notes; empty: it notes nothing such.
std::string_view JoiningShard(const Change& change);

bool KeepsSnapshot(const Change& change);

// A time up to `time` since which the log, as `txn` sees it, has nothing but no-ops: that of the
// last change, as far as a few entries tell.
Result<uint64_t> LastChange(kv::Txn& txn, uint64_t time);

// Commits a no-op that says `o`, which no change stream shows; where it is in a set's log.
Result<ChangeBuffer::Place> WriteNote(kv::Store& store, ChangeLog& log, bson::View o,
                                      kv::Durability durability);

// Commits a no-op about a collection, which change streams show as what `o2` says.
Status WriteNoteOn(kv::Store& store, ChangeLog& log, const CollectionInfo& info, bson::View o,
                   bson::View o2, kv::Durability durability);

}  // namespace quire::store
