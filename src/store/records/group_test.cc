// SPDX-License-Identifier: Apache-2.0
#include "store/records/group.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quire::store {
namespace {

std::string DocumentOf(size_t size) {
  return std::string(bson::Builder().Append("text", std::string(size, 'x')).Finish().bytes());
}

TEST(GroupTest, ShowsTheDocumentsOfItsSlots) {
  GroupBuilder builder;
  const std::vector<int> slots = {0, 1, 5, 40, 63};
  for (int slot : slots) {
    builder.Append(slot, DocumentOf(static_cast<size_t>(slot) * 10));
  }
  GroupView group;
  ASSERT_TRUE(group.Read(builder.Finish()));
  EXPECT_EQ(group.count(), 5);
  for (int rank = 0; rank < 5; ++rank) {
    const int slot = slots[static_cast<size_t>(rank)];
    EXPECT_TRUE(group.Has(slot));
    EXPECT_EQ(group.RankOf(slot), rank);
    EXPECT_EQ(group.At(rank), DocumentOf(static_cast<size_t>(slot) * 10));
  }
  EXPECT_FALSE(group.Has(2));
  EXPECT_FALSE(group.Has(62));
}

TEST(GroupTest, DocumentsAreTakenAwayFromTheEnd) {
  GroupBuilder builder;
  for (int slot = 0; slot < 10; ++slot) {
    builder.Append(slot, DocumentOf(100));
  }
  builder.CutTo(3);
  builder.Append(3, DocumentOf(7));
  GroupView group;
  ASSERT_TRUE(group.Read(builder.Finish()));
  EXPECT_EQ(group.slots(), 0xFU);
  EXPECT_EQ(group.At(2), DocumentOf(100));
  EXPECT_EQ(group.At(3), DocumentOf(7));
  builder.CutTo(0);
  ASSERT_TRUE(group.Read(builder.Finish()));
  EXPECT_EQ(group.count(), 0);
}

TEST(GroupTest, TakesNoMoreThanItsOffsetsTell) {
  GroupBuilder builder;
  const std::string largest = DocumentOf(kLargestGrouped - 16);
  ASSERT_TRUE(builder.Takes(largest.size()));
  EXPECT_FALSE(builder.Takes(kLargestGrouped + 1));
  EXPECT_FALSE(builder.Folds(kLargestGrouped + 1));
  int slot = 0;
  while (builder.Takes(largest.size())) {
    builder.Append(slot++, largest);
  }
  while (builder.Folds(largest.size())) {
    builder.Append(slot++, largest);
  }
  GroupView group;
  ASSERT_TRUE(group.Read(builder.Finish()));
  for (int rank = 0; rank < slot; ++rank) {
    EXPECT_EQ(group.At(rank), largest);
  }
}

TEST(GroupTest, WhatIsDamagedIsNotShown) {
  GroupBuilder builder;
  builder.Append(3, DocumentOf(20));
  builder.Append(4, DocumentOf(30));
  const std::string whole(builder.Finish());
  GroupView group;
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    EXPECT_TRUE(!group.Read(cut) || group.At(1).empty()) << size;
  }
  std::string changed = whole;
  changed[0] = 2;
  EXPECT_FALSE(group.Read(changed));
  changed = whole;
  changed[GroupView::kFixedHeader] ^= 1;  // where the first document ends
  ASSERT_TRUE(group.Read(changed));
  EXPECT_TRUE(group.At(0).empty());
  EXPECT_TRUE(group.At(1).empty());
}

}  // namespace
}  // namespace quire::store
