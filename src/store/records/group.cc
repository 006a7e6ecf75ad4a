// SPDX-License-Identifier: Apache-2.0
#include "store/records/group.h"

#include <algorithm>

namespace quire::store {

static_assert(kFullGroup + kLargestGrouped <= UINT16_MAX && kFullFolded <= UINT16_MAX);

void GroupBuilder::Append(int slot, std::string_view document) {
  if (count_ == 0) {  // documents of one collection are mostly of one size
    bytes_.reserve(kLargestHeader + std::min(kGroupSlots * document.size(), kFullGroup) +
                   document.size());
  }
  bytes_.append(document);
  ends_[count_++] = static_cast<uint16_t>(document_bytes());
  slots_ |= uint64_t{1} << slot;
}

void GroupBuilder::CutTo(int count) {
  while (count_ > count) {
    --count_;
    slots_ &= ~std::bit_floor(slots_);
  }
  bytes_.resize(kLargestHeader + (count_ == 0 ? 0 : ends_[count_ - 1]));
}

std::string_view GroupBuilder::Finish() {
  const size_t ends = 2 * static_cast<size_t>(count_);
  char* header = bytes_.data() + kLargestHeader - ends - GroupView::kFixedHeader;
  header[0] = GroupView::kVersion;
  memcpy(header + 1, &slots_, sizeof slots_);
  memcpy(header + GroupView::kFixedHeader, ends_, ends);
  return {header, static_cast<size_t>(bytes_.data() + bytes_.size() - header)};
}

}  // namespace quire::store
