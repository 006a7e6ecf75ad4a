// SPDX-License-Identifier: Apache-2.0
#include "store/build/index_build.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "bson/testing/json.h"
#include "kv/testing/fault_store.h"
#include "kv/testing/test_store.h"
#include "store/collection.h"
#include "store/keys/index_keys.h"
#include "store/layout.h"
#include "store/records/record_cursor.h"

namespace quire::store {
namespace {

class IndexBuildTest : public testing::Test {
 protected:
  IndexBuildTest() {
    store_ = kv::NewFaultStore(kv::TestStore(KeySections()), plan_);
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

  // A transaction that has written a document and stays open.
  std::unique_ptr<Transaction> OpenWriter(int id) {
    CollectionPtr found = catalog_->Find("db.c");
    auto txn = *Transaction::Begin(*store_, false, found->state);
    CollectionPtr info = catalog_->Find("db.c");
    bson::Document document = Document(id, id);
    EXPECT_TRUE(Insert(*txn, *info, document).ok());
    return txn;
  }

  Status Build(OpContext& op, const char* spec) {
    CurrentOpScope scope(&op);
    return catalog_->CreateIndexes(op, "db.c", {NewIndex{bson::TestDocument(spec)}},
                                   kv::Durability::kProcess);
  }

  // Every document has its entries in the index, and there are no others.
  void CheckEntries(const IndexInfo& index) {
    CollectionPtr info = catalog_->Find("db.c");
    auto txn = *store_->Begin({.read_only = true});
    std::map<std::string, std::string> wanted;
    auto records = *RecordCursor::Open(*txn, *info->state, kv::Direction::kForward);
    IndexKeySet keys;
    while (*records->Next()) {
      ASSERT_TRUE(IndexKeys(index.keys, bson::View(records->document().data()), &keys).ok());
      for (const IndexKey& key : keys.keys) {
        std::string entry;
        std::string value;
        IndexEntry(index, key, records->id(), &entry, &value);
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

  // No index, no build, no garbage; an index can be built.
  void CheckNothingIsLeft() {
    CollectionPtr info = catalog_->Find("db.c");
    EXPECT_EQ(info->indexes.size(), 1U);
    EXPECT_TRUE(info->building.empty());
    info.reset();
    EXPECT_EQ(GarbageMarks(), 0);
    OpContext op;
    EXPECT_TRUE(Build(op, "{v: 2, key: {a: 1}, name: 'x'}").ok());
    info = catalog_->Find("db.c");
    ASSERT_EQ(info->indexes.size(), 2U);
    CheckEntries(*info->indexes[1]);
  }

  int GarbageMarks() {
    auto txn = *store_->Begin({.read_only = true});
    std::string garbage = MetaKey('D', "");
    auto marks = *txn->Scan({garbage, kv::PrefixEnd(garbage)}, kv::Direction::kForward);
    int count = 0;
    while (*marks->Next()) {
      ++count;
    }
    return count;
  }

  kv::FaultPlan plan_;
  std::unique_ptr<kv::Store> store_;
  std::unique_ptr<Catalog> catalog_;
};

// The ways to end a build by its operation, with the error it must answer.
struct Ending {
  const char* name;
  std::function<void(OpContext&)> end;
  int code;
};

const Ending kEndings[] = {
    {"killOp", [](OpContext& op) { op.Kill(); }, kInterrupted},
    {"maxTimeMS", [](OpContext& op) { op.SetDeadline(OpContext::Clock::now()); },
     kMaxTimeMSExpired},
    {"shutdown", [](OpContext& op) { op.Kill(kInterruptedAtShutdown); }, kInterruptedAtShutdown},
};

constexpr char kSpec[] = "{v: 2, key: {a: 1}, name: 'x'}";

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

class EndedBuild : public IndexBuildTest, public testing::WithParamInterface<Ending> {
 protected:
  void EndAtNth(kv::FaultPoint point, uint64_t nth) {
    plan_.RunAtNth(point, nth, [this] { GetParam().end(op_); });
  }
  void CheckEnded() {
    EXPECT_EQ(Build(op_, kSpec).code(), GetParam().code);
    CheckNothingIsLeft();
  }

  OpContext op_;
};

TEST_P(EndedBuild, BeforeItBegins) {
  GetParam().end(op_);
  CheckEnded();
}

TEST_P(EndedBuild, WhileItReadsTheCollection) {
  EndAtNth(kv::FaultPoint::kRead, 1500);
  CheckEnded();
}

TEST_P(EndedBuild, WhileItReadsACollectionClosedToWriters) {
  catalog_->set_online_build_documents(10'000);
  EndAtNth(kv::FaultPoint::kRead, 1500);
  CheckEnded();
}

TEST_P(EndedBuild, WhenAllIsRead) {
  EndAtNth(kv::FaultPoint::kRead, 3001);  // opening the scan counts
  CheckEnded();
}

TEST_P(EndedBuild, WhileItLoadsTheKeys) {
  EndAtNth(kv::FaultPoint::kLoad, 1000);
  CheckEnded();
}

TEST_P(EndedBuild, WhileItTakesInWhatWasWritten) {
  plan_.RunAtNth(kv::FaultPoint::kLoad, 1, [this] {
    for (int i = 0; i < 1500; ++i) {
      Write([&](Transaction& txn, const CollectionInfo& info) {
        bson::Document document = Document(5000 + i, i);
        return Insert(txn, info, document).status();
      });
    }
    EndAtNth(kv::FaultPoint::kCommit, 1);  // of the first thousand notes
  });
  CheckEnded();
}

TEST_P(EndedBuild, WhileItWaitsToBegin) {
  auto writer = OpenWriter(7000);
  GetParam().end(op_);
  EXPECT_EQ(Build(op_, kSpec).code(), GetParam().code);
  EXPECT_TRUE(writer->Commit(kv::Durability::kProcess).ok());
  CheckNothingIsLeft();
}

TEST_P(EndedBuild, WhileItWaitsToFinish) {
  std::unique_ptr<Transaction> writer;
  plan_.RunAtNth(kv::FaultPoint::kLoad, 1, [&] {
    writer = OpenWriter(7000);
    EndAtNth(kv::FaultPoint::kBegin, 1);  // looking for notes, the last thing before it waits
  });
  EXPECT_EQ(Build(op_, kSpec).code(), GetParam().code);
  EXPECT_EQ(GarbageMarks(), 1);  // the writer's notes have a place until it ends
  EXPECT_TRUE(writer->Commit(kv::Durability::kProcess).ok());
  EXPECT_EQ(GarbageMarks(), 0);
  CheckNothingIsLeft();
}

INSTANTIATE_TEST_SUITE_P(By, EndedBuild, testing::ValuesIn(kEndings),
                         [](const auto& given) { return std::string(given.param.name); });

TEST_F(IndexBuildTest, AWaitingBuildIsKilledByAnotherThread) {
  std::unique_ptr<Transaction> writer;
  std::atomic<bool> writing{false};
  plan_.RunAtNth(kv::FaultPoint::kLoad, 1, [&] {
    writer = OpenWriter(7000);
    writing = true;
  });
  OpContext op;
  std::thread killer([&] {
    while (!writing) {
      std::this_thread::yield();
    }
    op.Kill();
  });
  EXPECT_EQ(Build(op, kSpec).code(), kInterrupted);
  killer.join();
  writer.reset();
  CheckNothingIsLeft();
}

TEST_F(IndexBuildTest, AWaitingBuildIsEndedByDropIndexes) {
  std::unique_ptr<Transaction> writer;
  std::atomic<bool> writing{false};
  plan_.RunAtNth(kv::FaultPoint::kLoad, 1, [&] {
    writer = OpenWriter(7000);
    writing = true;
  });
  OpContext op;
  std::thread dropper([&] {
    while (!writing) {
      std::this_thread::yield();
    }
    // Does not wait for the transaction.
    EXPECT_TRUE(catalog_->DropIndexes("db.c", {"x"}, kv::Durability::kProcess).ok());
  });
  EXPECT_EQ(Build(op, kSpec).code(), kIndexBuildAborted);
  dropper.join();
  EXPECT_TRUE(catalog_->Find("db.c")->building.empty());
  writer.reset();
  CheckNothingIsLeft();
}

TEST_F(IndexBuildTest, AWaitingBuildIsEndedByDrop) {
  std::unique_ptr<Transaction> writer;
  std::atomic<bool> writing{false};
  plan_.RunAtNth(kv::FaultPoint::kLoad, 1, [&] {
    writer = OpenWriter(7000);
    writing = true;
  });
  OpContext op;
  std::thread dropper([&] {
    while (!writing) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(catalog_->Drop("db.c", kv::Durability::kProcess).ok());
  });
  EXPECT_EQ(Build(op, kSpec).code(), kIndexBuildAborted);
  writer.reset();  // what the drop itself waits for
  dropper.join();
  EXPECT_EQ(catalog_->Find("db.c"), nullptr);
  EXPECT_EQ(GarbageMarks(), 0);
}

TEST_F(IndexBuildTest, OtherChangesGoOnWhileABuildWaits) {
  auto writer = OpenWriter(7000);
  OpContext op;
  std::thread builder([&] { EXPECT_TRUE(Build(op, kSpec).ok()); });
  bson::Document id = bson::TestDocument("{v: 2, key: {_id: 1}, name: '_id_'}");
  for (int i = 0; i < 20; ++i) {
    std::string name = "other" + std::to_string(i);
    EXPECT_TRUE(catalog_->Create("db", name, bson::View(), id, kv::Durability::kProcess).ok());
    EXPECT_TRUE(catalog_->Drop("db." + name, kv::Durability::kProcess).ok());
  }
  EXPECT_TRUE(writer->Commit(kv::Durability::kProcess).ok());
  builder.join();
  CheckEntries(*catalog_->Find("db.c")->indexes.at(1));
}

TEST_F(IndexBuildTest, ChangesOfTheSameCollectionsDoNotWaitForEachOther) {
  bson::Document id = bson::TestDocument("{v: 2, key: {_id: 1}, name: '_id_'}");
  auto change = [&] {
    for (int i = 0; i < 100; ++i) {
      auto ignored = catalog_->Create("db", "d", bson::View(), id, kv::Durability::kProcess);
      Status renamed = catalog_->Rename("db.d", "db.e", true, kv::Durability::kProcess);
      renamed = catalog_->Rename("db.e", "db.d", true, kv::Durability::kProcess);
      EXPECT_TRUE(renamed.ok() || renamed.code() == kNamespaceNotFound) << renamed.ToString();
      Status dropped = catalog_->DropDatabase("db", kv::Durability::kProcess);
      EXPECT_TRUE(dropped.ok()) << dropped.ToString();
    }
  };
  std::thread one(change);
  std::thread two(change);
  one.join();
  two.join();
  EXPECT_EQ(GarbageMarks(), 0);
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
