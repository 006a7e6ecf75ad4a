// SPDX-License-Identifier: Apache-2.0
#include "kv/testing/fault_store.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"
#include "kv/rocks/rocks_store.h"

namespace quire::kv {
namespace {

class FaultStoreTest : public testing::Test {
 protected:
  FaultStoreTest()
      : store_(NewFaultStore(*OpenRocks({.path = "", .ephemeral = true, .cache_bytes = 16 << 20}),
                             plan_)) {}

  Status PutOne(std::string_view key) {
    auto txn = store_->Begin({});
    if (!txn.ok()) {
      return txn.status();
    }
    Status status = (*txn)->Put(key, "v");
    return status.ok() ? (*txn)->Commit(Durability::kProcess) : status;
  }
  bool Has(std::string_view key) {
    ReadValue value;
    return *(*store_->Begin({.read_only = true}))->Get(key, &value);
  }

  const Status error_{kInternalError, "planned"};
  FaultPlan plan_;
  std::unique_ptr<Store> store_;
};

TEST_F(FaultStoreTest, RunsSomethingAtTheNthCallOnce) {
  int ran = 0;
  plan_.RunAtNth(FaultPoint::kCommit, 2, [&] {
    ++ran;
    EXPECT_TRUE(PutOne("within").ok());
  });
  EXPECT_TRUE(PutOne("a").ok());
  EXPECT_EQ(ran, 0);
  EXPECT_TRUE(PutOne("b").ok());
  EXPECT_TRUE(PutOne("c").ok());
  EXPECT_EQ(ran, 1);
  EXPECT_TRUE(Has("within"));
  EXPECT_TRUE(Has("b"));
}

TEST_F(FaultStoreTest, FailsTheNthCallOnce) {
  plan_.FailNth(FaultPoint::kCommit, 2, error_);
  EXPECT_TRUE(PutOne("a").ok());
  EXPECT_EQ(PutOne("b").message(), "planned");
  EXPECT_TRUE(PutOne("c").ok());
  EXPECT_TRUE(Has("a"));
  EXPECT_FALSE(Has("b"));
  EXPECT_TRUE(Has("c"));
  EXPECT_EQ(plan_.calls(FaultPoint::kCommit), 3u);
}

TEST_F(FaultStoreTest, FailsEachKindOfCall) {
  ASSERT_TRUE(PutOne("a").ok());
  plan_.FailNth(FaultPoint::kBegin, 1, error_);
  EXPECT_FALSE(store_->Begin({}).ok());
  auto txn = *store_->Begin({});
  plan_.FailNth(FaultPoint::kWrite, 1, error_);
  EXPECT_FALSE(txn->Put("b", "").ok());
  plan_.FailNth(FaultPoint::kClaim, 1, error_);
  EXPECT_FALSE(txn->Claim("b").ok());
  auto cursor = *txn->Scan({}, Direction::kForward);
  plan_.FailNth(FaultPoint::kRead, 1, error_);
  EXPECT_FALSE(cursor->Next().ok());
  plan_.FailNth(FaultPoint::kLoad, 1, error_);
  EXPECT_FALSE(store_->Load().ok());
  plan_.FailNth(FaultPoint::kAdmin, 1, error_);
  EXPECT_FALSE(store_->Sync().ok());
}

TEST_F(FaultStoreTest, TheSameSeedFailsTheSameCalls) {
  std::vector<bool> runs[2];
  for (std::vector<bool>& run : runs) {
    plan_.FailRandomly(FaultPoint::kCommit, 0.3, 42, error_);
    for (int i = 0; i < 50; ++i) {
      run.push_back(PutOne("k").ok());
    }
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_NE(std::count(runs[0].begin(), runs[0].end(), false), 0);
  EXPECT_NE(std::count(runs[0].begin(), runs[0].end(), true), 0);
}

TEST_F(FaultStoreTest, AFullDiskRefusesCommitsUntilThereIsSpace) {
  plan_.SetDiskFull(true);
  EXPECT_EQ(PutOne("a").code(), kOutOfDiskSpace);
  EXPECT_FALSE(Has("a"));
  plan_.Clear();
  EXPECT_TRUE(PutOne("a").ok());
}

}  // namespace
}  // namespace quire::kv
