// SPDX-License-Identifier: Apache-2.0
#include "kv/memory/memory_store.h"

#include <mutex>
#include <utility>
#include <vector>

#include "base/try.h"
#include "kv/claim_table.h"
#include "kv/counter.h"
#include "kv/memory/tree.h"
#include "kv/merged_cursor.h"
#include "kv/read_only_txn.h"
#include "kv/shared_entry.h"
#include "kv/writing_txn.h"

namespace quire::kv {
namespace {

class MemoryCursor final : public Cursor {
 public:
  // REQUIRES: `tree` outlives it.
  MemoryCursor(const Tree& tree, Range range, Direction direction)
      : range_(std::move(range)), forward_(direction == Direction::kForward), walk_(tree) {}

  Result<bool> Next() override {
    switch (place_) {
      case Place::kBefore:
        forward_ ? walk_.ToFirstFrom(range_.begin) : ToRangeEnd();
        break;
      case Place::kAt:
        forward_ ? walk_.Next() : walk_.Previous();
        break;
      case Place::kEnd:
        return false;
    }
    return Show();
  }

  Result<bool> Seek(std::string_view target) override {
    if (forward_) {
      walk_.ToFirstFrom(target < range_.begin ? std::string_view(range_.begin) : target);
    } else if (!range_.end.empty() && target >= range_.end) {
      ToRangeEnd();
    } else {
      walk_.ToLastUpTo(target);
    }
    return Show();
  }

 private:
  enum class Place { kBefore, kAt, kEnd };

  void ToRangeEnd() { range_.end.empty() ? walk_.ToLast() : walk_.ToLastBefore(range_.end); }

  bool Show() {
    const SharedEntry* entry = walk_.entry();
    const bool inside =
        entry != nullptr &&
        (forward_ ? range_.end.empty() || entry->key() < range_.end : entry->key() >= range_.begin);
    place_ = inside ? Place::kAt : Place::kEnd;
    if (inside) {
      key_ = entry->key();
      value_ = entry->value();
    }
    return inside;
  }

  const Range range_;
  const bool forward_;
  Tree::Walk walk_;
  Place place_ = Place::kBefore;
};

bool Find(const Tree& tree, std::string_view key, ReadValue* value) {
  const SharedEntry* entry = tree.Find(key);
  if (entry != nullptr) {
    value->Set(entry->value(), entry->bytes);
  }
  return entry != nullptr;
}

void FindAll(const Tree& tree, std::span<const std::string_view> keys,
             std::vector<ReadValue>* values, std::vector<bool>* found) {
  values->resize(keys.size());
  found->resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    (*found)[i] = Find(tree, keys[i], &(*values)[i]);
  }
}

// A counter is one entry, under its name.
int64_t CounterIn(const Tree& tree, std::string_view counter) {
  const SharedEntry* entry = tree.Find(counter);
  return entry == nullptr ? 0 : DecodeCounter(entry->value());
}

class MemoryReader final : public ReadOnlyTxn {
 public:
  explicit MemoryReader(Tree tree) : tree_(std::move(tree)) {}
  const Tree& tree() const { return tree_; }

  Result<bool> Get(std::string_view key, ReadValue* value, Reads /*reads*/) override {
    return Find(tree_, key, value);
  }
  Status MultiGet(std::span<const std::string_view> keys, std::vector<ReadValue>* values,
                  std::vector<bool>* found, Reads /*reads*/) override {
    FindAll(tree_, keys, values, found);
    return Status::Ok();
  }
  Result<std::unique_ptr<Cursor>> Scan(Range range, Direction direction) override {
    return std::unique_ptr<Cursor>(new MemoryCursor(tree_, std::move(range), direction));
  }
  Result<int64_t> ReadCounter(std::string_view counter) override {
    return CounterIn(tree_, counter);
  }

 private:
  const Tree tree_;
};

class MemoryStore final : public Store {
 public:
  Result<std::unique_ptr<Txn>> Begin(TxnOptions options) override;
  Status DeleteRange(const Range& range) override {
    Change([&](Tree& tree) { tree.DeleteRange(range); });
    return Status::Ok();
  }
  Result<std::unique_ptr<SortedLoader>> Load() override;
  Status Sync() override { return Status::Ok(); }
  Status Compact(const Range& /*range*/) override { return Status::Ok(); }
  uint64_t ApproximateSize(const Range& range) override { return Snapshot().BytesIn(range); }
  StoreStats Stats() override {
    StoreStats stats;
    stats.memory_bytes = Snapshot().bytes();
    return stats;
  }

  ClaimTable& claims() { return claims_; }
  Tree Snapshot() {
    std::lock_guard lock(tree_mutex_);
    return tree_;
  }
  // Makes what `change` does to the tree visible at once.
  template <typename F>
  void Change(F change) {
    std::lock_guard lock(change_mutex_);
    Tree tree = Snapshot();
    change(tree);
    std::lock_guard publish(tree_mutex_);
    std::swap(tree_, tree);
  }

 private:
  ClaimTable claims_;
  std::mutex change_mutex_;  // one change at a time; taken before tree_mutex_
  std::mutex tree_mutex_;
  Tree tree_;  // guarded by tree_mutex_
};

class MemoryWriter final : public WritingTxn {
 public:
  explicit MemoryWriter(MemoryStore& store)
      : WritingTxn(store.claims()), store_(store), tree_(store.Snapshot()) {}

  Result<bool> Get(std::string_view key, ReadValue* value, Reads /*reads*/) override {
    const WriteSet::Write* write = writes_.Find(key);
    return write == nullptr ? Find(tree_, key, value) : Show(*write, value);
  }
  Status MultiGet(std::span<const std::string_view> keys, std::vector<ReadValue>* values,
                  std::vector<bool>* found, Reads /*reads*/) override {
    FindAll(tree_, keys, values, found);
    ShowOver(keys, values, found);
    return Status::Ok();
  }
  Result<std::unique_ptr<Cursor>> Scan(Range range, Direction direction) override {
    std::unique_ptr<Cursor> stored(new MemoryCursor(tree_, range, direction));
    if (writes_.empty()) {
      return stored;
    }
    return std::unique_ptr<Cursor>(
        new MergedCursor(std::move(stored), std::move(range), direction, writes_));
  }
  Result<int64_t> ReadCounter(std::string_view counter) override {
    return AddCounters(CounterIn(tree_, counter), writes_.Added(counter));
  }
  Status Commit(Durability /*durability*/) override {
    if (!writes_.empty() || !writes_.additions().empty()) {
      store_.Change([this](Tree& tree) { Apply(tree); });
    }
    claims_.Commit();
    return Status::Ok();
  }

 private:
  void Apply(Tree& tree) const {
    for (const WriteSet::Write& write : writes_.writes()) {
      if (write.kind == WriteSet::Kind::kDelete) {
        tree.Delete(write.key);
      } else {
        tree.Put(SharedEntry(write.key, write.value));
      }
    }
    for (const WriteSet::Addition& addition : writes_.additions()) {
      char bytes[kCounterSize];
      EncodeCounter(AddCounters(CounterIn(tree, addition.counter), addition.delta), bytes);
      tree.Put(SharedEntry(addition.counter, {bytes, kCounterSize}));
    }
  }

  MemoryStore& store_;
  const Tree tree_;
};

class MemoryLoader final : public SortedLoader {
 public:
  explicit MemoryLoader(MemoryStore& store) : store_(store) {}

  Status Add(std::string_view key, std::string_view value) override {
    entries_.emplace_back(key, value);
    return Status::Ok();
  }
  Status Finish() override {
    store_.Change([this](Tree& tree) {
      for (SharedEntry& entry : entries_) {
        tree.Put(std::move(entry));
      }
    });
    entries_.clear();
    return Status::Ok();
  }

 private:
  MemoryStore& store_;
  std::vector<SharedEntry> entries_;
};

Result<std::unique_ptr<Txn>> MemoryStore::Begin(TxnOptions options) {
  if (!options.read_only) {
    return std::unique_ptr<Txn>(new MemoryWriter(*this));
  }
  return std::unique_ptr<Txn>(new MemoryReader(
      options.as_of ? static_cast<MemoryReader&>(*options.as_of).tree() : Snapshot()));
}

Result<std::unique_ptr<SortedLoader>> MemoryStore::Load() {
  return std::unique_ptr<SortedLoader>(new MemoryLoader(*this));
}

}  // namespace

std::unique_ptr<Store> NewMemoryStore() { return std::make_unique<MemoryStore>(); }

}  // namespace quire::kv
