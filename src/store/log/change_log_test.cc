// SPDX-License-Identifier: Apache-2.0
#include "store/log/change_log.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "bson/testing/json.h"
#include "kv/testing/test_store.h"
#include "store/catalog.h"
#include "store/collection.h"
#include "store/layout.h"
#include "store/log/change_reader.h"
#include "store/log/document_key.h"

namespace quire::store {
namespace {

class ChangeLogTest : public testing::Test {
 protected:
  void SetUp() override {
    store_ = kv::TestStore(KeySections());
    Reopen();
    bson::Document id_index = bson::TestDocument("{v: 2, key: {_id: 1}, name: '_id_'}");
    info_ = *catalog_->Create("db", "c", bson::View(), id_index, kv::Durability::kProcess);
  }

  void Reopen() { catalog_ = *Catalog::Open(store_.get()); }

  Status InsertDocuments(int first, int count, bool roll_back_last = false) {
    auto txn = *Transaction::Begin(*store_, false, info_->state);
    for (int i = first; i < first + count; ++i) {
      txn->SetSavepoint();
      bson::Document document = bson::TestDocument("{_id: " + std::to_string(i) + "}");
      Status inserted = Insert(*txn, *info_, document).status();
      if (!inserted.ok()) {
        return inserted;
      }
      if (roll_back_last && i == first + count - 1) {
        EXPECT_TRUE(txn->RollbackToSavepoint().ok());
      } else {
        txn->ReleaseSavepoint();
      }
    }
    return txn->Commit(kv::Durability::kProcess);
  }

  // Kinds and ids of all changes from `from` on.
  std::string Read(bson::Timestamp from = {}) {
    auto reader = *ChangeReader::Open(*store_, catalog_->log(), from);
    std::string out;
    Change change;
    bson::Timestamp last;
    while (true) {
      auto more = reader->Next(&change);
      EXPECT_TRUE(more.ok()) << more.status().ToString();
      if (!more.ok() || !*more) {
        return out;
      }
      EXPECT_TRUE(last < change.time || (last == change.time && change.in_transaction));
      last = change.time;
      out += change.kind;
      if (change.kind == 'i') {
        out += std::to_string(change.document["_id"].AsInt32());
      }
    }
  }

  std::unique_ptr<kv::Store> store_;
  std::unique_ptr<Catalog> catalog_;
  CollectionPtr info_;
};

TEST_F(ChangeLogTest, KeepsChangesInOrder) {
  EXPECT_EQ(Read(), "nc");
  ASSERT_TRUE(InsertDocuments(1, 3).ok());
  EXPECT_EQ(Read(), "nci1i2i3");
  bson::Timestamp last = catalog_->log().Visible();
  EXPECT_EQ(Read(last), "i3");  // from within a group
  EXPECT_EQ(Read(UnpackTime(PackTime(last) + 1)), "");
}

TEST_F(ChangeLogTest, DocumentsOfAShardedCollectionAreNamedByItsKey) {
  const bson::Document key = bson::TestDocument("{b: 1, 'a.c': 'hashed'}");
  info_->state->SetDocumentKey(std::make_shared<const DocumentKey>(key));
  auto txn = *Transaction::Begin(*store_, false, info_->state);
  ChangeBuffer& changes = txn->changes(catalog_->log());
  const bson::Document before = bson::TestDocument("{_id: 1, a: {c: 5}, b: 2, x: 1}");
  const bson::Document after = bson::TestDocument("{_id: 1, a: {c: 5}, b: 2, x: 2}");
  const bson::Document partly = bson::TestDocument("{_id: 2, a: 7}");
  changes.Insert(*info_, before);
  changes.Update(*info_, before, after, {.all = true});
  changes.Delete(*info_, after);
  changes.Insert(*info_, partly);
  ASSERT_TRUE(txn->Commit(kv::Durability::kProcess).ok());
  auto reader = *ChangeReader::Open(*store_, catalog_->log(), {});
  Change change;
  std::string keys;
  while (*reader->Next(&change)) {
    if (change.kind != 'n' && change.kind != 'c') {
      keys += change.kind + bson::ToJson(KeyOf(change)) + " ";
    }
  }
  EXPECT_EQ(keys,
            "i{\"b\":2,\"a.c\":5,\"_id\":1} u{\"b\":2,\"a.c\":5,\"_id\":1} "
            "d{\"b\":2,\"a.c\":5,\"_id\":1} i{\"_id\":2} ");
}

TEST_F(ChangeLogTest, CommandsMayBeToldElsewhere) {
  {
    const NoEventScope silent;
    ASSERT_TRUE(
        catalog_->Create("db", "d", bson::View(), bson::View(), kv::Durability::kProcess).ok());
  }
  ASSERT_TRUE(
      catalog_->Create("db", "e", bson::View(), bson::View(), kv::Durability::kProcess).ok());
  auto reader = *ChangeReader::Open(*store_, catalog_->log(), {});
  Change change;
  std::string seen;
  while (*reader->Next(&change)) {
    if (change.kind == 'c') {
      seen += std::string(change.ns) + (change.no_event ? " silent " : " ");
    }
  }
  EXPECT_EQ(seen, "db.c db.d silent db.e ");
}

TEST_F(ChangeLogTest, RolledBackChangesAreNotThere) {
  ASSERT_TRUE(InsertDocuments(1, 3, true).ok());
  ASSERT_TRUE(InsertDocuments(7, 1).ok());
  EXPECT_EQ(Read(), "nci1i2i7");
}

TEST_F(ChangeLogTest, TimeGoesOnAfterARestart) {
  ASSERT_TRUE(InsertDocuments(1, 5).ok());
  bson::Timestamp before = catalog_->log().Visible();
  info_.reset();
  catalog_.reset();
  Reopen();
  EXPECT_EQ(catalog_->log().Visible(), before);
  EXPECT_LT(before, catalog_->log().clock().Tick());
  EXPECT_EQ(catalog_->log().Oldest(), bson::Timestamp());
  EXPECT_EQ(Read(), "nci1i2i3i4i5");
}

TEST_F(ChangeLogTest, ALargeTransactionIsSeveralGroupsOfOneTime) {
  auto txn = *Transaction::Begin(*store_, false, info_->state);
  std::string text(100'000, 'x');
  for (int i = 0; i < 50; ++i) {
    bson::Builder document;
    document.Append("_id", i).Append("text", text);
    bson::Document made = document.Finish();
    ASSERT_TRUE(Insert(*txn, *info_, made).ok());
  }
  txn->SetTransaction(std::string(16, 's'), 7);
  ASSERT_TRUE(txn->Commit(kv::Durability::kProcess).ok());
  auto reader = *ChangeReader::Open(*store_, catalog_->log(), catalog_->log().Visible());
  Change change;
  for (uint32_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(*reader->Next(&change));
    EXPECT_EQ(change.index, i);
    EXPECT_EQ(change.time, catalog_->log().Visible());
    EXPECT_EQ(change.txn_number, 7);
    EXPECT_EQ(change.ns, "db.c");
  }
  EXPECT_FALSE(*reader->Next(&change));
}

// Many writers; a reader that always goes on where it stopped misses nothing.
TEST_F(ChangeLogTest, NothingAppearsBehindAReader) {
  constexpr int kWriters = 4;
  constexpr int kWrites = 300;
  std::vector<std::thread> writers;
  std::atomic<int> running{kWriters};
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < kWrites; ++i) {
        EXPECT_TRUE(InsertDocuments((w * kWrites + i) * 2, 2).ok());
      }
      --running;
    });
  }
  uint64_t from = 0;
  int seen = 0;
  bool last_look = false;
  while (!last_look) {
    last_look = running == 0;
    auto reader = *ChangeReader::Open(*store_, catalog_->log(), UnpackTime(from));
    Change change;
    while (*reader->Next(&change)) {
      EXPECT_GE(PackTime(change.time), from);
      from = PackTime(change.time) + 1;
      seen += change.kind == 'i' ? 1 : 0;
    }
    from = std::max(from, PackTime(reader->upto()) + 1);
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  EXPECT_EQ(seen, kWriters * kWrites * 2);
}

TEST_F(ChangeLogTest, TellsOfTheNextCommit) {
  const bson::Timestamp seen = catalog_->log().Visible();
  bson::Timestamp told;
  const auto listener = catalog_->log().grown.Listen([&] { told = catalog_->log().Visible(); });
  EXPECT_TRUE(InsertDocuments(1, 1).ok());
  EXPECT_LT(seen, told);
}

TEST_F(ChangeLogTest, TrimsByAgeAndKeepsTheNewest) {
  ASSERT_TRUE(InsertDocuments(1, 2).ok());
  ASSERT_TRUE(InsertDocuments(3, 2).ok());
  bson::Timestamp newest = catalog_->log().Visible();
  ASSERT_TRUE(catalog_->log().Trim(0, {newest.seconds + 1000, 0}).ok());
  EXPECT_EQ(Read(), "i3i4");
  EXPECT_LT(bson::Timestamp(), catalog_->log().Oldest());
  info_.reset();
  catalog_.reset();
  Reopen();
  EXPECT_EQ(catalog_->log().Visible(), newest);
  EXPECT_LT(bson::Timestamp(), catalog_->log().Oldest());  // still known to be cut
}

TEST_F(ChangeLogTest, TrimsBySize) {
  std::string text(10'000, 'x');
  for (int i = 0; i < 400; ++i) {
    auto txn = *Transaction::Begin(*store_, false, info_->state);
    bson::Builder document;
    document.Append("_id", i).Append("text", text);
    bson::Document made = document.Finish();
    ASSERT_TRUE(Insert(*txn, *info_, made).ok());
    ASSERT_TRUE(txn->Commit(kv::Durability::kProcess).ok());
  }
  ASSERT_TRUE(catalog_->log().Trim(500'000, {}).ok());
  std::string rest = Read();
  EXPECT_LT(rest.size(), std::string("i399").size() * 300);
  EXPECT_TRUE(rest.ends_with("i398i399")) << rest;
}

TEST_F(ChangeLogTest, RingsWhenItHasGrownByMuch) {
  ChangeLog& log = catalog_->log();
  log.SetTrimStep(1000);
  int rings = 0;
  auto listener = log.swollen.Listen([&] { ++rings; });
  ASSERT_TRUE(InsertDocuments(1, 1).ok());
  EXPECT_EQ(rings, 0);
  ASSERT_TRUE(InsertDocuments(2, 100).ok());
  EXPECT_EQ(rings, 1);
  ASSERT_TRUE(log.Trim(0, {}).ok());
  listener = log.swollen.Listen([&] { ++rings; });
  ASSERT_TRUE(InsertDocuments(102, 1).ok());
  EXPECT_EQ(rings, 1);
}

TEST_F(ChangeLogTest, ImagesAreKeptOnRequest) {
  bson::Document options = bson::TestDocument("{changeStreamPreAndPostImages: {enabled: true}}");
  ASSERT_TRUE(catalog_->SetOptions("db.c", options, options, kv::Durability::kProcess).ok());
  info_ = catalog_->Find("db.c");
  ASSERT_TRUE(InsertDocuments(1, 1).ok());
  auto txn = *Transaction::Begin(*store_, false, info_->state);
  bson::Document before = bson::TestDocument("{_id: 1}");
  bson::Document after = bson::TestDocument("{_id: 1, a: 2}");
  std::set<std::string> paths = {"a"};
  ASSERT_TRUE(Replace(*txn, *info_, 1, before, after, {.all = false, .paths = &paths}).ok());
  ASSERT_TRUE(Remove(*txn, *info_, 1, after).ok());
  ASSERT_TRUE(txn->Commit(kv::Durability::kProcess).ok());
  auto reader = *ChangeReader::Open(*store_, catalog_->log(),
                                    UnpackTime(PackTime(catalog_->log().Visible()) - 1));
  Change change;
  ASSERT_TRUE(*reader->Next(&change));
  EXPECT_EQ(change.kind, 'u');
  EXPECT_EQ(bson::ToJson(change.document), R"({"i":{"a":2}})");
  EXPECT_EQ(bson::ToJson(*change.before), R"({"_id":1})");
  EXPECT_EQ(bson::ToJson(*change.after), R"({"_id":1,"a":2})");
  ASSERT_TRUE(*reader->Next(&change));
  EXPECT_EQ(change.kind, 'd');
  EXPECT_EQ(bson::ToJson(*change.before), R"({"_id":1,"a":2})");
}

}  // namespace
}  // namespace quire::store
