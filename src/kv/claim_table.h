// SPDX-License-Identifier: Apache-2.0
//
// Which open transaction holds which key, and when a key was last committed: the conflict
// detection of Txn::Claim for backends that keep it in this process. Time is a counter of commits.
// A transaction opens its Claims before it takes its snapshot and commits them after its writes
// became visible; then whoever does not see those writes started before that commit.
//
// Keys are told apart by a hash of 64 bits: two keys that share it conflict as if they were one,
// which costs the later transaction a retry.
//
// Lock order: a shard's mutex and active_mutex_ are never held together. Safe for concurrent use.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <list>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "quire/status.h"

namespace quire::kv {

class ClaimTable {
 private:
  struct Shard;

 public:
  // The claims of one transaction. Given up (as by a rollback) when destroyed.
  // REQUIRES: the table outlives it.
  class Claims {
   public:
    explicit Claims(ClaimTable& table);
    ~Claims();
    Claims(const Claims&) = delete;
    Claims& operator=(const Claims&) = delete;

    // Ok when the key is now held by this transaction (or was); else WriteConflict.
    Status Add(std::string_view key);
    // Ends the transaction: later claims of these keys by transactions already open conflict.
    // REQUIRES: the transaction's writes are visible.
    void Commit();

   private:
    friend class ClaimTable;
    ClaimTable& table_;
    uint64_t start_;
    std::list<uint64_t>::iterator active_;
    bool open_ = true;
    std::vector<uint64_t> held_;  // hashes of keys
  };

  ClaimTable() = default;
  ClaimTable(const ClaimTable&) = delete;
  ClaimTable& operator=(const ClaimTable&) = delete;

  // Keys remembered; for tests.
  size_t size();

 private:
  struct Entry {
    uint64_t hash = kFree;
    const Claims* holder = nullptr;
    uint64_t committed = 0;  // time of the last commit of a claim
    bool queued = false;     // stands in its shard's queue, exactly once
  };
  // Open addressing with linear probes.
  struct alignas(64) Shard {
    Mutex mutex;
    std::vector<Entry> slots QUIRE_GUARDED_BY(mutex);  // a power of two
    size_t used QUIRE_GUARDED_BY(mutex) = 0;
    std::deque<uint64_t> queue
        QUIRE_GUARDED_BY(mutex);  // no longer held, waiting until nobody can conflict

    // The entry of the hash, made when there is none; valid until the next call.
    Entry& Claimed(uint64_t hash) QUIRE_REQUIRES(mutex);
    // REQUIRES of both: it has an entry.
    Entry& Find(uint64_t hash) QUIRE_REQUIRES(mutex);
    void Erase(uint64_t hash) QUIRE_REQUIRES(mutex);
    void Resize(size_t slots) QUIRE_REQUIRES(mutex);
    size_t Probe(uint64_t hash) const QUIRE_REQUIRES(mutex);
  };
  static constexpr size_t kShards = 64;
  static constexpr uint64_t kFree = 0;

  static uint64_t HashOf(std::string_view key);
  Shard& ShardOf(uint64_t hash) { return shards_[hash >> 58]; }
  void End(Claims* claims, uint64_t commit_time);
  void Release(Shard& shard, uint64_t hash, uint64_t commit_time) QUIRE_REQUIRES(shard.mutex);
  void Trim(Shard& shard) QUIRE_REQUIRES(shard.mutex);

  std::array<Shard, kShards> shards_;
  std::atomic<uint64_t> clock_{0};
  // The start of the oldest open transaction: what was committed by then cannot conflict any more.
  std::atomic<uint64_t> oldest_{std::numeric_limits<uint64_t>::max()};
  Mutex active_mutex_;
  std::list<uint64_t> active_
      QUIRE_GUARDED_BY(active_mutex_);  // starts of open transactions, ascending
};

}  // namespace quire::kv
