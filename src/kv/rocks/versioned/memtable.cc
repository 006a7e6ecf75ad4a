// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/versioned/memtable.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rocksdb {

// The public headers name it alone; this is what an iterator in an arena needs of it.
class Arena {
 public:
  char* AllocateAligned(size_t bytes, size_t huge_page_size, Logger* logger);
};

}  // namespace rocksdb

namespace quire::kv {
namespace {

constexpr int kMaxHeight = 12;
constexpr int kBranching = 4;

uint64_t BigEndian(const char* p) {
  uint64_t number;
  memcpy(&number, p, sizeof number);
  return __builtin_bswap64(number);
}

// What an entry is found by: a user key and, for entries of the same key, the newest first.
struct Target {
  uint64_t first = 0;   // the first eight bytes of the user key as a number, filled up with zeros
  uint64_t second = 0;  // the eight after them
  std::string_view user_key;
  uint64_t version = 0;  // sequence number and type

  // Of an internal key: the user key and eight bytes of version.
  static Target Of(std::string_view internal_key) {
    Target target;
    target.user_key = internal_key.substr(0, internal_key.size() - 8);
    memcpy(&target.version, internal_key.data() + target.user_key.size(), 8);
    char start[16] = {};
    memcpy(start, target.user_key.data(), std::min<size_t>(sizeof start, target.user_key.size()));
    target.first = BigEndian(start);
    target.second = BigEndian(start + 8);
    return target;
  }
};

// The internal key of an entry: a varint of its size, then its bytes.
std::string_view InternalKey(const char* entry) {
  const auto* p = reinterpret_cast<const unsigned char*>(entry);
  if (*p < 0x80) [[likely]] {
    return {entry + 1, *p};
  }
  uint32_t size = 0;
  for (int shift = 0;; shift += 7, ++p) {
    size |= static_cast<uint32_t>(*p & 0x7F) << shift;
    if (*p < 0x80) {
      break;
    }
  }
  return {reinterpret_cast<const char*>(p + 1), size};
}

// Its links at each level stand before it in memory, the entry after it.
struct Node {
  uint64_t first;
  uint64_t second;
  std::atomic<Node*> back;

  std::atomic<Node*>& Link(int level) {
    return *(reinterpret_cast<std::atomic<Node*>*>(this) - 1 - level);
  }
  Node* Next(int level) { return Link(level).load(std::memory_order_acquire); }
  char* entry() { return reinterpret_cast<char*>(this + 1); }
};

// The order of two keys whose first sixteen bytes are the same: by steps of eight, as keys of one
// index often begin alike. Not inlined, so that Compare is where it is called.
[[gnu::noinline]] int CompareRest(const char* entry, const Target& target) {
  constexpr size_t kStep = sizeof(uint64_t);
  const std::string_view internal_key = InternalKey(entry);
  const char* own_key = internal_key.data();
  const char* other_key = target.user_key.data();
  const size_t own_size = internal_key.size() - kStep;
  const size_t other_size = target.user_key.size();
  const size_t common = std::min(own_size, other_size);
  for (size_t at = 2 * kStep; at < common; at += kStep) {
    const size_t from = std::min(at, common - kStep);  // the last step goes over bytes again
    const uint64_t own = BigEndian(own_key + from);
    const uint64_t other = BigEndian(other_key + from);
    if (own != other) {
      return own < other ? -1 : 1;
    }
  }
  if (own_size != other_size) {
    return own_size < other_size ? -1 : 1;
  }
  uint64_t version;
  memcpy(&version, own_key + own_size, sizeof version);
  return version == target.version ? 0 : version > target.version ? -1 : 1;
}

[[gnu::always_inline]] inline int Compare(Node* node, const Target& target) {
  if (node->first != target.first) {
    return node->first < target.first ? -1 : 1;
  }
  if (node->second != target.second) {
    return node->second < target.second ? -1 : 1;
  }
  return CompareRest(node->entry(), target);
}

class Memtable final : public rocksdb::MemTableRep {
 public:
  explicit Memtable(rocksdb::Allocator* allocator)
      : MemTableRep(allocator), head_(NewNode(kMaxHeight, 0)) {
    for (int level = 0; level < kMaxHeight; ++level) {
      head_->Link(level).store(nullptr, std::memory_order_relaxed);
    }
  }

  rocksdb::KeyHandle Allocate(size_t size, char** entry) override {
    const int height = RandomHeight();
    Node* node = NewNode(height, size);
    node->back.store(reinterpret_cast<Node*>(static_cast<uintptr_t>(height)),
                     std::memory_order_relaxed);
    *entry = node->entry();
    return node;
  }
  void Insert(rocksdb::KeyHandle handle) override;
  bool Contains(const char* entry) const override;
  size_t ApproximateMemoryUsage() override { return 0; }  // all of it is the allocator's
  uint64_t ApproximateNumEntries(const rocksdb::Slice& begin, const rocksdb::Slice& end) override {
    const uint64_t before_begin = EntriesBefore(Target::Of(begin.ToStringView()));
    const uint64_t before_end = EntriesBefore(Target::Of(end.ToStringView()));
    return before_end - std::min(before_begin, before_end);
  }
  Iterator* GetIterator(rocksdb::Arena* arena) override;
  Iterator* GetDynamicPrefixIterator(rocksdb::Arena* arena) override;

  Node* head() const { return head_; }
  // The first node not before the target.
  Node* FirstFrom(const Target& target) const;
  // The last node before the target, or the head.
  Node* LastBefore(const Target& target) const;
  // The last node, or the head.
  Node* Last() const;

 private:
  // Where a table's last entry went: at each level the nodes that a next one would stand between.
  struct Place {
    std::array<Node*, kMaxHeight> before;
    std::array<Node*, kMaxHeight> after;
    int level = 0;  // of LevelAround for that entry
  };

  Node* NewNode(int height, size_t entry_size);
  int RandomHeight();
  Place& PlaceOf(const Target& target);
  // Whether the target stands between the place's nodes of that level, and nothing came between.
  bool StandsAround(const Place& place, int level, const Target& target) const;
  // A level at which it does, near the one of the last entry; the height of all when there is none.
  int LevelAround(const Place& place, const Target& target) const;
  uint64_t EntriesBefore(const Target& target) const;

  Node* const head_;
  std::atomic<int> height_{1};
  uint32_t random_ = 0x9E3779B9;
  std::unordered_map<uint64_t, Place> places_;  // the writer's, by the first bytes of the keys
};

Node* Memtable::NewNode(int height, size_t entry_size) {
  constexpr size_t kAlign = alignof(Node);
  const size_t links = static_cast<size_t>(height) * sizeof(std::atomic<Node*>);
  char* memory = nullptr;
  MemTableRep::Allocate(links + sizeof(Node) + entry_size + kAlign - 1, &memory);
  const auto address = reinterpret_cast<uintptr_t>(memory);
  memory += (kAlign - address % kAlign) % kAlign;
  for (int level = 0; level < height; ++level) {
    new (memory + static_cast<size_t>(level) * sizeof(std::atomic<Node*>))
        std::atomic<Node*>(nullptr);
  }
  return new (memory + links) Node{0, 0, nullptr};
}

int Memtable::RandomHeight() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  return std::min(kMaxHeight, 1 + std::countr_zero(random_ | (1u << 31)) / 2);
}

Memtable::Place& Memtable::PlaceOf(const Target& target) {
  constexpr int kTableAndKind = 5 * 8;  // what keys that come in order have in common
  auto [found, is_new] = places_.try_emplace(target.first >> (64 - kTableAndKind));
  if (is_new) {
    found->second.before.fill(head_);
    found->second.after.fill(nullptr);
  }
  return found->second;
}

bool Memtable::StandsAround(const Place& place, int level, const Target& target) const {
  Node* before = place.before[static_cast<size_t>(level)];
  Node* after = place.after[static_cast<size_t>(level)];
  return before->Next(level) == after && (before == head_ || Compare(before, target) < 0) &&
         (after == nullptr || Compare(after, target) > 0);
}

// Keys that come in order have their place at the lowest level, others mostly about as far up as
// the one before them.
int Memtable::LevelAround(const Place& place, const Target& target) const {
  const int height = height_.load(std::memory_order_relaxed);
  int level = std::min(place.level, height - 1);
  if (StandsAround(place, level, target)) {
    while (level > 0 && StandsAround(place, level - 1, target)) {
      --level;
    }
    return level;
  }
  do {
    ++level;
  } while (level < height && !StandsAround(place, level, target));
  return level;
}

void Memtable::Insert(rocksdb::KeyHandle handle) {
  auto* node = static_cast<Node*>(handle);
  const auto height =
      static_cast<int>(reinterpret_cast<uintptr_t>(node->back.load(std::memory_order_relaxed)));
  const Target target = Target::Of(InternalKey(node->entry()));
  node->first = target.first;
  node->second = target.second;

  Place& place = PlaceOf(target);
  int level = place.level = LevelAround(place, target);
  const int present = height_.load(std::memory_order_relaxed);
  Node* before = level < present ? place.before[static_cast<size_t>(level)] : head_;
  Node* known_after = level < present ? place.after[static_cast<size_t>(level)] : nullptr;
  while (--level >= 0) {
    Node* after = before->Next(level);
    while (after != known_after && after != nullptr && Compare(after, target) < 0) {
      before = after;
      after = before->Next(level);
    }
    place.before[static_cast<size_t>(level)] = before;
    place.after[static_cast<size_t>(level)] = known_after = after;
  }

  for (int i = 0; i < height; ++i) {
    // Above the level found, others may have come between the place's nodes since.
    const auto at = static_cast<size_t>(i);
    Node* next = place.before[at]->Next(i);
    while (next != place.after[at] && next != nullptr && Compare(next, target) < 0) {
      place.before[at] = next;
      next = next->Next(i);
    }
    place.after[at] = next;
    node->Link(i).store(next, std::memory_order_relaxed);
  }
  node->back.store(place.before[0], std::memory_order_relaxed);
  for (int i = 0; i < height; ++i) {
    const auto at = static_cast<size_t>(i);
    place.before[at]->Link(i).store(node, std::memory_order_release);
    place.before[at] = node;
  }
  if (place.after[0] != nullptr) {
    place.after[0]->back.store(node, std::memory_order_release);
  }
  if (height > present) {
    height_.store(height, std::memory_order_release);
  }
}

bool Memtable::Contains(const char* entry) const {
  const Target target = Target::Of(InternalKey(entry));
  Node* node = FirstFrom(target);
  return node != nullptr && Compare(node, target) == 0;
}

Node* Memtable::LastBefore(const Target& target) const {
  Node* node = head_;
  Node* known_after = nullptr;
  for (int level = height_.load(std::memory_order_acquire) - 1; level >= 0; --level) {
    Node* next = node->Next(level);
    while (next != known_after && next != nullptr && Compare(next, target) < 0) {
      node = next;
      next = node->Next(level);
    }
    known_after = next;
  }
  return node;
}

Node* Memtable::FirstFrom(const Target& target) const {
  Node* node = LastBefore(target)->Next(0);
  // A writer may have put something before the target meanwhile.
  while (node != nullptr && Compare(node, target) < 0) {
    node = node->Next(0);
  }
  return node;
}

Node* Memtable::Last() const {
  Node* node = head_;
  for (int level = height_.load(std::memory_order_acquire) - 1; level >= 0; --level) {
    while (Node* next = node->Next(level)) {
      node = next;
    }
  }
  return node;
}

uint64_t Memtable::EntriesBefore(const Target& target) const {
  uint64_t entries = 0;
  Node* node = head_;
  for (int level = height_.load(std::memory_order_acquire) - 1; level >= 0; --level) {
    entries *= kBranching;
    Node* next = node->Next(level);
    while (next != nullptr && Compare(next, target) < 0) {
      ++entries;
      node = next;
      next = node->Next(level);
    }
  }
  return entries;
}

class MemtableIterator : public rocksdb::MemTableRep::Iterator {
 public:
  explicit MemtableIterator(const Memtable& memtable) : memtable_(memtable) {}

  bool Valid() const override { return node_ != nullptr; }
  const char* key() const override { return node_->entry(); }
  void Next() override { node_ = node_->Next(0); }
  void Prev() override;
  void Seek(const rocksdb::Slice& internal_key, const char* entry) override {
    node_ = memtable_.FirstFrom(TargetOf(internal_key, entry));
  }
  void SeekForPrev(const rocksdb::Slice& internal_key, const char* entry) override;
  void SeekToFirst() override { node_ = memtable_.head()->Next(0); }
  void SeekToLast() override { Show(memtable_.Last()); }

 private:
  static Target TargetOf(const rocksdb::Slice& internal_key, const char* entry) {
    return Target::Of(entry != nullptr ? InternalKey(entry) : internal_key.ToStringView());
  }
  void Show(Node* node) { node_ = node == memtable_.head() ? nullptr : node; }

  const Memtable& memtable_;
  Node* node_ = nullptr;
};

void MemtableIterator::Prev() {
  Node* next = node_;
  Node* node = next->back.load(std::memory_order_acquire);
  // A writer links a new node forwards first.
  for (Node* between = node->Next(0); between != next; between = node->Next(0)) {
    node = between;
  }
  Show(node);
}

void MemtableIterator::SeekForPrev(const rocksdb::Slice& internal_key, const char* entry) {
  const Target target = TargetOf(internal_key, entry);
  Node* node = memtable_.FirstFrom(target);
  if (node != nullptr && Compare(node, target) == 0) {
    node_ = node;
  } else {
    Show(memtable_.LastBefore(target));
  }
}

rocksdb::MemTableRep::Iterator* Memtable::GetIterator(rocksdb::Arena* arena) {
  if (arena == nullptr) {
    return new MemtableIterator(*this);
  }
  return new (arena->AllocateAligned(sizeof(MemtableIterator), 0, nullptr)) MemtableIterator(*this);
}

// Lies in memory of its thread.
class LentIterator final : public MemtableIterator {
 public:
  using MemtableIterator::MemtableIterator;
  static void* operator new(size_t /*size*/, void* place) { return place; }
  static void operator delete(void* /*place*/) {}
};

// Without an arena it is RocksDB's Get that asks, which uses the iterator at once and forgets it.
rocksdb::MemTableRep::Iterator* Memtable::GetDynamicPrefixIterator(rocksdb::Arena* arena) {
  if (arena != nullptr) {
    return GetIterator(arena);
  }
  alignas(LentIterator) thread_local std::byte place[sizeof(LentIterator)];
  return new (place) LentIterator(*this);
}

class MemtableFactory final : public rocksdb::MemTableRepFactory {
 public:
  using MemTableRepFactory::CreateMemTableRep;
  rocksdb::MemTableRep* CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator& /*order*/,
                                          rocksdb::Allocator* allocator,
                                          const rocksdb::SliceTransform* /*prefixes*/,
                                          rocksdb::Logger* /*logger*/) override {
    return new Memtable(allocator);
  }
  const char* Name() const override { return "quire.memtable"; }
};

}  // namespace

std::shared_ptr<rocksdb::MemTableRepFactory> NewMemtableFactory() {
  return std::make_shared<MemtableFactory>();
}

}  // namespace quire::kv
