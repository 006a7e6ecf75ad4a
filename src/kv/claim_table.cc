// SPDX-License-Identifier: Apache-2.0
#include "kv/claim_table.h"

#include "base/error_codes.h"

namespace quire::kv {
namespace {

const Status& Conflict() {
  static const Status conflict(kWriteConflict,
                               "Another operation changed the same data; retry the operation");
  return conflict;
}

}  // namespace

ClaimTable::Claims::Claims(ClaimTable& table) : table_(table) {
  std::lock_guard lock(table_.active_mutex_);
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
  Shard& shard = table_.ShardOf(key);
  std::lock_guard lock(shard.mutex);
  auto it = shard.entries.find(key);
  if (it == shard.entries.end()) {
    it = shard.entries.emplace(key, Entry{}).first;
  }
  Entry& entry = it->second;
  if (entry.holder == this) {
    return Status::Ok();
  }
  if (entry.holder != nullptr || entry.committed > start_) {
    return Conflict();
  }
  entry.holder = this;
  held_.push_back({&shard, &*it});
  return Status::Ok();
}

void ClaimTable::Claims::Commit() {
  table_.End(this, held_.empty() ? 0 : table_.clock_.fetch_add(1) + 1);
}

void ClaimTable::End(Claims* claims, uint64_t commit_time) {
  claims->open_ = false;
  {
    std::lock_guard lock(active_mutex_);
    active_.erase(claims->active_);
    oldest_.store(active_.empty() ? std::numeric_limits<uint64_t>::max() : active_.front());
  }
  for (const Claims::Held& held : claims->held_) {
    std::lock_guard lock(held.shard->mutex);
    Release(*held.shard, held.slot, commit_time);
    Trim(*held.shard);
  }
  claims->held_.clear();
}

void ClaimTable::Release(Shard& shard, Map::value_type* slot, uint64_t commit_time) {
  Entry& entry = slot->second;
  entry.holder = nullptr;
  if (commit_time != 0) {
    entry.committed = commit_time;
  }
  if (entry.queued) {
    return;
  }
  if (entry.committed <= oldest_.load()) {
    shard.entries.erase(shard.entries.find(slot->first));
    return;
  }
  entry.queued = true;
  shard.queue.push_back(slot);
}

void ClaimTable::Trim(Shard& shard) {
  const uint64_t oldest = oldest_.load();
  while (!shard.queue.empty()) {
    Map::value_type* slot = shard.queue.front();
    Entry& entry = slot->second;
    if (entry.holder == nullptr && entry.committed > oldest) {
      return;
    }
    shard.queue.pop_front();
    entry.queued = false;
    if (entry.holder == nullptr) {  // a held one is queued again when it is released
      shard.entries.erase(shard.entries.find(slot->first));
    }
  }
}

size_t ClaimTable::size() {
  size_t total = 0;
  for (Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    total += shard.entries.size();
  }
  return total;
}

}  // namespace quire::kv
