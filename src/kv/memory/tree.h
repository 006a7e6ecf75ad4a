// SPDX-License-Identifier: Apache-2.0
//
// An ordered map of entries whose copies are snapshots. It is a balanced (AVL) tree of nodes that
// are shared by all trees they were copied into: a copy costs one pointer, and a change makes new
// nodes along one path only, or none where nobody else sees them.
//
// Different trees may be used by different threads at the same time though they share nodes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "kv/kv.h"
#include "kv/shared_entry.h"

namespace quire::kv {

class Tree {
 private:
  struct Node;

  // Shares the ownership of a node; may be null.
  class Link {
   public:
    Link() = default;
    explicit Link(Node* node) : node_(node) {}  // takes the only share over
    Link(const Link& other);
    Link(Link&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    Link& operator=(Link other) noexcept {
      std::swap(node_, other.node_);
      return *this;
    }
    ~Link();

    Node* get() const { return node_; }
    Node* operator->() const { return node_; }
    Node& operator*() const { return *node_; }
    explicit operator bool() const { return node_ != nullptr; }

   private:
    Node* node_ = nullptr;
  };

 public:
  // The entry of `key`, or null. Valid as long as this tree or a copy has it.
  const SharedEntry* Find(std::string_view key) const;
  // Adds the entry or replaces the one of its key.
  void Put(SharedEntry entry) { root_ = Put(std::move(root_), std::move(entry)); }
  void Delete(std::string_view key) { root_ = Delete(std::move(root_), key); }
  void DeleteRange(const Range& range);

  // Bytes of the keys and values, and of those in a range.
  uint64_t bytes() const { return BytesOf(root_); }
  uint64_t BytesIn(const Range& range) const;

  // A place in a tree: at an entry, or nowhere. REQUIRES: the tree outlives it unchanged.
  class Walk {
   public:
    explicit Walk(const Tree& tree) : root_(tree.root_.get()) {}

    // Null: nowhere.
    const SharedEntry* entry() const;
    void ToLast();
    void ToFirstFrom(std::string_view key);   // the first one not before the key
    void ToLastBefore(std::string_view key);  // the last one before the key
    void ToLastUpTo(std::string_view key);    // the last one not after the key
    // REQUIRES of both: it is at an entry.
    void Next();
    void Previous();

   private:
    // A tree of this height has more entries than memory can hold.
    static constexpr size_t kHighest = 64;

    void Descend(Node* node, bool to_left);
    // Up to the parent that has the node it comes from on this side; nowhere when there is none.
    void AscendFrom(bool left);

    Node* root_;
    std::array<Node*, kHighest> path_;
    size_t depth_ = 0;  // of path_, from the root to the entry; 0: nowhere
  };

 private:
  static uint64_t BytesOf(const Link& tree);
  static int HeightOf(const Link& tree);
  // The node if nobody else has it, else a copy.
  static Link Own(Link node);
  static void Update(Node& node);
  // The node with its children in balance, after one of them has grown or shrunk by a level.
  // REQUIRES: the node is owned.
  static Link Balance(Link node);
  static Link RotateLeft(Link node);
  static Link RotateRight(Link node);
  static Link Put(Link tree, SharedEntry entry);
  static Link Delete(Link tree, std::string_view key);
  // All of `left`, `middle` alone and all of `right`, which follow each other. REQUIRES: `middle`
  // is owned.
  static Link Join(Link left, Link middle, Link right);
  static Link Join(Link left, Link right);
  // Takes the first entry out of the tree, which is not empty.
  static Link TakeFirst(Link* tree);
  // What lies before the key, and the rest.
  static std::pair<Link, Link> Split(Link tree, std::string_view key);
  uint64_t BytesBefore(std::string_view key) const;

  Link root_;
};

}  // namespace quire::kv
