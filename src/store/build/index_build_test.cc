// SPDX-License-Identifier: Apache-2.0
#include "store/build/index_build.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/error_codes.h"
#include "bson/testing/json.h"
#include "kv/test_store.h"
#include "store/collection.h"
#include "store/keys/index_keys.h"
#include "store/layout.h"

namespace quire::store {
namespace {

class IndexBuildTest : public testing::Test {
 protected:
  IndexBuildTest() {
    store_ = kv::TestStore(KeySections());
    catalog_ = *Catalog::Open(store_.get());
    catalog_->set_online_build_documents(0);
    bson::Document id = bson::TestDocument("{v: 2, key: {_id: 1}, name: '_id_'}");
    EXPECT_TRUE(catalog_->Create("db", "c", bson::View(), id, kv::Durability::kProcess).ok());
    for (int i = 0; i < 3000; ++i) {
      Write([&](Transaction& txn, const CollectionInfo& info) {
        bson::Document document = Document(i, i);
        return Insert(txn, info, document).status();
      });
    }
  }

  static bson::Document Document(int id, int a) {
    return bson::Builder().Append("_id", id).Append("a", a).Finish();
  }

  // Until it meets no other writer.
  template <typename Body>
  void Write(const Body& body) {
    while (true) {
      CollectionPtr found = catalog_->Find("db.c");
      auto txn = *Transaction::Begin(*store_, false, found->state);
      CollectionPtr info = catalog_->Find("db.c");
      Status status = body(*txn, *info);
      if (status.ok()) {
        status = txn->Commit(kv::Durability::kProcess);
      }
      if (status.code() != kWriteConflict) {
        ASSERT_TRUE(status.ok()) << status.ToString();
        return;
      }
    }
  }

  Status Build(OpContext& op, const char* spec) {
    return catalog_->CreateIndexes(op, "db.c", {NewIndex{bson::TestDocument(spec)}},
                                   kv::Durability::kProcess);
  }

  // Every document has its entries in the index, and there are no others.
  void CheckEntries(const IndexInfo& index) {
    CollectionPtr info = catalog_->Find("db.c");
    auto txn = *store_->Begin({.read_only = true});
    std::map<std::string, std::string> wanted;
    auto records = *txn->Scan(TableRange(info->table->id), kv::Direction::kForward);
    IndexKeySet keys;
    while (*records->Next()) {
      RecordId id = ReadRecordId(records->key().substr(4));
      ASSERT_TRUE(IndexKeys(index.keys, bson::View(records->value().data()), &keys).ok());
      for (const IndexKey& key : keys.keys) {
        std::string entry;
        std::string value;
        IndexEntry(index, key, id, &entry, &value);
        wanted[entry] = value;
      }
    }
    std::map<std::string, std::string> found;
    auto entries = *txn->Scan(TableRange(index.table->id), kv::Direction::kForward);
    while (*entries->Next()) {
      found[std::string(entries->key())] = entries->value();
    }
    EXPECT_EQ(found, wanted);
  }

  std::unique_ptr<kv::Store> store_;
  std::unique_ptr<Catalog> catalog_;
};

TEST_F(IndexBuildTest, TakesInWhatIsWrittenMeanwhile) {
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      int id = i % 3000;
      Write([&](Transaction& txn, const CollectionInfo& info) -> Status {
        bson::Document key = bson::Builder().Append("_id", id).Finish();
        auto found = FindById(txn, info, key["_id"]);
        if (!found.ok()) {
          return found.status();
        }
        if (!found->has_value()) {
          bson::Document document = Document(id, -i);
          return Insert(txn, info, document).status();
        }
        Status claimed = ClaimRecord(txn, info, **found);
        if (!claimed.ok()) {
          return claimed;
        }
        kv::ReadValue value;
        EXPECT_TRUE(*Fetch(txn, info, **found, &value));
        bson::Document before{bson::View(value.view().data())};
        bson::Document after = Document(id, 5000 + i);
        return i % 3 == 0 ? Remove(txn, info, **found, before)
                          : Replace(txn, info, **found, before, after, {});
      });
    }
  });
  OpContext op;
  EXPECT_TRUE(Build(op, "{v: 2, key: {a: 1}, name: 'plain'}").ok());
  EXPECT_TRUE(Build(op, "{v: 2, key: {a: -1, _id: 1}, name: 'unique', unique: true}").ok());
  stop = true;
  writer.join();
  CollectionPtr info = catalog_->Find("db.c");
  ASSERT_EQ(info->indexes.size(), 3U);
  EXPECT_TRUE(info->building.empty());
  CheckEntries(*info->indexes[1]);
  CheckEntries(*info->indexes[2]);
}

TEST_F(IndexBuildTest, AnInterruptedBuildLeavesNothing) {
  OpContext op;
  op.Kill();
  EXPECT_EQ(Build(op, "{v: 2, key: {a: 1}, name: 'x'}").code(), kInterrupted);
  CollectionPtr info = catalog_->Find("db.c");
  EXPECT_EQ(info->indexes.size(), 1U);
  EXPECT_TRUE(info->building.empty());
  info.reset();
  auto txn = *store_->Begin({.read_only = true});
  std::string garbage = MetaKey('D', "");
  auto marks = *txn->Scan({garbage, kv::PrefixEnd(garbage)}, kv::Direction::kForward);
  EXPECT_FALSE(*marks->Next());
}

TEST_F(IndexBuildTest, ADuplicateIsNamed) {
  Write([&](Transaction& txn, const CollectionInfo& info) {
    bson::Document document = Document(9000, 17);
    return Insert(txn, info, document).status();
  });
  OpContext op;
  Status built = Build(op, "{v: 2, key: {a: 1}, name: 'x', unique: true}");
  EXPECT_EQ(built.code(), kDuplicateKey);
  EXPECT_NE(built.message().find("{ a: 17 }"), std::string::npos) << built.message();
  EXPECT_EQ(catalog_->Find("db.c")->indexes.size(), 1U);
}

}  // namespace
}  // namespace quire::store
