// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/value_cache.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/keyed_hash.h"

namespace quire::kv {
namespace {

// Larger values cost RocksDB little beside the copying.
constexpr size_t kLargestValue = 64 << 10;
// A batch keeps no more than this, so that a large load does not fill memory before it is written.
constexpr size_t kMostPerBatch = 4 << 20;

}  // namespace

uint64_t ValueCache::Hash(std::string_view key) { return KeyedHash(key); }

void ValueCache::Shard::Prefetch(uint64_t hash) const {
  if (!slots.empty()) {
    const size_t home = hash & (slots.size() - 1);
    __builtin_prefetch(&tags[home]);
    __builtin_prefetch(&slots[home]);
  }
}

ValueCache::Entry* ValueCache::Shard::Find(uint64_t hash, std::string_view key) {
  if (slots.empty()) {
    return nullptr;
  }
  const size_t mask = slots.size() - 1;
  const uint32_t tag = Tag(hash);
  for (size_t i = hash & mask; tags[i] != kFree; i = (i + 1) & mask) {
    if (tags[i] == tag && slots[i].hash == hash && slots[i].content.key() == key) {
      return &slots[i];
    }
  }
  return nullptr;
}

ValueCache::Entry& ValueCache::Shard::Insert(uint64_t hash, SharedEntry content) {
  if ((entries + 1) * 4 > slots.size() * 3) {
    Grow();
  }
  ++entries;
  Entry& entry = Take(hash);
  entry.hash = hash;
  entry.content = std::move(content);
  bytes += entry.charge();
  return entry;
}

ValueCache::Entry& ValueCache::Shard::Take(uint64_t hash) {
  const size_t mask = slots.size() - 1;
  size_t i = hash & mask;
  while (tags[i] != kFree) {
    i = (i + 1) & mask;
  }
  tags[i] = Tag(hash);
  return slots[i];
}

void ValueCache::Shard::Assign(Entry* entry, SharedEntry content) {
  bytes -= entry->charge();
  entry->content = std::move(content);
  bytes += entry->charge();
}

void ValueCache::Shard::Erase(Entry* entry) {
  bytes -= entry->charge();
  --entries;
  const size_t mask = slots.size() - 1;
  size_t hole = static_cast<size_t>(entry - slots.data());
  slots[hole] = Entry();
  // Whatever would no longer be found past the hole moves into it.
  for (size_t i = (hole + 1) & mask; tags[i] != kFree; i = (i + 1) & mask) {
    const size_t home = slots[i].hash & mask;
    if (((i - home) & mask) >= ((i - hole) & mask)) {
      std::swap(slots[hole], slots[i]);
      tags[hole] = tags[i];
      hole = i;
    }
  }
  tags[hole] = kFree;
}

void ValueCache::Shard::Grow() {
  std::vector<Entry> old(std::max<size_t>(16, slots.size() * 2));
  old.swap(slots);
  std::vector<uint32_t> old_tags(slots.size(), kFree);
  old_tags.swap(tags);
  for (size_t i = 0; i < old.size(); ++i) {
    if (old_tags[i] != kFree) {
      Take(old[i].hash) = std::move(old[i]);
    }
  }
}

void ValueCache::Shard::EvictDownTo(size_t capacity) {
  // Two rounds: the first may find everything recently read. What is being written stays.
  for (size_t steps = 2 * slots.size(); bytes > capacity && steps > 0; --steps) {
    hand = (hand + 1) & (slots.size() - 1);
    Entry& entry = slots[hand];
    if (tags[hand] == kFree || entry.writers > 0) {
      continue;
    }
    if (entry.recently_read) {
      entry.recently_read = false;
    } else {
      Erase(&entry);
    }
  }
}

bool ValueCache::Get(std::string_view key, uint64_t snapshot, ReadValue* value) {
  const uint64_t hash = Hash(key);
  Shard& shard = ShardOf(hash);
  MutexLock lock(shard.mutex);
  Entry* entry = shard.Find(hash, key);
  if (entry == nullptr || entry->writers > 0 || entry->since > snapshot) {
    return false;
  }
  entry->recently_read = true;
  value->Set(entry->content.value(), entry->content.bytes);
  return true;
}

void ValueCache::Offer(std::string_view key, uint64_t snapshot, std::string_view value) {
  if (value.size() > kLargestValue) {
    return;
  }
  const uint64_t hash = Hash(key);
  Shard& shard = ShardOf(hash);
  SharedEntry content(key, value);
  MutexLock lock(shard.mutex);
  if (snapshot < shard.last_change || shard.Find(hash, key) != nullptr) {
    return;
  }
  // Room is made first: the new entry, read by nobody yet, might be the one to go.
  const size_t capacity = shard_capacity_.load(std::memory_order_relaxed);
  const size_t charge = Entry::Charge(content);
  if (charge > capacity) {
    return;
  }
  shard.EvictDownTo(capacity - charge);
  shard.Insert(hash, std::move(content)).since = snapshot;
}

bool ValueCache::Holds(std::string_view key) {
  const uint64_t hash = Hash(key);
  Shard& shard = ShardOf(hash);
  MutexLock lock(shard.mutex);
  return shard.Find(hash, key) != nullptr;
}

size_t ValueCache::bytes() {
  size_t total = 0;
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    total += shard.bytes;
  }
  return total;
}

void ValueCache::SetCapacity(size_t bytes) {
  shard_capacity_.store(bytes / kShards, std::memory_order_relaxed);
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    shard.EvictDownTo(bytes / kShards);
  }
}

ValueCache::Changes::~Changes() {
  if (hidden_) {
    Finish(false, 0);
  }
}

bool ValueCache::Changes::Keeps(size_t bytes) {
  bytes_ += bytes;
  return bytes <= kLargestValue && bytes_ <= kMostPerBatch;
}

void ValueCache::Changes::Put(std::string_view key, std::string_view value) {
  Note(key, value, Keeps(value.size()) ? Kind::kChange : Kind::kForget);
}

void ValueCache::Changes::PutNew(std::string_view key, std::string_view value) {
  if (Keeps(value.size())) {
    Note(key, value, Kind::kNew);
  }
}

template <typename F>
void ValueCache::Changes::Visit(F visit) {
  for (auto first = changes_.begin(); first != changes_.end();) {
    Shard& shard = cache_.ShardOf(first->hash);
    auto last = std::find_if(first, changes_.end(), [&](const Change& change) {
      return &cache_.ShardOf(change.hash) != &shard;
    });
    MutexLock lock(shard.mutex);
    for (auto change = first; change != last; ++change) {
      shard.Prefetch(change->hash);
    }
    for (; first != last; ++first) {
      visit(shard, *first);
    }
    shard.EvictDownTo(cache_.shard_capacity_.load(std::memory_order_relaxed));
  }
}

void ValueCache::Changes::Sort() {
  std::sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.order < b.order;
  });
  size_t kept = 0;
  for (size_t i = 0; i < changes_.size(); ++i) {
    Change* earlier = nullptr;  // of the same key
    for (size_t k = kept; k > 0 && changes_[k - 1].hash == changes_[i].hash; --k) {
      if (changes_[k - 1].key == changes_[i].key) {
        earlier = &changes_[k - 1];
        break;
      }
    }
    if (earlier == nullptr) {
      changes_[kept++] = changes_[i];
      continue;
    }
    if (changes_[i].kind == Kind::kNew && earlier->kind != Kind::kNew) {
      changes_[i].kind = Kind::kChange;  // what was deleted before it may be here
    }
    *earlier = changes_[i];
  }
  changes_.resize(kept);
}

void ValueCache::Changes::Hide() {
  hidden_ = true;
  Sort();
  if (std::any_of(changes_.begin(), changes_.end(),
                  [](const Change& change) { return change.kind != Kind::kNew; })) {
    // Unchecked: Visit holds the lock of the shard it shows.
    Visit([this](Shard& shard, const Change& change) QUIRE_UNCHECKED { HideOne(shard, change); });
  }
}

void ValueCache::Changes::HideOne(Shard& shard, const Change& change) {
  if (change.kind == Kind::kNew) {
    return;
  }
  const bool keep = change.kind == Kind::kChange;
  SharedEntry content(change.key, keep ? change.value : std::string_view());
  Entry* entry = shard.Find(change.hash, change.key);
  if (entry == nullptr) {
    entry = &shard.Insert(change.hash, std::move(content));
  } else {
    shard.Assign(entry, std::move(content));
  }
  // Of two batches under way nobody knows which is the later one.
  entry->no_value = !keep || entry->writers > 0;
  ++entry->writers;
}

void ValueCache::Changes::Finish(bool written, uint64_t latest) {
  // Unchecked: Visit holds the lock of the shard it shows.
  Visit([&](Shard& shard, const Change& change)
            QUIRE_UNCHECKED { FinishOne(shard, change, written, latest); });
  changes_.clear();
  hidden_ = false;
}

void ValueCache::Changes::FinishOne(Shard& shard, const Change& change, bool written,
                                    uint64_t latest) {
  Entry* entry = shard.Find(change.hash, change.key);
  if (change.kind == Kind::kNew) {
    // Whoever changed the key since it became visible has left a mark on the shard.
    if (written && entry == nullptr && shard.last_change <= before_) {
      shard.Insert(change.hash, SharedEntry(change.key, change.value)).since = latest;
    }
    return;
  }
  shard.last_change = std::max(shard.last_change, latest);
  entry->no_value |= !written;
  entry->since = std::max(entry->since, latest);
  if (--entry->writers == 0 && entry->no_value) {
    shard.Erase(entry);
  }
}

}  // namespace quire::kv
