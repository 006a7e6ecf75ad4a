// SPDX-License-Identifier: Apache-2.0
//
// Values of keys that are read one by one, in a hash table beside RocksDB: a hit touches a few
// cache lines where RocksDB walks a skip list or a block. Bounded; what was not read for longest
// goes.
//
// A value is shown to snapshots not older than `since`, a sequence number at which it was the key's
// newest. A writer takes its keys out of sight before its batch can become visible (Changes), so
// whoever's snapshot has the batch does not meet what stood there before; a reader's find is
// refused when its snapshot is older than the last change of the shard, for it may have been
// changed since. So is a new key's value when the shard was changed since before it was written.
//
// Safe for concurrent use. Lock order: one shard's mutex at a time, nothing else under it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "kv/kv.h"
#include "kv/shared_entry.h"

namespace quire::kv {

class ValueCache {
 private:
  struct Shard;

 public:
  // The kept keys of one batch of writes, from before it is written until it is visible. Destroyed
  // without Finish, the keys are forgotten. REQUIRES: the cache outlives it.
  class Changes {
   public:
    // `latest` is the database's sequence number before the batch is written.
    Changes(ValueCache& cache, uint64_t latest) : cache_(cache), before_(latest) {}
    ~Changes();
    Changes(const Changes&) = delete;
    Changes& operator=(const Changes&) = delete;

    // Of several changes of a key the last one counts. REQUIRES of all: Hide was not called yet;
    // key and value stay valid until Finish.
    void Put(std::string_view key, std::string_view value);
    // Of a key that had no value: there is nothing to hide, nor anything old for a reader to offer.
    void PutNew(std::string_view key, std::string_view value);
    void Delete(std::string_view key) { Note(key, {}, Kind::kForget); }

    // Takes the keys out of sight. To be called before the batch is written.
    void Hide();
    // The batch is visible, or was not written; `latest` is the database's sequence number now.
    void Finish(bool written, uint64_t latest);

   private:
    enum class Kind : uint8_t { kForget, kChange, kNew };
    struct Change {
      uint64_t hash;
      std::string_view key;
      std::string_view value;
      uint32_t order;
      Kind kind;
    };
    void Note(std::string_view key, std::string_view value, Kind kind) {
      changes_.push_back({Hash(key), key, value, static_cast<uint32_t>(changes_.size()), kind});
    }
    // Brings the changes into the order of their shards, one for each key.
    void Sort();
    // Whether a value of this size is to be kept.
    bool Keeps(size_t bytes);
    void HideOne(Shard& shard, const Change& change) QUIRE_REQUIRES(shard.mutex);
    void FinishOne(Shard& shard, const Change& change, bool written, uint64_t latest)
        QUIRE_REQUIRES(shard.mutex);
    // Calls visit(shard, change) for all changes, shard by shard, each locked once: a large batch
    // waits for the memory of many entries at a time.
    template <typename F>
    void Visit(F visit);

    ValueCache& cache_;
    const uint64_t before_;
    std::vector<Change> changes_;
    bool hidden_ = false;
    size_t bytes_ = 0;
  };

  explicit ValueCache(size_t capacity) : shard_capacity_(capacity / kShards) {}
  ValueCache(const ValueCache&) = delete;
  ValueCache& operator=(const ValueCache&) = delete;

  // Shows the value `key` has at the snapshot; false when it is not here.
  bool Get(std::string_view key, uint64_t snapshot, ReadValue* value);
  // What a reader of the snapshot found in the database, to be kept.
  void Offer(std::string_view key, uint64_t snapshot, std::string_view value);

  // Whether anything is known of the key; for assertions and tests.
  bool Holds(std::string_view key);
  size_t bytes();
  size_t capacity() const { return shard_capacity_.load(std::memory_order_relaxed) * kShards; }
  // Bounds it by another number of bytes; what is too much by that goes at once.
  void SetCapacity(size_t bytes);

 private:
  static constexpr size_t kShards = 64;
  static constexpr uint32_t kFree = 0;

  struct Entry {
    uint64_t hash = 0;
    SharedEntry content;
    uint64_t since = 0;
    uint32_t writers = 0;   // batches under way that write the key: it is not shown
    bool no_value = false;  // to be forgotten when they end
    bool recently_read = false;

    static size_t Charge(const SharedEntry& content) { return sizeof(Entry) + 40 + content.size(); }
    size_t charge() const { return Charge(content); }
  };

  // Open addressing with linear probes, over the tags: most lookups that find nothing touch one
  // cache line, the others one of an entry besides.
  struct alignas(64) Shard {
    Mutex mutex;
    std::vector<uint32_t> tags
        QUIRE_GUARDED_BY(mutex);  // of each slot a part of the hash, kFree when it is free
    std::vector<Entry> slots QUIRE_GUARDED_BY(mutex);  // a power of two, or none
    size_t entries QUIRE_GUARDED_BY(mutex) = 0;
    size_t bytes QUIRE_GUARDED_BY(mutex) = 0;
    size_t hand QUIRE_GUARDED_BY(mutex) = 0;  // where the search for something to evict goes on
    uint64_t last_change QUIRE_GUARDED_BY(mutex) = 0;  // sequence number

    void Prefetch(uint64_t hash) const QUIRE_REQUIRES(mutex);
    Entry* Find(uint64_t hash, std::string_view key) QUIRE_REQUIRES(mutex);
    // A new entry. REQUIRES: the key has none.
    Entry& Insert(uint64_t hash, SharedEntry content) QUIRE_REQUIRES(mutex);
    void Assign(Entry* entry, SharedEntry content) QUIRE_REQUIRES(mutex);
    void Erase(Entry* entry) QUIRE_REQUIRES(mutex);
    // A free slot for an entry of this hash, marked as taken.
    Entry& Take(uint64_t hash) QUIRE_REQUIRES(mutex);
    void Grow() QUIRE_REQUIRES(mutex);
    void EvictDownTo(size_t capacity) QUIRE_REQUIRES(mutex);
  };

  static uint64_t Hash(std::string_view key);
  static uint32_t Tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 24) | 1; }
  Shard& ShardOf(uint64_t hash) { return shards_[hash >> 58]; }

  std::atomic<size_t> shard_capacity_;
  std::array<Shard, kShards> shards_;
};

}  // namespace quire::kv
