// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/versioned/memtable.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string_view>

#include "kv/rocks/versioned/memtable_node.h"

namespace rocksdb {

// The public headers name it alone; this is what an iterator in an arena needs of it.
class Arena {
 public:
  char* AllocateAligned(size_t bytes, size_t huge_page_size, Logger* logger);
};

}  // namespace rocksdb

namespace quire::kv {
namespace {

using memtable::CompareRest;
using memtable::HeadOf;
using memtable::Inner;
using memtable::InternalKey;
using memtable::kLine;
using memtable::kSlots;
using memtable::Node;
using memtable::Order;
using memtable::Target;
using memtable::UserKeyOf;

constexpr int kMaxDepth = 24;  // nodes have eight and more, but for the last of each level

void PrefetchNode(const Node* node) {
  const auto* bytes = reinterpret_cast<const char*>(node);
  for (size_t line = 0; line < sizeof(Node); line += kLine) {
    __builtin_prefetch(bytes + line);
  }
}

// A place in a leaf as it was when it was looked at.
struct Place {
  Node* leaf = nullptr;
  Order order;
  int position = 0;

  const char* entry() const { return leaf->EntryAt(order, position); }
};

class Memtable final : public rocksdb::MemTableRep {
 public:
  explicit Memtable(rocksdb::Allocator* allocator)
      : MemTableRep(allocator), root_(NewLeaf(nullptr, nullptr, {})) {}

  rocksdb::KeyHandle Allocate(size_t size, char** entry) override {
    *entry = size <= kLargestInBlock ? Take(size, 1) : TakeAlone(size);
    return *entry;
  }
  void Insert(rocksdb::KeyHandle handle) override;
  bool Contains(const char* entry) const override;
  size_t ApproximateMemoryUsage() override { return 0; }  // all of it is the allocator's
  uint64_t ApproximateNumEntries(const rocksdb::Slice& begin, const rocksdb::Slice& end) override;
  Iterator* GetIterator(rocksdb::Arena* arena) override;
  Iterator* GetDynamicPrefixIterator(rocksdb::Arena* arena) override;

  // All of them false when there is none.
  bool First(Place* place) const;
  bool Last(Place* place) const;
  bool FirstFrom(const Target& target, Place* place) const;
  bool LastBefore(const Target& target, Place* place) const;
  // Moves to the next leaf.
  static bool NextLeaf(Place* place);

 private:
  // Nodes from the root to the one above a leaf, and the child of each that is the next.
  struct Path {
    std::array<Inner*, kMaxDepth> nodes;
    std::array<int, kMaxDepth> positions;
    int depth = 0;
  };
  // Where a table's last entry went: its next one mostly goes there, too, or never does.
  struct Hint {
    uint64_t table = 0;  // the first bytes of its keys
    Node* leaf = nullptr;
    int pause = 0;  // so many entries do without
  };
  using Entries = std::span<const char* const>;
  // What a node has and one more.
  using MoreEntries = std::array<const char*, kSlots + 1>;
  using MoreChildren = std::array<Node*, kSlots + 1>;
  static constexpr size_t kBlock = 16 << 10;
  static constexpr size_t kLargestInBlock = kBlock / 8;
  static constexpr int kHalf = (kSlots + 1) / 2;

  char* TakeAlone(size_t size) {
    char* bytes = nullptr;
    MemTableRep::Allocate(size, &bytes);
    return bytes;
  }
  // Memory out of the block that was taken last.
  char* Take(size_t size, size_t align);
  Node* NewLeaf(const char* low, const char* high, Entries entries);
  Inner* NewInner(const char* low, const char* high, Entries entries, Node* const* children);
  // The leaf that would have the target, if it is none's least entry.
  Node* LeafOf(const Target& target, Path* path) const;
  Hint& HintOf(const Target& target);
  // The hint's leaf if it is the target's, else null.
  static Node* Hinted(Hint& hint, const Target& target);
  // Makes room by leaves that stand in the place of one. `follows`: the entry before it, of the
  // same table, went to this leaf. The leaf that has the entry.
  Node* Rebuild(const Path& path, Node* leaf, int position, const char* entry, bool follows);
  void PutLeaves(const Path& path, Node* leaf, Node* left, Node* right);
  // Puts `node` in the place of the child that the path goes through at that level.
  void SetChild(const Path& path, int level, Node* node);
  // The same, with `right` behind it.
  void SetChildren(const Path& path, int level, Node* left, Node* right);
  double ShareBefore(const Target& target) const;

  char* block_ = nullptr;
  size_t block_left_ = 0;
  std::array<Hint, 16> hints_;
  std::atomic<Node*> root_;
  std::atomic<uint64_t> count_{0};
};

char* Memtable::Take(size_t size, size_t align) {
  size_t pad = (align - reinterpret_cast<uintptr_t>(block_) % align) % align;
  if (block_left_ < pad + size) {
    block_ = TakeAlone(kBlock);
    block_left_ = kBlock;
    pad = (align - reinterpret_cast<uintptr_t>(block_) % align) % align;
  }
  char* bytes = block_ + pad;
  block_ = bytes + size;
  block_left_ -= pad + size;
  return bytes;
}

Node* Memtable::NewLeaf(const char* low, const char* high, Entries entries) {
  auto* leaf = new (Take(sizeof(Node), alignof(Node))) Node;
  leaf->low = low;
  if (!entries.empty()) {
    leaf->SetPrefix(high, entries.front(), entries.back());
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    leaf->Set(static_cast<int>(i), entries[i]);
  }
  leaf->Publish(Order::Straight(static_cast<int>(entries.size())));
  return leaf;
}

Inner* Memtable::NewInner(const char* low, const char* high, Entries entries,
                          Node* const* children) {
  auto* node = new (Take(sizeof(Inner), alignof(Inner))) Inner;
  node->is_leaf = false;
  node->low = low;
  node->high = high;
  if (low != nullptr || entries.size() > 1) {
    node->SetPrefix(high, entries.size() > 1 ? entries[1] : low, entries.back());
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) {
      node->Set(static_cast<int>(i), entries[i]);
    }
    new (&node->children[i]) std::atomic<Node*>(children[i]);
  }
  node->entries[0] = low;
  node->Publish(Order::Straight(static_cast<int>(entries.size())));
  return node;
}

Node* Memtable::LeafOf(const Target& target, Path* path) const {
  Node* node = root_.load(std::memory_order_acquire);
  while (!node->is_leaf) {
    auto* inner = static_cast<Inner*>(node);
    int position = 0;
    node =
        inner->Child([&](Order order) { return position = inner->Before(order, target, 1) - 1; });
    if (path != nullptr) {
      path->nodes[static_cast<size_t>(path->depth)] = inner;
      path->positions[static_cast<size_t>(path->depth)] = position;
      ++path->depth;
    }
    PrefetchNode(node);
  }
  return node;
}

Memtable::Hint& Memtable::HintOf(const Target& target) {
  constexpr int kTableAndKind = 5 * 8;  // what keys that come in order have in common
  constexpr uint64_t kSpread = 0x9E3779B97F4A7C15;
  const uint64_t table = HeadOf(target.user_key, 0) >> (64 - kTableAndKind);
  Hint& hint = hints_[(table * kSpread) >> 60];
  if (hint.table != table) {
    hint = {.table = table};
  }
  return hint;
}

Node* Memtable::Hinted(Hint& hint, const Target& target) {
  constexpr int kPause = 8;
  Node* leaf = hint.leaf;
  if (leaf == nullptr || leaf->replaced || hint.pause > 0) {
    hint.pause -= hint.pause > 0 ? 1 : 0;
    return nullptr;
  }
  const Node* after = leaf->next.load(std::memory_order_relaxed);
  if ((leaf->low == nullptr || CompareRest(leaf->low, target, 0) < 0) &&
      (after == nullptr || CompareRest(after->low, target, 0) > 0)) {
    return leaf;
  }
  hint.pause = kPause;
  return nullptr;
}

void Memtable::Insert(rocksdb::KeyHandle handle) {
  const auto* entry = static_cast<const char*>(handle);
  const Target target = Target::Of(InternalKey(entry));
  Hint& hint = HintOf(target);
  Path path;
  Node* hinted = Hinted(hint, target);
  Node* leaf = hinted != nullptr ? hinted : LeafOf(target, &path);
  const Order order = leaf->order();
  const int position = leaf->Before(order, target, 0);
  if (order.count() < kSlots && leaf->ComparePrefix(target.user_key) == 0) {
    leaf->Set(order.count(), entry);
    leaf->Publish(order.With(position));
  } else {
    if (hinted != nullptr) {
      LeafOf(target, &path);
    }
    leaf = Rebuild(path, leaf, position, entry, hint.leaf == leaf);
  }
  hint.leaf = leaf;
  count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// Whoever is in a leaf that is replaced finds there what was there until then. Where keys come in
// order a new leaf begins behind a full one, so that they fill theirs. Others halve it: keys that
// come in falling order behind a full leaf would each get a leaf of their own.
Node* Memtable::Rebuild(const Path& path, Node* leaf, int position, const char* entry,
                        bool follows) {
  const Node* after = leaf->next.load(std::memory_order_relaxed);
  const char* high = after == nullptr ? nullptr : after->low;
  const Order order = leaf->order();
  if (position == kSlots && follows) {
    Node* behind = NewLeaf(entry, high, {&entry, 1});
    PutLeaves(path, leaf, leaf, behind);
    return behind;
  }
  MoreEntries all;
  const auto count = static_cast<size_t>(order.count()) + 1;
  for (int i = 0, from = 0; i < static_cast<int>(count); ++i) {
    all[static_cast<size_t>(i)] = i == position ? entry : leaf->EntryAt(order, from++);
  }
  const Entries entries(all.data(), count);
  if (count <= kSlots) {
    Node* copy = NewLeaf(leaf->low, high, entries);
    PutLeaves(path, leaf, copy, nullptr);
    return copy;
  }
  const char* middle = all[kHalf];
  Node* left = NewLeaf(leaf->low, middle, entries.first(kHalf));
  Node* right = NewLeaf(middle, high, entries.subspan(kHalf));
  PutLeaves(path, leaf, left, right);
  return position < kHalf ? left : right;
}

void Memtable::PutLeaves(const Path& path, Node* leaf, Node* left, Node* right) {
  Node* after = leaf->next.load(std::memory_order_relaxed);
  Node* last = right != nullptr ? right : left;
  if (right != nullptr) {
    right->next.store(after, std::memory_order_relaxed);
    right->back = left;
  }
  if (after != nullptr) {
    after->back = last;
  }
  left->back = leaf->back;
  left->next.store(right != nullptr ? right : after, std::memory_order_release);
  if (right == nullptr) {
    SetChild(path, path.depth - 1, left);
  } else {
    SetChildren(path, path.depth - 1, left, right);
  }
  if (left != leaf) {
    leaf->replaced = true;
    if (left->back != nullptr) {
      left->back->next.store(left, std::memory_order_release);
    }
  }
}

void Memtable::SetChild(const Path& path, int level, Node* node) {
  if (level < 0) {
    root_.store(node, std::memory_order_release);
    return;
  }
  Inner* parent = path.nodes[static_cast<size_t>(level)];
  parent->ChildAt(parent->order(), path.positions[static_cast<size_t>(level)])
      .store(node, std::memory_order_release);
}

// What is right can be reached before it is gone from the child that was there (Inner::Child).
void Memtable::SetChildren(const Path& path, int level, Node* left, Node* right) {
  MoreEntries entries;
  MoreChildren children;
  if (level < 0) {
    entries = {nullptr, right->low};
    children = {left, right};
    SetChild(path, level, NewInner(nullptr, nullptr, Entries(entries).first(2), children.data()));
    return;
  }
  Inner* node = path.nodes[static_cast<size_t>(level)];
  const int child = path.positions[static_cast<size_t>(level)];
  const Order order = node->order();
  if (order.count() < kSlots && node->ComparePrefix(UserKeyOf(right->low)) == 0) {
    const int slot = order.count();
    node->Set(slot, right->low);
    new (&node->children[static_cast<size_t>(slot)]) std::atomic<Node*>(right);
    node->Publish(order.With(child + 1));
    node->ChildAt(order, child).store(left, std::memory_order_release);
    return;
  }
  const bool stays = node->ChildAt(order, child).load(std::memory_order_relaxed) == left;
  if (child + 1 == kSlots && stays) {  // as behind a full leaf
    Inner* behind = NewInner(right->low, node->high, {&right->low, 1}, &right);
    node->high = right->low;
    SetChildren(path, level - 1, node, behind);
    return;
  }
  const auto count = static_cast<size_t>(order.count()) + 1;
  for (int i = 0, from = 0; i < static_cast<int>(count); ++i) {
    const auto at = static_cast<size_t>(i);
    const bool is_new = i == child + 1;
    entries[at] = is_new ? right->low : node->EntryAt(order, from);
    children[at] = is_new       ? right
                   : i == child ? left
                                : node->ChildAt(order, from).load(std::memory_order_relaxed);
    from += is_new ? 0 : 1;
  }
  const Entries all(entries.data(), count);
  if (count <= kSlots) {
    SetChild(path, level - 1, NewInner(node->low, node->high, all, children.data()));
  } else {
    const char* middle = entries[kHalf];
    Inner* before = NewInner(node->low, middle, all.first(kHalf), children.data());
    Inner* behind = NewInner(middle, node->high, all.subspan(kHalf), &children[kHalf]);
    SetChildren(path, level - 1, before, behind);
  }
}

bool Memtable::Contains(const char* entry) const {
  const Target target = Target::Of(InternalKey(entry));
  Place place;
  return FirstFrom(target, &place) && CompareRest(place.entry(), target, 0) == 0;
}

bool Memtable::NextLeaf(Place* place) {
  place->leaf = place->leaf->next.load(std::memory_order_acquire);
  if (place->leaf == nullptr) {
    return false;
  }
  place->order = place->leaf->order();
  place->position = 0;
  return true;
}

bool Memtable::First(Place* place) const {
  Node* node = root_.load(std::memory_order_acquire);
  while (!node->is_leaf) {
    node = static_cast<Inner*>(node)->Child([](Order) { return 0; });
  }
  *place = {node, node->order(), 0};
  return place->order.count() > 0;
}

bool Memtable::Last(Place* place) const {
  Node* node = root_.load(std::memory_order_acquire);
  while (!node->is_leaf) {
    node = static_cast<Inner*>(node)->Child([](Order order) { return order.count() - 1; });
  }
  *place = {node, node->order(), 0};
  place->position = place->order.count() - 1;
  return place->position >= 0;
}

bool Memtable::FirstFrom(const Target& target, Place* place) const {
  Node* leaf = LeafOf(target, nullptr);
  *place = {leaf, leaf->order(), 0};
  place->position = leaf->Before(place->order, target, 0);
  // In the next leaves a writer may have put something before the target meanwhile, which then may
  // lie beyond their bounds.
  while (place->position == place->order.count()) {
    if (!NextLeaf(place)) {
      return false;
    }
    while (place->position < place->order.count() && CompareRest(place->entry(), target, 0) < 0) {
      ++place->position;
    }
  }
  return true;
}

bool Memtable::LastBefore(const Target& target, Place* place) const {
  Node* leaf = LeafOf(target, nullptr);
  *place = {leaf, leaf->order(), 0};
  place->position = leaf->Before(place->order, target, 0) - 1;
  return place->position >= 0;  // else it is the first leaf: any other has its least entry
}

// As if the children of a node had equally many entries.
double Memtable::ShareBefore(const Target& target) const {
  Path path;
  Node* leaf = LeafOf(target, &path);
  double share = 0;
  double width = 1;
  for (size_t i = 0; i < static_cast<size_t>(path.depth); ++i) {
    width /= path.nodes[i]->order().count();
    share += width * path.positions[i];
  }
  const Order order = leaf->order();
  return order.count() == 0 ? 0 : share + width * leaf->Before(order, target, 0) / order.count();
}

uint64_t Memtable::ApproximateNumEntries(const rocksdb::Slice& begin, const rocksdb::Slice& end) {
  const double share =
      ShareBefore(Target::Of(end.ToStringView())) - ShareBefore(Target::Of(begin.ToStringView()));
  const auto count = static_cast<double>(count_.load(std::memory_order_relaxed));
  return static_cast<uint64_t>(std::max(0.0, share) * count);
}

class MemtableIterator : public rocksdb::MemTableRep::Iterator {
 public:
  explicit MemtableIterator(const Memtable& memtable) : memtable_(memtable) {}

  bool Valid() const override { return valid_; }
  const char* key() const override { return place_.entry(); }
  void Next() override {
    if (++place_.position == place_.order.count()) {
      valid_ = Memtable::NextLeaf(&place_);
      if (valid_) {
        PrefetchAhead();
      }
    }
  }
  void Prev() override {
    if (place_.position > 0) {
      --place_.position;
    } else {
      valid_ = memtable_.LastBefore(Target::Of(InternalKey(place_.entry())), &place_);
    }
  }
  void Seek(const rocksdb::Slice& internal_key, const char* entry) override {
    valid_ = memtable_.FirstFrom(TargetOf(internal_key, entry), &place_);
  }
  void SeekForPrev(const rocksdb::Slice& internal_key, const char* entry) override {
    const Target target = TargetOf(internal_key, entry);
    valid_ =
        (memtable_.FirstFrom(target, &place_) && CompareRest(place_.entry(), target, 0) == 0) ||
        memtable_.LastBefore(target, &place_);
  }
  void SeekToFirst() override { valid_ = memtable_.First(&place_); }
  void SeekToLast() override { valid_ = memtable_.Last(&place_); }

 private:
  static Target TargetOf(const rocksdb::Slice& internal_key, const char* entry) {
    return Target::Of(entry != nullptr ? InternalKey(entry) : internal_key.ToStringView());
  }
  // Entries lie where they came: those of the next leaf are fetched while this one is passed.
  void PrefetchAhead() const {
    const Node* next = place_.leaf->next.load(std::memory_order_acquire);
    if (next == nullptr) {
      return;
    }
    if (const Node* later = next->next.load(std::memory_order_acquire)) {
      PrefetchNode(later);
    }
    const Order order = next->order();
    for (int i = 0; i < order.count(); ++i) {
      __builtin_prefetch(next->EntryAt(order, i));
    }
  }

  const Memtable& memtable_;
  Place place_;
  bool valid_ = false;
};

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
