// SPDX-License-Identifier: Apache-2.0
#include "store/records/beside.h"

#include <memory>

#include "store/records/record_keys.h"

namespace quire::store {

namespace {

constexpr int64_t kMostNumbers = int64_t{64} * 256 * 256 * 256;

// Where the number's way goes on below a node of that level.
size_t StepOf(int64_t number, int level, int levels) {
  constexpr int kLeafBits = 6;
  constexpr int kStepBits = 8;
  return static_cast<size_t>(number >> (kLeafBits + kStepBits * (levels - 1 - level))) &
         ((size_t{1} << kStepBits) - 1);
}

uint64_t BitOf(int64_t number) { return uint64_t{1} << (number & 63); }

// What is there, or a new one. REQUIRES: nobody else makes one.
template <typename T>
T* Place(std::atomic<void*>& place) {
  void* there = place.load(std::memory_order_relaxed);
  if (there == nullptr) {
    there = std::make_unique<T>().release();
    place.store(there, std::memory_order_release);
  }
  return static_cast<T*>(there);
}

}  // namespace

Beside::~Beside() { Free(root_.load(), 0); }

void Beside::Free(void* below, int level) {
  if (below == nullptr) {
    return;
  }
  if (level == kLevels) {
    delete static_cast<Leaf*>(below);
    return;
  }
  auto* node = static_cast<Node*>(below);
  for (auto& place : node->below) {
    Free(place.load(), level + 1);
  }
  delete node;
}

const Beside::Leaf* Beside::Find(int64_t number) const {
  if (number >= kMostNumbers) {
    return nullptr;
  }
  const void* at = root_.load(std::memory_order_acquire);
  for (int level = 0; level < kLevels && at != nullptr; ++level) {
    at = static_cast<const Node*>(at)->below[StepOf(number, level, kLevels)].load(
        std::memory_order_acquire);
  }
  return static_cast<const Leaf*>(at);
}

Beside::Leaf* Beside::Make(int64_t number) {
  if (Leaf* leaf = Find(number)) {
    return leaf;
  }
  MutexLock lock(mutex_);
  if (Leaf* leaf = Find(number)) {
    return leaf;
  }
  if (number >= kMostNumbers || leaves_ >= kMostLeaves) {
    return nullptr;
  }
  ++leaves_;
  auto* node = Place<Node>(root_);
  for (int level = 0; level + 1 < kLevels; ++level) {
    node = Place<Node>(node->below[StepOf(number, level, kLevels)]);
  }
  return Place<Leaf>(node->below[StepOf(number, kLevels - 1, kLevels)]);
}

void Beside::Mark(RecordId id) {
  const int64_t number = GroupOf(id);
  // A new number without a leaf is that of no group that was written as one.
  if (Leaf* leaf = number < first_new_ ? Make(number) : Find(number)) {
    leaf->slots[static_cast<size_t>(number) % kLeafNumbers].fetch_or(SlotBit(id));
  }
}

void Beside::AddGroup(int64_t number) {
  if (Leaf* leaf = Make(number)) {
    leaf->known.fetch_or(BitOf(number));
  }
}

bool Beside::MayHave(RecordId id) const {
  const int64_t number = GroupOf(id);
  const Leaf* leaf = Find(number);
  return leaf == nullptr || (leaf->known.load() & BitOf(number)) == 0 ||
         (leaf->slots[static_cast<size_t>(number) % kLeafNumbers].load() & SlotBit(id)) != 0;
}

uint64_t Beside::MarkedOf(int64_t number) const {
  const Leaf* leaf = Find(number);
  return leaf == nullptr ? 0 : leaf->slots[static_cast<size_t>(number) % kLeafNumbers].load();
}

bool Beside::WantsLook(int64_t number) const {
  if (number >= first_new_ || number >= kMostNumbers) {
    return false;
  }
  const Leaf* leaf = Find(number);
  return leaf == nullptr ? leaves_.load() < kMostLeaves : (leaf->known.load() & BitOf(number)) == 0;
}

void Beside::Learn(int64_t number, uint64_t slots) {
  if (Leaf* leaf = Make(number)) {
    leaf->slots[static_cast<size_t>(number) % kLeafNumbers].fetch_or(slots);
    leaf->known.fetch_or(BitOf(number));
  }
}

}  // namespace quire::store
