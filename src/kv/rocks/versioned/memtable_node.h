// SPDX-License-Identifier: Apache-2.0
//
// The nodes of our memtable (memtable.h), a tree like a B+ tree with one writer and readers without
// locks, and the keys in them. Nothing of a node that a reader may look at changes: a slot is
// written once, before the order tells of it, and a node that has no room is replaced by copies.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace quire::kv::memtable {

constexpr int kSlots = 15;    // of a node
constexpr size_t kLine = 64;  // of the processor's cache
constexpr size_t kHead = sizeof(uint64_t);

inline uint64_t BigEndian(const char* p) {
  uint64_t number;
  memcpy(&number, p, sizeof number);
  return __builtin_bswap64(number);
}

// What an entry is found by: a user key and, for entries of the same key, the newest first.
struct Target {
  std::string_view user_key;
  uint64_t version = 0;  // sequence number and type

  // Of an internal key: the user key and eight bytes of version.
  static Target Of(std::string_view internal_key) {
    Target target;
    target.user_key = internal_key.substr(0, internal_key.size() - sizeof target.version);
    memcpy(&target.version, internal_key.data() + target.user_key.size(), sizeof target.version);
    return target;
  }
};

// The internal key of an entry: a varint of its size, then its bytes.
inline std::string_view InternalKey(const char* entry) {
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

inline std::string_view UserKeyOf(const char* entry) {
  return Target::Of(InternalKey(entry)).user_key;
}

// Eight bytes of the key from `skip` on as a number, filled up with zeros. REQUIRES: it has `skip`
// bytes.
inline uint64_t HeadOf(std::string_view user_key, size_t skip) {
  if (user_key.size() >= skip + kHead) [[likely]] {
    return BigEndian(user_key.data() + skip);
  }
  char bytes[kHead] = {};
  memcpy(bytes, user_key.data() + skip, user_key.size() - skip);
  return BigEndian(bytes);
}

// The order of an entry's key and the target, whose first `skip` bytes are the same: below, above
// or 0.
int CompareRest(const char* entry, const Target& target, size_t skip);

// Which of a node's slots are in use, in the order of their keys: how many, then the slots, four
// bits each. A slot is written before it is in here and not again, so whoever has read an order may
// look at its slots for as long as the memtable lives.
class Order {
 public:
  explicit Order(uint64_t bits = 0) : bits_(bits) {}
  uint64_t bits() const { return bits_; }
  int count() const { return static_cast<int>(bits_ & kMask); }
  int slot(int position) const { return static_cast<int>((bits_ >> Shift(position)) & kMask); }
  // With the next slot, the count-th, at this position.
  Order With(int position) const {
    const uint64_t below = (uint64_t{1} << Shift(position)) - 1;
    const auto slot = static_cast<uint64_t>(count());
    return Order(((bits_ & below) | (slot << Shift(position)) | ((bits_ & ~below) << kBits)) + 1);
  }
  // The first `count` slots as they come.
  static Order Straight(int count) {
    Order order;
    for (int i = 0; i < count; ++i) {
      order = order.With(i);
    }
    return order;
  }

 private:
  static constexpr int kBits = 4;
  static constexpr uint64_t kMask = 15;
  static int Shift(int position) { return kBits + kBits * position; }

  uint64_t bits_;
};

// A leaf has entries, any other node children, each with the least entry there ever was below it
// (for the first child the node's own bound, which nobody compares). Never empty but for the
// first leaf of all.
//
// Keys are compared by eight bytes of them, those behind what all keys of the node begin with. Of
// that only the last part is compared with what is looked for: the node's bounds vouch for the
// rest.
struct alignas(kLine) Node {
  static constexpr size_t kMostPrefix = 40;

  std::atomic<uint64_t> order_bits{0};
  std::atomic<Node*> next{nullptr};  // of a leaf: the one after it
  uint32_t skip = 0;                 // bytes that all its keys begin with
  uint16_t prefix_size = 0;          // of these, the last so many are the prefix
  bool is_leaf = true;
  std::array<char, kMostPrefix> prefix;
  std::array<uint64_t, kSlots> heads;  // of the keys, behind what they begin with
  std::array<const char*, kSlots> entries;
  // The writer's: whether others stand in its place, the leaf before, and the least entry there can
  // be (null: any).
  bool replaced = false;
  Node* back = nullptr;
  const char* low = nullptr;

  Order order() const { return Order(order_bits.load(std::memory_order_acquire)); }
  void Publish(Order order) { order_bits.store(order.bits(), std::memory_order_release); }
  // Sets what the keys begin with: all between the bounds, and all between two that it will have.
  void SetPrefix(const char* high, const char* first, const char* last);
  void Set(int slot, const char* entry) {
    heads[static_cast<size_t>(slot)] = HeadOf(UserKeyOf(entry), skip);
    entries[static_cast<size_t>(slot)] = entry;
  }
  const char* EntryAt(Order order, int position) const {
    return entries[static_cast<size_t>(order.slot(position))];
  }
  bool HasPrefix(const char* part) const;
  // Where the key stands to all that begin with the node's prefix, 0: among them. REQUIRES: it is
  // within the node's bounds.
  int ComparePrefix(std::string_view user_key) const;
  // How many entries are before the target, those before position `from` counted as such.
  // REQUIRES: as above.
  int Before(Order order, const Target& target, int from) const;
};

struct Inner : Node {
  std::array<std::atomic<Node*>, kSlots> children;
  const char* high = nullptr;  // the writer's: what all its keys are before (null: nothing)

  std::atomic<Node*>& ChildAt(Order order, int position) {
    return children[static_cast<size_t>(order.slot(position))];
  }
  // For readers: the child at the position that `choose` finds in the order. A child that gives a
  // part of its range to a new one behind it is replaced after the order tells of that one: whoever
  // has gone by the order before must not take what is left of it for all of it.
  template <class Choose>
  Node* Child(Choose choose) {
    for (;;) {
      const Order seen = order();
      Node* child = ChildAt(seen, choose(seen)).load(std::memory_order_acquire);
      if (order().bits() == seen.bits()) [[likely]] {
        return child;
      }
    }
  }
};

}  // namespace quire::kv::memtable
