// SPDX-License-Identifier: Apache-2.0
//
// Documents of up to 64 consecutive record ids in one value. PERSISTED: see docs/architecture.md.
//
// version (1 byte), the slots in use (8 bytes, a bit each), the end of each document counted from
// where the documents begin (2 bytes each), the documents in the order of their slots. Numbers are
// little-endian.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "quire/bson.h"

namespace quire::store {

constexpr int kGroupSlots = 64;
constexpr size_t kLargestGrouped = size_t{8} << 10;  // documents above it are in no group
constexpr size_t kFullGroup = size_t{32} << 10;      // a new group of so many bytes takes no more
constexpr size_t kFullFolded = size_t{48} << 10;     // what a group may have when it is folded

// A group as it is stored. Shows bytes that are kept elsewhere.
class GroupView {
 public:
  static constexpr char kVersion = 1;
  static constexpr size_t kFixedHeader = 9;
  static constexpr int kCacheLine = 64;

  GroupView() = default;
  // False when the bytes cannot be a group. What they say of single documents is checked when
  // those are shown.
  bool Read(std::string_view bytes) {
    if (bytes.size() < kFixedHeader || bytes[0] != kVersion) {
      return false;
    }
    memcpy(&slots_, bytes.data() + 1, sizeof slots_);
    count_ = std::popcount(slots_);
    const size_t header = kFixedHeader + 2 * static_cast<size_t>(count_);
    if (bytes.size() < header) {
      return false;
    }
    ends_ = bytes.data() + kFixedHeader;
    documents_ = bytes.substr(header);
    return true;
  }

  uint64_t slots() const { return slots_; }
  int count() const { return count_; }
  bool Has(int slot) const { return ((slots_ >> slot) & 1) != 0; }
  // How many documents lie before that of the slot.
  int RankOf(int slot) const { return std::popcount(slots_ & ((uint64_t{1} << slot) - 1)); }
  // The document of that rank; empty when the group is damaged there. REQUIRES: rank < count().
  std::string_view At(int rank) const {
    const size_t begin = rank == 0 ? 0 : End(rank - 1);
    const size_t end = End(rank);
    constexpr size_t kSmallest = 5;
    if (begin + kSmallest > end || end > documents_.size()) [[unlikely]] {
      return {};
    }
    std::string_view document = documents_.substr(begin, end - begin);
    uint32_t size = 0;
    memcpy(&size, document.data(), sizeof size);
    return size == document.size() ? document : std::string_view();
  }
  // Asks the processor for the first so many cache lines of that rank's document, which is soon to
  // be read; for nothing when there is no such rank.
  void Prefetch(int rank, int lines) const {
    if (rank >= 0 && rank < count_) {
      const char* at = documents_.data() + (rank == 0 ? 0 : End(rank - 1));
      for (int line = 0; line < lines; ++line) {
        __builtin_prefetch(at + kCacheLine * line);
      }
      asm volatile("");  // a function that did nothing else would not be called at all
    }
  }
  // Of a document of middle size.
  int cache_lines() const {
    return count_ == 0 ? 0 : 1 + static_cast<int>(documents_.size()) / count_ / kCacheLine;
  }

 private:
  size_t End(int rank) const {
    uint16_t end = 0;
    memcpy(&end, ends_ + 2 * rank, sizeof end);
    return end;
  }

  uint64_t slots_ = 0;
  int count_ = 0;
  const char* ends_ = nullptr;
  std::string_view documents_;
};

// Puts a group together. Documents can be taken away again from the end.
class GroupBuilder {
 public:
  GroupBuilder() { bytes_.resize(kLargestHeader); }

  int count() const { return count_; }
  size_t document_bytes() const { return bytes_.size() - kLargestHeader; }
  // Whether a document of that size has room in a new group, and in one that is folded.
  bool Takes(size_t size) const { return size <= kLargestGrouped && document_bytes() < kFullGroup; }
  bool Folds(size_t size) const {
    return size <= kLargestGrouped && document_bytes() + size <= kFullFolded;
  }
  // REQUIRES: Takes or Folds its size, `slot` is above every one in use.
  void Append(int slot, std::string_view document);
  // Forgets all documents but the first so many.
  void CutTo(int count);
  // The group. Shows bytes of this object, until it is changed.
  std::string_view Finish();

 private:
  static constexpr size_t kLargestHeader = GroupView::kFixedHeader + 2 * kGroupSlots;

  std::string bytes_;  // documents, after room for the largest header
  uint64_t slots_ = 0;
  uint16_t ends_[kGroupSlots] = {};
  int count_ = 0;
};

}  // namespace quire::store
