// SPDX-License-Identifier: Apache-2.0
//
// The part of the conformance suite about transactions: snapshots, own writes, claims, savepoints
// and counters.
#include <algorithm>
#include <random>

#include "base/error_codes.h"
#include "kv/testing/conformance.h"

namespace quire::kv {

TEST_P(Conformance, ASnapshotDoesNotMove) {
  PutAll({{"a", "1"}, {"b", "1"}});
  auto reader = Begin(true);
  auto writer = Begin();
  auto cursor = *reader->Scan({}, Direction::kForward);
  PutAll({{"a", "2"}, {"c", "2"}});
  EXPECT_EQ(Get(*reader, "a"), "1");
  EXPECT_EQ(Get(*reader, "c"), std::nullopt);
  EXPECT_EQ(Get(*writer, "a"), "1");
  EXPECT_EQ(Collect(*reader, {}), (Entries{{"a", "1"}, {"b", "1"}}));
  ASSERT_TRUE(*cursor->Next());
  EXPECT_EQ(cursor->value(), "1");
  EXPECT_EQ(Read("a"), "2");
}

TEST_P(Conformance, SeveralReadOneSnapshot) {
  PutAll({{"a", "1"}});
  std::shared_ptr<Txn> first = Begin(true);
  PutAll({{"a", "2"}, {"b", "2"}});
  auto second = *store_->Begin({.read_only = true, .as_of = first});
  std::shared_ptr<Txn> third = *store_->Begin({.read_only = true, .as_of = std::move(first)});
  auto fourth = *store_->Begin({.read_only = true, .as_of = third});
  third.reset();
  PutAll({{"a", "3"}});
  for (Txn* txn : {second.get(), fourth.get()}) {
    EXPECT_EQ(Get(*txn, "a"), "1");
    EXPECT_EQ(Collect(*txn, {}), (Entries{{"a", "1"}}));
  }
  EXPECT_EQ(Read("a"), "3");
}

TEST_P(Conformance, WritesAreSeenByOthersOnlyAfterCommit) {
  auto txn = Begin();
  ASSERT_TRUE(txn->Put("a", "1").ok());
  EXPECT_EQ(Get(*txn, "a"), "1");
  EXPECT_EQ(Read("a"), std::nullopt);
  ASSERT_TRUE(txn->Commit(Durability::kProcess).ok());
  EXPECT_EQ(Read("a"), "1");
}

TEST_P(Conformance, DestroyingRollsBack) {
  {
    auto txn = Begin();
    ASSERT_TRUE(txn->Claim("a").ok());
    ASSERT_TRUE(txn->Put("a", "1").ok());
  }
  EXPECT_EQ(Read("a"), std::nullopt);
  EXPECT_TRUE(Begin()->Claim("a").ok());
}

TEST_P(Conformance, AnEmptyTransactionCommits) {
  EXPECT_TRUE(Begin()->Commit(Durability::kDisk).ok());
  EXPECT_TRUE(Begin(true)->Commit(Durability::kProcess).ok());
}

TEST_P(Conformance, AReadOnlyTransactionRefusesWrites) {
  auto txn = Begin(true);
  EXPECT_FALSE(txn->Put("a", "1").ok());
  EXPECT_FALSE(txn->Delete("a").ok());
  EXPECT_FALSE(txn->Claim("a").ok());
  EXPECT_FALSE(txn->Add("a", 1).ok());
}

TEST_P(Conformance, OwnWritesInScans) {
  PutAll({{"b", "base"}, {"c", "base"}, {"d", "base"}, {"f", "base"}});
  auto txn = Begin();
  ASSERT_TRUE(txn->Put("a", "own").ok());
  ASSERT_TRUE(txn->Delete("b").ok());
  ASSERT_TRUE(txn->Put("c", "own").ok());
  ASSERT_TRUE(txn->Put("e", "own").ok());
  ASSERT_TRUE(txn->Put("g", "own").ok());
  ASSERT_TRUE(txn->Delete("g").ok());
  Entries all = {{"a", "own"}, {"c", "own"}, {"d", "base"}, {"e", "own"}, {"f", "base"}};
  EXPECT_EQ(Collect(*txn, {}), all);
  std::reverse(all.begin(), all.end());
  EXPECT_EQ(Collect(*txn, {}, Direction::kBackward), all);
  const Entries middle = {{"c", "own"}, {"d", "base"}};
  EXPECT_EQ(Collect(*txn, {"b", "e"}), middle);
  EXPECT_EQ(Collect(*txn, {"b", "e"}, Direction::kBackward), (Entries{middle[1], middle[0]}));
}

TEST_P(Conformance, WritingUnderAnOpenCursorIsSafe) {
  std::map<std::string, std::string> entries;
  for (int i = 0; i < 100; ++i) {
    entries[Number(i)] = "old value, too long for any small buffer";
  }
  PutAll(entries);
  for (Direction direction : {Direction::kForward, Direction::kBackward}) {
    auto txn = Begin();
    ASSERT_TRUE(txn->Put(Number(50), "written before, and as long as the others").ok());
    auto cursor = *txn->Scan({}, direction);
    int seen = 0;
    while (*cursor->Next()) {
      const std::string key(cursor->key());
      const std::string value(cursor->value());
      ASSERT_TRUE(txn->Put(key, "new").ok());
      EXPECT_EQ(cursor->value(), value);
      ASSERT_TRUE(txn->Delete(key).ok());
      EXPECT_EQ(cursor->key(), key);
      ++seen;
    }
    EXPECT_EQ(seen, 100);
    EXPECT_TRUE(Collect(*txn, {}).empty());
  }
}

// Random writes, savepoints and reads against a std::map.
TEST_P(Conformance, OwnWritesAgreeWithAModel) {
  std::mt19937 random(7);
  std::map<std::string, std::string> model;
  for (int i = 0; i < 60; i += 3) {
    model[Number(i)] = "base" + std::to_string(i);
  }
  PutAll(model);
  auto txn = Begin();
  std::vector<std::map<std::string, std::string>> saved;
  for (int step = 0; step < 600; ++step) {
    const std::string key = Number(static_cast<int>(random() % 60));
    switch (random() % 7) {
      case 0:
      case 1:
        model[key] = "own" + std::to_string(step);
        ASSERT_TRUE(txn->Put(key, model[key]).ok());
        break;
      case 2:
      case 3:
        model.erase(key);
        ASSERT_TRUE(txn->Delete(key).ok());
        break;
      case 4:
        saved.push_back(model);
        txn->SetSavepoint();
        break;
      case 5:
        if (!saved.empty()) {
          model = saved.back();
          saved.pop_back();
          ASSERT_TRUE(txn->RollbackToSavepoint().ok());
        }
        break;
      case 6:
        if (!saved.empty()) {
          saved.pop_back();
          txn->ReleaseSavepoint();
        }
        break;
    }
    Range range{Number(static_cast<int>(random() % 60)), Number(static_cast<int>(random() % 60))};
    Entries expected;
    if (range.begin < range.end) {
      expected.assign(model.lower_bound(range.begin), model.lower_bound(range.end));
    }
    ASSERT_EQ(Collect(*txn, range), expected) << step;
    std::reverse(expected.begin(), expected.end());
    ASSERT_EQ(Collect(*txn, range, Direction::kBackward), expected) << step;
  }
  ASSERT_TRUE(txn->Commit(Durability::kProcess).ok());
  EXPECT_EQ(Collect(*Begin(true), {}), Entries(model.begin(), model.end()));
}

TEST_P(Conformance, TwoOpenTransactionsCannotClaimTheSameKey) {
  auto first = Begin();
  auto second = Begin();
  ASSERT_TRUE(first->Claim("never there").ok());
  EXPECT_TRUE(first->Claim("never there").ok());
  EXPECT_EQ(second->Claim("never there").code(), kWriteConflict);
  EXPECT_TRUE(second->Claim("something else").ok());
}

TEST_P(Conformance, AClaimCommittedAfterTheSnapshotConflicts) {
  auto old_one = Begin();
  auto first = Begin();
  ASSERT_TRUE(first->Claim("k").ok());
  ASSERT_TRUE(first->Put("k", "1").ok());
  ASSERT_TRUE(first->Commit(Durability::kProcess).ok());
  first.reset();
  EXPECT_EQ(old_one->Claim("k").code(), kWriteConflict);
  EXPECT_TRUE(Begin()->Claim("k").ok());
}

TEST_P(Conformance, AClaimCommittedWithoutAWriteConflictsToo) {
  auto old_one = Begin();
  auto first = Begin();
  ASSERT_TRUE(first->Claim("k").ok());
  ASSERT_TRUE(first->Commit(Durability::kProcess).ok());
  EXPECT_EQ(old_one->Claim("k").code(), kWriteConflict);
}

TEST_P(Conformance, ARolledBackClaimIsAsIfNeverMade) {
  auto second = Begin();
  {
    auto first = Begin();
    ASSERT_TRUE(first->Claim("k").ok());
    ASSERT_TRUE(first->Put("k", "1").ok());
  }
  ASSERT_TRUE(second->Claim("k").ok());
  ASSERT_TRUE(second->Put("k", "2").ok());
  ASSERT_TRUE(second->Commit(Durability::kProcess).ok());
  EXPECT_EQ(Read("k"), "2");
}

TEST_P(Conformance, WritesWithoutClaimsNeverConflict) {
  auto first = Begin();
  auto second = Begin();
  ASSERT_TRUE(first->Put("k", "1").ok());
  ASSERT_TRUE(second->Put("k", "2").ok());
  ASSERT_TRUE(second->Commit(Durability::kProcess).ok());
  ASSERT_TRUE(first->Commit(Durability::kProcess).ok());
  EXPECT_EQ(Read("k"), "1");
}

TEST_P(Conformance, ClaimsStayAfterARollbackToASavepoint) {
  auto first = Begin();
  first->SetSavepoint();
  ASSERT_TRUE(first->Claim("k").ok());
  ASSERT_TRUE(first->RollbackToSavepoint().ok());
  EXPECT_EQ(Begin()->Claim("k").code(), kWriteConflict);
}

TEST_P(Conformance, Savepoints) {
  auto txn = Begin();
  ASSERT_TRUE(txn->Put("a", "1").ok());
  txn->SetSavepoint();
  ASSERT_TRUE(txn->Put("a", "2").ok());
  ASSERT_TRUE(txn->Add("n", 5).ok());
  txn->SetSavepoint();
  ASSERT_TRUE(txn->Put("b", "3").ok());
  txn->ReleaseSavepoint();
  EXPECT_EQ(Get(*txn, "b"), "3");
  ASSERT_TRUE(txn->RollbackToSavepoint().ok());
  EXPECT_EQ(Get(*txn, "a"), "1");
  EXPECT_EQ(Get(*txn, "b"), std::nullopt);
  EXPECT_EQ(*txn->ReadCounter("n"), 0);
  ASSERT_TRUE(txn->Commit(Durability::kProcess).ok());
  EXPECT_EQ(Collect(*Begin(true), {}), (Entries{{"a", "1"}}));
}

TEST_P(Conformance, CountersAddUp) {
  auto first = Begin();
  auto second = Begin();
  ASSERT_TRUE(first->Add("n", 5).ok());
  ASSERT_TRUE(first->Add("n", -2).ok());
  ASSERT_TRUE(second->Add("n", 10).ok());
  EXPECT_EQ(*first->ReadCounter("n"), 3);
  EXPECT_EQ(*second->ReadCounter("n"), 10);
  ASSERT_TRUE(first->Commit(Durability::kProcess).ok());
  EXPECT_EQ(*second->ReadCounter("n"), 10);
  ASSERT_TRUE(second->Commit(Durability::kProcess).ok());
  EXPECT_EQ(ReadCounter("n"), 13);
}

TEST_P(Conformance, CountersAreReadAtTheSnapshot) {
  auto add = [&](int64_t delta) {
    auto txn = Begin();
    ASSERT_TRUE(txn->Add("n", delta).ok());
    ASSERT_TRUE(txn->Commit(Durability::kProcess).ok());
  };
  add(7);
  auto before = Begin(true);
  add(-10);
  EXPECT_EQ(*before->ReadCounter("n"), 7);
  EXPECT_EQ(ReadCounter("n"), -3);
  EXPECT_EQ(ReadCounter("m"), 0);
}

TEST_P(Conformance, DroppedCountersStartOver) {
  auto add = [&] {
    auto txn = Begin();
    ASSERT_TRUE(txn->Add("one", 5).ok());
    ASSERT_TRUE(txn->Add("two", 6).ok());
    ASSERT_TRUE(txn->Add("two", 1).ok());
    ASSERT_TRUE(txn->Commit(Durability::kProcess).ok());
  };
  add();
  ASSERT_TRUE(store_->DeleteRange({"one", PrefixEnd("one")}).ok());
  EXPECT_EQ(ReadCounter("one"), 0);
  add();
  EXPECT_EQ(ReadCounter("one"), 5);
  EXPECT_EQ(ReadCounter("two"), 14);
}

}  // namespace quire::kv
