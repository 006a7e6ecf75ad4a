// SPDX-License-Identifier: Apache-2.0
//
// What must hold.
#include "shard/core/testing/simulator_internal.h"

namespace quire::shard {

// At every moment a key has one shard at most that takes its writes.
void Simulator::CheckOwners() {
  for (int key = 0; key < kKeys; ++key) {
    int owners = 0;
    for (const ShardState& s : shards_) {
      owners += s.known.placed.version.sharded && !s.known.blocked && Owns(s.known.placed, key);
    }
    const Known& primary = shards_[0].known;
    owners += owners > 0 && !primary.placed.version.sharded && !primary.blocked;
    if (owners > 1) {
      Fail("a key has two owners");
      return;
    }
  }
}

// When everything has come to rest, all shards agree with each other and with what clients were
// told.
void Simulator::CheckEnd() {
  if (!lock_.lock.over) {
    Fail("a change never ends");
    return;
  }
  const bool live = routing_.live;
  for (int i = 0; i < kShards; ++i) {
    ShardState& s = shards_[static_cast<size_t>(i)];
    if (s.known.blocked || s.closed) {
      Fail("a name stays blocked");
    }
    if (live && s.catalog != routing_.uuid) {
      Fail("a shard lacks the collection");
    }
    if (!live && i != 0 && s.catalog != 0) {
      Fail("a shard keeps a collection that was dropped or never sharded");
    }
    if (live && s.collections[routing_.uuid].index != shards_[0].collections[routing_.uuid].index) {
      Fail("an index is not on all shards");
    }
    for (const auto& [uuid, collection] : s.collections) {
      if (collection.pending) {
        Fail("an index stays half made");
      }
      if (dropped_.contains(uuid)) {
        Fail("a dropped collection is there");
      }
    }
  }
  for (const Wish& wish : wishes_) {
    if (wish.kind == Kind::kIndex && wish.answered == 1 && live && wish.uuid == routing_.uuid &&
        !shards_[0].collections[routing_.uuid].index) {
      Fail("an index that a client was promised is missing");
    }
  }
  for (const DocumentFate& fate : documents_) {
    if (!fate.acknowledged || dropping_.contains(fate.uuid)) {
      continue;
    }
    const int owner = live ? routing_.owner[static_cast<size_t>(fate.key)] : 0;
    ShardState& s = shards_[static_cast<size_t>(owner)];
    const int id = static_cast<int>(&fate - documents_.data());
    if (s.catalog == 0 || !s.collections[s.catalog].documents.contains(id)) {
      Fail("an acknowledged write is not where routers look for it");
    }
  }
}

}  // namespace quire::shard
