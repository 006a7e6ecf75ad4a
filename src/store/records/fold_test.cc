// SPDX-License-Identifier: Apache-2.0
#include "store/records/fold.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/error_codes.h"
#include "bson/testing/json.h"
#include "kv/testing/test_store.h"
#include "store/collection.h"
#include "store/records/record_cursor.h"
#include "store/records/record_keys.h"

namespace quire::store {
namespace {

class FoldTest : public testing::Test {
 protected:
  FoldTest() {
    store_ = kv::TestStore(KeySections());
    catalog_ = *Catalog::Open(store_.get());
    bson::Document id = bson::TestDocument("{v: 2, key: {_id: 1}, name: '_id_'}");
    EXPECT_TRUE(catalog_->Create("db", "c", bson::View(), id, kv::Durability::kProcess).ok());
    info_ = catalog_->Find("db.c");
  }

  static bson::Document DocumentOf(int id, int64_t value) {
    return bson::Builder().Append("_id", id).Append("value", value).Finish();
  }

  // Documents of value 0, together or each alone; their record ids.
  std::vector<RecordId> Fill(int count, bool together) {
    std::vector<RecordId> ids;
    auto txn = *Transaction::Begin(*store_, false, info_->state);
    for (int i = 0; i < count; ++i) {
      bson::Document document = DocumentOf(i, 0);
      ids.push_back(*Insert(*txn, *info_, document, {.one_of_many = together}));
    }
    EXPECT_TRUE(txn->Commit(kv::Durability::kProcess).ok());
    return ids;
  }

  Status Change(Transaction& txn, RecordId id, int64_t by) {
    RETURN_IF_ERROR(ClaimRecord(txn, *info_, id));
    kv::ReadValue value;
    ASSIGN_OR_RETURN(bool found, Fetch(txn, *info_, id, &value));
    EXPECT_TRUE(found);
    bson::Document before{bson::View(value.view().data())};
    bson::Document after =
        DocumentOf(static_cast<int>(before["_id"].AsInt64()), before["value"].AsInt64() + by);
    return Replace(txn, *info_, id, before, after, {});
  }

  void Delete(RecordId id) {
    auto txn = *Transaction::Begin(*store_, false, info_->state);
    kv::ReadValue value;
    ASSERT_TRUE(*Fetch(*txn, *info_, id, &value));
    ASSERT_TRUE(ClaimRecord(*txn, *info_, id).ok());
    ASSERT_TRUE(Remove(*txn, *info_, id, bson::View(value.view().data())).ok());
    ASSERT_TRUE(txn->Commit(kv::Durability::kProcess).ok());
  }

  struct Keys {
    int groups = 0;
    int own = 0;
    bool operator==(const Keys&) const = default;
  };
  Keys CountKeys() {
    Keys keys;
    auto txn = *store_->Begin({.read_only = true});
    auto groups = *txn->Scan(GroupRange(info_->table->id), kv::Direction::kForward);
    while (*groups->Next()) {
      ++keys.groups;
    }
    auto own = *txn->Scan(RecordRange(info_->table->id), kv::Direction::kForward);
    while (*own->Next()) {
      ++keys.own;
    }
    return keys;
  }

  struct Sum {
    int documents = 0;
    int64_t value = 0;
  };
  Sum Add() {
    Sum sum;
    auto txn = *store_->Begin({.read_only = true});
    auto records = *RecordCursor::Open(*txn, *info_->state, kv::Direction::kForward);
    while (*records->Next()) {
      ++sum.documents;
      sum.value += bson::View(records->document().data())["value"].AsInt64();
    }
    return sum;
  }

  std::unique_ptr<kv::Store> store_;
  std::unique_ptr<Catalog> catalog_;
  CollectionPtr info_;
};

TEST_F(FoldTest, AScanNotesWhatIsWorthFolding) {
  Fill(200, false);
  EXPECT_EQ(CountKeys(), (Keys{0, 200}));
  EXPECT_EQ(Add().documents, 200);
  ASSERT_TRUE(FoldNoted(*store_, catalog_->log(), *info_, [] { return false; }).ok());
  EXPECT_EQ(CountKeys(), (Keys{3, 9}));  // the last number may get more
  EXPECT_EQ(Add().documents, 200);
}

TEST_F(FoldTest, DeletedDocumentsLeaveTheirGroup) {
  std::vector<RecordId> ids = Fill(64, true);
  EXPECT_EQ(CountKeys(), (Keys{1, 0}));
  for (size_t i = 0; i < 40; ++i) {
    Delete(ids[i]);
  }
  EXPECT_EQ(CountKeys(), (Keys{1, 40}));
  ASSERT_TRUE(FoldNoted(*store_, catalog_->log(), *info_, [] { return false; }).ok());
  EXPECT_EQ(CountKeys(), (Keys{1, 0}));
  EXPECT_EQ(Add().documents, 24);
  for (size_t i = 40; i < 64; ++i) {
    Delete(ids[i]);
  }
  ASSERT_TRUE(FoldNoted(*store_, catalog_->log(), *info_, [] { return false; }).ok());
  EXPECT_EQ(CountKeys(), (Keys{0, 0}));
}

TEST_F(FoldTest, LeavesAloneWhatAnotherIsWriting) {
  std::vector<RecordId> ids = Fill(64, true);
  Delete(ids[1]);
  auto txn = *Transaction::Begin(*store_, false, info_->state);
  ASSERT_TRUE(Change(*txn, ids[0], 1).ok());
  ASSERT_TRUE(Change(*txn, ids[0], 1).ok());
  ASSERT_TRUE(*FoldGroup(*store_, catalog_->log(), *info_,
                         GroupOf(ids[0])));  // of another document: no conflict
  ASSERT_TRUE(txn->Commit(kv::Durability::kProcess).ok());
  EXPECT_EQ(CountKeys(), (Keys{1, 1}));

  auto second = *Transaction::Begin(*store_, false, info_->state);
  ASSERT_TRUE(Change(*second, ids[0], 1).ok());
  EXPECT_FALSE(*FoldGroup(*store_, catalog_->log(), *info_, GroupOf(ids[0])));
  ASSERT_TRUE(second->Commit(kv::Durability::kProcess).ok());
  EXPECT_TRUE(*FoldGroup(*store_, catalog_->log(), *info_, GroupOf(ids[0])));
  EXPECT_EQ(CountKeys(), (Keys{1, 0}));
  EXPECT_EQ(Add().value, 3);
}

TEST_F(FoldTest, ATransactionFromBeforeMeetsAConflict) {
  std::vector<RecordId> ids = Fill(64, true);
  auto first = *Transaction::Begin(*store_, false, info_->state);
  ASSERT_TRUE(Change(*first, ids[0], 1).ok());
  ASSERT_TRUE(first->Commit(kv::Durability::kProcess).ok());
  auto txn = *Transaction::Begin(*store_, false, info_->state);
  ASSERT_TRUE(*FoldGroup(*store_, catalog_->log(), *info_, GroupOf(ids[0])));
  EXPECT_EQ(Change(*txn, ids[0], 1).code(), kWriteConflict);
}

TEST_F(FoldTest, NothingIsLostWhileAllWriteAndFold) {
  constexpr int kDocuments = 300;
  std::vector<RecordId> ids = Fill(kDocuments, true);
  std::atomic<bool> stop{false};
  std::atomic<int> transfers{0};
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 2; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      while (!stop) {
        auto txn = *Transaction::Begin(*store_, false, info_->state);
        const RecordId from = ids[random() % ids.size()];
        const RecordId to = ids[random() % ids.size()];
        Status moved = Change(*txn, from, -1);
        if (moved.ok()) {
          moved = Change(*txn, to, 1);
        }
        if (moved.ok()) {
          moved = txn->Commit(kv::Durability::kProcess);
        }
        ASSERT_TRUE(moved.ok() || moved.code() == kWriteConflict) << moved.ToString();
        transfers += moved.ok() ? 1 : 0;
      }
    });
  }
  threads.emplace_back([&] {
    std::mt19937 random(3);
    while (!stop) {
      const RecordId id = ids[random() % ids.size()];
      ASSERT_TRUE(FoldGroup(*store_, catalog_->log(), *info_, GroupOf(id)).ok());
    }
  });
  for (int i = 0; i < 300 || transfers < 300; ++i) {
    const Sum sum = Add();
    ASSERT_EQ(sum.documents, kDocuments);
    ASSERT_EQ(sum.value, 0);
  }
  stop = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace quire::store
