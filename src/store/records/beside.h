// SPDX-License-Identifier: Apache-2.0
//
// Which record ids may have a key of their own beside their group, so that most reads of a grouped
// document need not look for one. Kept in memory, an eighth of a byte for a document.
//
// What it denies is true of every snapshot: whoever writes or deletes the key of a record marks it
// before the commit, and no mark is ever taken back. Ids are told by numbers, a group's record ids
// divided by 64. Of a number nobody knows anything about at first; then every id may have a key.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/mutex.h"
#include "store/layout.h"

namespace quire::store {

// Safe for concurrent use.
class Beside {
 public:
  Beside() = default;
  ~Beside();
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  // Numbers from here on are given out after this was called; those before it may be in the store.
  // Called before there are others.
  void BeginAt(int64_t number) { first_new_ = number; }

  // The key of `id` is about to be written or deleted.
  void Mark(RecordId id);
  // A number that was never used will be that of a group.
  void AddGroup(int64_t number);

  // Whether the id may have a key.
  bool MayHave(RecordId id) const;
  // The slots of the number that were marked; may lack some of a number nobody knows.
  uint64_t MarkedOf(int64_t number) const;
  // Whether to look through the store for what lies beside that number's group, and tell Learn: of
  // a number from before BeginAt that nobody has looked at yet.
  bool WantsLook(int64_t number) const;
  // `slots` have keys, by a look into any snapshot that was taken since BeginAt.
  void Learn(int64_t number, uint64_t slots);

 private:
  static constexpr int kLeafNumbers = 64;
  static constexpr int kFanOut = 256;
  static constexpr int kLevels = 3;
  // Then every id may have a key, of numbers without a leaf.
  static constexpr int64_t kMostLeaves = int64_t{1} << 17;

  struct Leaf {
    std::atomic<uint64_t> known{0};                              // of the numbers
    std::array<std::atomic<uint64_t>, kLeafNumbers> slots = {};  // marked ones
  };
  struct Node {
    std::array<std::atomic<void*>, kFanOut> below = {};  // nodes, on the last level leaves
  };

  const Leaf* Find(int64_t number) const;
  Leaf* Find(int64_t number) {
    return const_cast<Leaf*>(static_cast<const Beside*>(this)->Find(number));
  }
  // Null when there is no room for it any more, and never again.
  Leaf* Make(int64_t number);
  static void Free(void* below, int level);

  int64_t first_new_ = 0;
  Mutex mutex_;  // one leaf at a time is made, so that all agree on when there is no more room
  std::atomic<int64_t> leaves_{0};
  std::atomic<void*> root_{nullptr};
};

}  // namespace quire::store
