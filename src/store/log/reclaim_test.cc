// SPDX-License-Identifier: Apache-2.0
//
// Reclaiming dropped tables that the log refers to, and cutting what refers to them.
#include <gtest/gtest.h>

#include "base/error_codes.h"
#include "store/log/testing/logged_store.h"
#include "store/records/fold.h"

namespace quire::store {
namespace {

constexpr auto kAtOnce = [] { return true; };

using Reclaim = LoggedStore;

TEST_F(Reclaim, HoweverSoonItIsStoppedItComesToAnEnd) {
  constexpr int kCommits = 100;
  Make();
  for (int i = 0; i < kCommits; ++i) {
    Fill(64 * i, 64);
  }
  const TableId table = Drop();
  int left = CountReferences(table);
  ASSERT_GE(left, kCommits);
  while (left > 0) {
    const uint64_t reads = plan_.calls(kv::FaultPoint::kRead);
    ASSERT_TRUE(catalog_->ReclaimReferred(0, kAtOnce).ok());
    EXPECT_LT(plan_.calls(kv::FaultPoint::kRead) - reads, 20U);
    const int now = CountReferences(table);
    ASSERT_LT(now, left);
    left = now;
  }
  ASSERT_TRUE(catalog_->ReclaimReferred(0, kAtOnce).ok());
  EXPECT_FALSE(HasKeys(table));
  EXPECT_EQ(Logged(), Numbers(0, 64 * kCommits));
}

TEST_F(Reclaim, OfWhatIsCutItIsStoppedToo) {
  constexpr int kCommits = 300;
  Make();
  for (int i = 0; i < kCommits; ++i) {
    Fill(500 * i, 500);
  }
  ASSERT_TRUE(catalog_->log().Trim(0, catalog_->log().Visible()).ok());
  const TableId table = Drop();
  ASSERT_GT(CountReferences(table), 2200);
  int calls = 0;
  for (; HasKeys(table); ++calls) {
    ASSERT_TRUE(catalog_->ReclaimReferred(0, kAtOnce).ok());
  }
  EXPECT_LE(3, calls);
  EXPECT_GE(10, calls);
}

TEST_F(Reclaim, ATableThatFailsIsTriedAgainAndHoldsUpNoOther) {
  Make();
  Fill(0, 100);
  Make("d");
  Fill(100, 100);
  const TableId c = Drop("c");
  const TableId d = Drop("d");
  plan_.FailNth(kv::FaultPoint::kAdmin, 1, Status(kInternalError, "disk"));
  EXPECT_EQ(catalog_->ReclaimReferred(0, kNever).code(), kInternalError);
  EXPECT_TRUE(HasKeys(c));
  EXPECT_FALSE(HasKeys(d));
  EXPECT_TRUE(catalog_->ReclaimReferred(0, kNever).ok());
  EXPECT_FALSE(HasKeys(c));
  EXPECT_EQ(Logged(), Numbers(0, 200));
}

TEST_F(Reclaim, WhatCouldNotBeWrittenOutIsTriedAgain) {
  Make();
  Fill(0, 100);
  Fill(100, 100);
  const TableId table = Drop();
  plan_.FailNth(kv::FaultPoint::kCommit, 2, Status(kInternalError, "disk"));
  EXPECT_EQ(catalog_->ReclaimReferred(0, kNever).code(), kInternalError);
  EXPECT_TRUE(catalog_->ReclaimReferred(0, kNever).ok());
  EXPECT_FALSE(HasKeys(table));
  EXPECT_EQ(Logged(), Numbers(0, 200));
}

TEST_F(Reclaim, AnUnreferredTableThatFailsIsTriedAgain) {
  Make();
  const TableId table = info_->table->id;
  {
    auto txn = *Transaction::Begin(*store_, false, info_->state);
    const bson::Document document = DocumentOf(1);
    ASSERT_TRUE(Insert(*txn, *info_, document).ok());
    ASSERT_TRUE(txn->Commit(kv::Durability::kProcess).ok());
  }
  plan_.FailRandomly(kv::FaultPoint::kAdmin, 1, 1, Status(kInternalError, "disk"));
  Drop();
  EXPECT_TRUE(HasKeys(table));
  plan_.Clear();
  EXPECT_TRUE(catalog_->ReclaimReferred(0, kNever).ok());
  EXPECT_FALSE(HasKeys(table));
}

// Until it is cut its documents have to stay.
TEST_F(Reclaim, TheLogCountsAsCutWhenItIs) {
  Make();
  Fill(0, 100);
  Fill(100, 100);
  ChangeLog& log = catalog_->log();
  const bson::Timestamp first = log.First();
  const bson::Timestamp newest = log.Visible();
  plan_.FailNth(kv::FaultPoint::kAdmin, 1, Status(kOutOfDiskSpace, "full"));
  EXPECT_FALSE(log.Trim(0, newest).ok());
  EXPECT_EQ(log.First(), first);
  EXPECT_EQ(log.Oldest(), bson::Timestamp());
  bson::Timestamp meanwhile;
  bson::Timestamp oldest;
  plan_.RunAtNth(kv::FaultPoint::kAdmin, 1, [&] {
    meanwhile = log.First();
    oldest = log.Oldest();
  });
  EXPECT_TRUE(log.Trim(0, newest).ok());
  EXPECT_EQ(meanwhile, first);
  EXPECT_LT(first, log.First());
  EXPECT_EQ(oldest, log.Oldest());
  EXPECT_EQ(Logged(), Numbers(100, 100));
}

TEST_F(Reclaim, ALogWhoseFirstDocumentsAreMissingIsOpenedAndCut) {
  Make();
  Fill(0, 100);
  const TableId table = info_->table->id;
  Make("d");
  Fill(100, 100);
  Fill(200, 100);
  const bson::Timestamp newest = catalog_->log().Visible();
  auto before = *ChangeReader::Open(*store_, catalog_->log(), {});
  Change change;
  do {
    ASSERT_TRUE(*before->Next(&change));
  } while (change.kind != 'i');
  ASSERT_TRUE(catalog_->log().Trim(0, change.time).ok());
  ASSERT_TRUE(store_->DeleteRange(TableRange(table)).ok());
  Reopen();
  EXPECT_EQ(catalog_->log().First(), change.time);
  EXPECT_EQ(catalog_->log().Oldest(), change.time);
  ASSERT_TRUE(catalog_->log().Trim(0, newest).ok());
  EXPECT_EQ(Logged(), Numbers(200, 100));
}

TEST_F(Reclaim, WhatIsWrittenOutMakesTheLogSwell) {
  Make();
  const std::vector<RecordId> ids = Fill(0, 200);
  for (size_t i = 0; i < 64; ++i) {
    Delete(ids[i]);
  }
  ChangeLog& log = catalog_->log();
  log.SetTrimStep(30'000);
  ASSERT_TRUE(log.Trim(0, {}).ok());
  int rings = 0;
  const auto listener = log.swollen.Listen([&] { ++rings; });
  ASSERT_TRUE(*FoldGroup(*store_, log, *info_, GroupOf(ids[0])));
  EXPECT_EQ(rings, 1);
}

TEST_F(Reclaim, WhatIsRolledBackDoesNotFillAGroupOfTheLog) {
  Make();
  ChangeBuffer buffer = catalog_->log().NewBuffer();
  const bson::Document small = DocumentOf(1);
  const bson::Document large =
      bson::Builder().Append("_id", 2).Append("text", std::string(2 << 20, 'x')).Finish();
  buffer.InsertGrouped(*info_, small, 64);
  const ChangeBuffer::Mark mark = buffer.mark();
  buffer.InsertGrouped(*info_, large, 128);
  buffer.RollBack(mark);
  buffer.InsertGrouped(*info_, small, 192);
  int groups = 0;
  EXPECT_TRUE(buffer
                  .ForEachGroup(0, SlotLink(),
                                [&](uint32_t /*first*/, std::string_view /*bytes*/) {
                                  ++groups;
                                  return Status::Ok();
                                })
                  .ok());
  EXPECT_EQ(groups, 1);
}

}  // namespace
}  // namespace quire::store
