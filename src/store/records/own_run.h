// SPDX-License-Identifier: Apache-2.0
//
// Counts, on a way through the documents with keys of their own, those that share a number, and
// tells which numbers are worth folding (fold.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "store/records/record_keys.h"

namespace quire::store {

class OwnRun {
 public:
  // Passes such a document, or what tells of its deletion (of size 0). `grouped`: its number has a
  // group, too. The number of those before it, when that is another and worth folding.
  std::optional<int64_t> Pass(RecordId id, size_t size, bool grouped) {
    std::optional<int64_t> done;
    if (GroupOf(id) != number_) {
      done = End();
      *this = OwnRun();
      number_ = GroupOf(id);
    }
    grouped_ |= grouped;
    count_ += size <= kLargestGrouped ? 1 : 0;
    bytes_ += size;
    return done;
  }
  // The number of the last ones, when it is worth folding.
  std::optional<int64_t> End() const {
    constexpr int kWorthChanging = 8;
    constexpr int kWorthMaking = 32;
    return count_ >= (grouped_ ? kWorthChanging : kWorthMaking) && bytes_ <= kFullFolded
               ? std::optional(number_)
               : std::nullopt;
  }

 private:
  int64_t number_ = -1;
  bool grouped_ = false;
  int count_ = 0;
  size_t bytes_ = 0;
};

}  // namespace quire::store
