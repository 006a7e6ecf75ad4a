// SPDX-License-Identifier: Apache-2.0
#include "kv/claim_table.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/error_codes.h"
#include "base/keyed_hash.h"

namespace quire::kv {
namespace {

const Status& Conflict() {
  static const Status conflict(kWriteConflict,
                               "Another operation changed the same data; retry the operation");
  return conflict;
}

constexpr size_t kFewestSlots = 16;

}  // namespace

uint64_t ClaimTable::HashOf(std::string_view key) {
  const uint64_t hash = KeyedHash(key);
  return hash == kFree ? 1 : hash;
}

// Where the hash is, or the free slot where it would be.
size_t ClaimTable::Shard::Probe(uint64_t hash) const {
  const size_t mask = slots.size() - 1;
  size_t i = hash & mask;
  while (slots[i].hash != hash && slots[i].hash != kFree) {
    i = (i + 1) & mask;
  }
  return i;
}

ClaimTable::Entry& ClaimTable::Shard::Claimed(uint64_t hash) {
  if (used * 2 >= slots.size()) {
    Resize(std::max(kFewestSlots, slots.size() * 2));
  }
  Entry& entry = slots[Probe(hash)];
  if (entry.hash == kFree) {
    entry.hash = hash;
    ++used;
  }
  return entry;
}

ClaimTable::Entry& ClaimTable::Shard::Find(uint64_t hash) { return slots[Probe(hash)]; }

void ClaimTable::Shard::Erase(uint64_t hash) {
  const size_t mask = slots.size() - 1;
  size_t hole = Probe(hash);
  // Whatever would no longer be found past the hole moves into it.
  for (size_t i = (hole + 1) & mask; slots[i].hash != kFree; i = (i + 1) & mask) {
    const size_t home = slots[i].hash & mask;
    if (((i - home) & mask) >= ((i - hole) & mask)) {
      slots[hole] = slots[i];
      hole = i;
    }
  }
  slots[hole] = Entry();
  --used;
  if (slots.size() > kFewestSlots && used * 8 < slots.size()) {
    Resize(slots.size() / 2);
  }
}

void ClaimTable::Shard::Resize(size_t size) {
  const std::vector<Entry> old = std::exchange(slots, std::vector<Entry>(size));
  for (const Entry& entry : old) {
    if (entry.hash != kFree) {
      slots[Probe(entry.hash)] = entry;
    }
  }
}

ClaimTable::Claims::Claims(ClaimTable& table) : table_(table) {
  MutexLock lock(table_.active_mutex_);
  start_ = table_.clock_.load();
  if (table_.active_.empty()) {
    table_.oldest_.store(start_);
  }
  active_ = table_.active_.insert(table_.active_.end(), start_);
}

ClaimTable::Claims::~Claims() {
  if (open_) {
    table_.End(this, 0);
  }
}

Status ClaimTable::Claims::Add(std::string_view key) {
  const uint64_t hash = HashOf(key);
  Shard& shard = table_.ShardOf(hash);
  MutexLock lock(shard.mutex);
  Entry& entry = shard.Claimed(hash);
  if (entry.holder == this) {
    return Status::Ok();
  }
  if (entry.holder != nullptr || entry.committed > start_) {
    return Conflict();
  }
  entry.holder = this;
  held_.push_back(hash);
  return Status::Ok();
}

void ClaimTable::Claims::Commit() {
  table_.End(this, held_.empty() ? 0 : table_.clock_.fetch_add(1) + 1);
}

void ClaimTable::End(Claims* claims, uint64_t commit_time) {
  claims->open_ = false;
  {
    MutexLock lock(active_mutex_);
    active_.erase(claims->active_);
    oldest_.store(active_.empty() ? std::numeric_limits<uint64_t>::max() : active_.front());
  }
  for (uint64_t hash : claims->held_) {
    Shard& shard = ShardOf(hash);
    MutexLock lock(shard.mutex);
    Release(shard, hash, commit_time);
    Trim(shard);
  }
  claims->held_.clear();
}

void ClaimTable::Release(Shard& shard, uint64_t hash, uint64_t commit_time) {
  Entry& entry = shard.Find(hash);
  entry.holder = nullptr;
  if (commit_time != 0) {
    entry.committed = commit_time;
  }
  if (entry.queued) {
    return;
  }
  if (entry.committed <= oldest_.load()) {
    shard.Erase(hash);
    return;
  }
  entry.queued = true;
  shard.queue.push_back(hash);
}

void ClaimTable::Trim(Shard& shard) {
  const uint64_t oldest = oldest_.load();
  while (!shard.queue.empty()) {
    const uint64_t hash = shard.queue.front();
    Entry& entry = shard.Find(hash);
    if (entry.holder == nullptr && entry.committed > oldest) {
      return;
    }
    shard.queue.pop_front();
    entry.queued = false;
    if (entry.holder == nullptr) {  // a held one is queued again when it is released
      shard.Erase(hash);
    }
  }
}

size_t ClaimTable::size() {
  size_t total = 0;
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    total += shard.used;
  }
  return total;
}

}  // namespace quire::kv
