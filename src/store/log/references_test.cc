// SPDX-License-Identifier: Apache-2.0
//
// A log that refers to documents shows what one shows that holds them: random changes, folds,
// drops, cuts, restarts and readers that go on from an old snapshot, against a list of copies.
#include "store/log/references.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

#include "base/error_codes.h"
#include "bson/testing/json.h"
#include "kv/testing/test_store.h"
#include "store/catalog.h"
#include "store/collection.h"
#include "store/log/change_reader.h"
#include "store/log/testing/logged_store.h"
#include "store/records/fold.h"
#include "store/records/record_keys.h"

namespace quire::store {
namespace {

struct Event {
  uint64_t time = 0;
  uint32_t index = 0;
  std::string what;  // kind and document or key

  bool operator==(const Event&) const = default;
};

std::string Inserted(bson::View document) { return "i" + std::string(document.bytes()); }

Event EventOf(const Change& change) {
  Event event{PackTime(change.time), change.index, std::string(1, change.kind)};
  if (change.kind == 'i') {
    event.what = Inserted(change.document);
  } else if (change.kind == 'd') {
    event.what += change.key.bytes();
  } else if (change.kind == 'r' || change.kind == 'u') {
    event.what = "u" + std::string(KeyOf(change).bytes());
  }
  return event;
}

std::vector<Event> ReadAll(ChangeReader& reader, size_t most = SIZE_MAX) {
  std::vector<Event> events;
  Change change;
  while (events.size() < most) {
    auto more = reader.Next(&change);
    EXPECT_TRUE(more.ok()) << more.status().ToString();
    if (!more.ok() || !*more) {
      break;
    }
    events.push_back(EventOf(change));
  }
  return events;
}

using References = LoggedStore;

TEST_F(References, ABulkInsertIsInTheLogByReference) {
  Make();
  Fill(0, 200);
  EXPECT_LT(LogBytes(), 2000U);
  EXPECT_TRUE(IsReferred(info_->table->id));
  EXPECT_EQ(Logged(), Numbers(0, 200));
  Reopen();
  EXPECT_EQ(Logged(), Numbers(0, 200));
}

TEST_F(References, AFoldWritesTheDocumentsIntoTheLog) {
  Make();
  const std::vector<RecordId> ids = Fill(0, 200);
  auto before = *ChangeReader::Open(*store_, catalog_->log(), {});
  for (size_t i = 0; i < 64; ++i) {
    Delete(ids[i]);
  }
  for (size_t i = 100; i < 110; ++i) {
    Delete(ids[i]);
  }
  EXPECT_EQ(Logged(), Numbers(0, 200));
  ASSERT_TRUE(*FoldGroup(*store_, catalog_->log(), *info_, GroupOf(ids[0])));
  EXPECT_GT(LogBytes(), 200U * 300);
  EXPECT_FALSE(IsReferred(info_->table->id));
  EXPECT_EQ(Logged(), Numbers(0, 200));
  ASSERT_TRUE(*FoldGroup(*store_, catalog_->log(), *info_, GroupOf(ids[100])));
  EXPECT_EQ(Logged(), Numbers(0, 200));
  // One that reads an older snapshot finds the groups as they were.
  size_t inserted = 0;
  for (const Event& event : ReadAll(*before)) {
    inserted += event.what[0] == 'i' ? 1 : 0;
  }
  EXPECT_EQ(inserted, 200U);
}

TEST_F(References, ADroppedTableGoesWhenTheLogHasItsDocuments) {
  Make();
  Fill(0, 500);
  const TableId table = info_->table->id;
  info_.reset();
  ASSERT_TRUE(catalog_->Drop("db.c", kv::Durability::kProcess).ok());
  EXPECT_TRUE(HasKeys(table));
  EXPECT_EQ(Logged(), Numbers(0, 500));
  Reopen();
  EXPECT_EQ(Logged(), Numbers(0, 500));
  ASSERT_TRUE(catalog_->ReclaimReferred(0, kNever).ok());
  EXPECT_FALSE(HasKeys(table));
  EXPECT_EQ(Logged(), Numbers(0, 500));
}

TEST_F(References, OfADroppedTableTheLogGetsNoMoreThanItMayHold) {
  Make();
  for (int i = 0; i < 20; ++i) {
    Fill(100 * i, 100);
  }
  const TableId table = info_->table->id;
  info_.reset();
  ASSERT_TRUE(catalog_->Drop("db.c", kv::Durability::kProcess).ok());
  ASSERT_TRUE(catalog_->ReclaimReferred(150'000, kNever).ok());
  EXPECT_FALSE(HasKeys(table));
  const auto left = static_cast<int>(Logged().size());
  EXPECT_LE(100, left);
  EXPECT_GT(2000, left);
  EXPECT_EQ(Logged(), Numbers(2000 - left, left));
  EXPECT_LT(bson::Timestamp(), catalog_->log().Oldest());
}

TEST_F(References, WhatIsCutOffTheLogIsNotWrittenOut) {
  Make();
  const std::vector<RecordId> ids = Fill(0, 100);
  Fill(100, 100);
  const bson::Timestamp newest = catalog_->log().Visible();
  ASSERT_TRUE(catalog_->log().Trim(0, newest).ok());
  EXPECT_EQ(Logged(), Numbers(100, 100));
  for (size_t i = 0; i < 64; ++i) {
    Delete(ids[i]);
  }
  const size_t bytes = LogBytes();
  ASSERT_TRUE(*FoldGroup(*store_, catalog_->log(), *info_, GroupOf(ids[0])));
  EXPECT_EQ(LogBytes(), bytes);
  EXPECT_EQ(Logged(), Numbers(100, 100));
}

TEST_F(References, WithoutRoomTheLogOfADroppedTableIsCut) {
  Make();
  Fill(0, 300);
  Fill(300, 100);
  const TableId table = info_->table->id;
  info_.reset();
  ASSERT_TRUE(catalog_->Drop("db.c", kv::Durability::kProcess).ok());
  plan_.FailNth(kv::FaultPoint::kAdmin, 1, Status(kOutOfDiskSpace, "full"));
  plan_.FailNth(kv::FaultPoint::kCommit, 1, Status(kOutOfDiskSpace, "full"));
  EXPECT_FALSE(catalog_->ReclaimReferred(0, kNever).ok());  // the log could not be cut either
  EXPECT_TRUE(HasKeys(table));
  EXPECT_EQ(Logged(), Numbers(0, 400));
  plan_.FailNth(kv::FaultPoint::kCommit, 2, Status(kOutOfDiskSpace, "full"));
  EXPECT_TRUE(catalog_->ReclaimReferred(0, kNever).ok());
  EXPECT_FALSE(HasKeys(table));
  EXPECT_EQ(Logged(), Numbers(300, 100));
  Reopen();
  EXPECT_EQ(Logged(), Numbers(300, 100));
}

TEST_F(References, WithoutRoomTheLogOfADeletedGroupIsCut) {
  Make();
  const std::vector<RecordId> ids = Fill(0, 100);
  Fill(100, 100);
  for (RecordId id : ids) {
    Delete(id);
  }
  plan_.FailNth(kv::FaultPoint::kCommit, 1, Status(kOutOfDiskSpace, "full"));
  ASSERT_TRUE(FoldNoted(*store_, catalog_->log(), *info_, kNever).ok());
  EXPECT_EQ(Logged(), Numbers(100, 100));
  auto txn = *store_->Begin({.read_only = true});
  kv::ReadValue value;
  EXPECT_FALSE(*txn->Get(GroupKey(info_->table->id, GroupOf(ids[0])), &value));
}

TEST_F(References, BeforeTheLogIsSentToOthersAllIsInIt) {
  Make();
  Fill(0, 300);
  Make("d");
  Fill(300, 100);
  ASSERT_TRUE(catalog_->log().WriteOutAll(0).ok());
  EXPECT_GT(LogBytes(), 400U * 300);
  EXPECT_FALSE(IsReferred(info_->table->id));
  EXPECT_EQ(Logged(), Numbers(0, 400));
  Reopen();
  info_ = catalog_->Find("db.d");
  Fill(400, 50);
  EXPECT_TRUE(IsReferred(info_->table->id));
  ASSERT_TRUE(catalog_->log().WriteOutAll(0).ok());
  EXPECT_FALSE(IsReferred(info_->table->id));
  // Without a look at the store.
  auto txn = *store_->Begin({.read_only = true});
  auto cursor = *txn->Scan(ChangeLog::RangeFrom(0), kv::Direction::kForward);
  int changes = 0;
  while (*cursor->Next()) {
    GroupReader group;
    ASSERT_TRUE(group.Open(cursor->key(), cursor->value()).ok());
    Change change;
    for (; !group.done(); ++changes) {
      ASSERT_TRUE(group.Next(&change).ok());
    }
  }
  EXPECT_GE(changes, 450);
}

TEST_F(References, AMembersLogHoldsItsDocuments) {
  Make();
  Fill(0, 10);
  ASSERT_TRUE(catalog_->log().WriteOutAll(0).ok());
  const uint64_t end = PackTime(catalog_->log().Visible());
  catalog_->log().JoinSet({0, end}, end, end);
  catalog_->log().SetWatch({});
  catalog_->log().OpenFor(1);
  Fill(10, 100);
  EXPECT_FALSE(IsReferred(info_->table->id));
}

class LogModel {
 public:
  explicit LogModel(uint64_t seed) : random_(seed), store_(kv::TestStore(KeySections())) {
    Open();
    for (const char* name : {"a", "b", "c"}) {
      Create(name);
    }
  }

  void Step() {
    switch (Below(24)) {
      case 0:
        return Restart();
      case 1:
        return DropOne();
      case 2:
        return Rename();
      case 3:
        return Cut();
      case 4:
        return Reclaim();
      case 5:
        return Hold();
      case 6:
      case 7:
        return GoOn();
      case 8:
      case 9:
      case 10:
        return Fold();
      case 11:
        ASSERT_TRUE(catalog_->log().WriteOutAll(Below(3) != 0 ? 0 : 200'000).ok());
        return;
      default:
        return Write();
    }
  }

  void Check() {
    CheckFrom(0);
    if (!model_.empty()) {
      CheckFrom(model_[Below(model_.size())].time);
    }
    CheckBackwards();
  }
  void CheckHeld() {
    while (!held_.empty()) {
      GoOn();
    }
  }

 private:
  struct Held {
    std::unique_ptr<ChangeReader> reader;
    std::deque<Event> expected;
  };

  size_t Below(size_t n) { return random_() % n; }

  void Open() { catalog_ = *Catalog::Open(store_.get()); }

  void Create(const std::string& name) {
    const bson::Document id = bson::TestDocument("{v: 2, key: {_id: 1}, name: '_id_'}");
    ASSERT_TRUE(catalog_->Create("db", name, bson::View(), id, kv::Durability::kProcess).ok());
    documents_[name].clear();
    Learn();
  }

  // Commands are taken as the log tells them.
  void Learn() {
    const uint64_t known = model_.empty() ? 0 : model_.back().time;
    auto reader = *ChangeReader::Open(*store_, catalog_->log(), UnpackTime(known + 1));
    for (Event& event : ReadAll(*reader)) {
      ASSERT_TRUE(event.what == "c" || event.what == "n") << event.what;
      model_.push_back(std::move(event));
    }
  }

  std::string AnyName() { return std::next(documents_.begin(), Below(documents_.size()))->first; }

  bson::Document NewDocument() {
    static constexpr size_t kSizes[] = {0, 10, 300, 3000, 8100, 20000};
    bson::Builder builder;
    builder.Append("_id", next_id_++);
    builder.Append("text", std::string(Below(8) != 0 ? 100 : kSizes[Below(6)] + Below(100), 'x'));
    return builder.Finish();
  }

  using Documents = std::map<RecordId, std::string>;

  void InsertSome(Transaction& txn, const CollectionInfo& info, size_t count, Documents* documents,
                  std::vector<std::string>* told) {
    for (size_t i = 0; i < count; ++i) {
      const bson::Document document = NewDocument();
      txn.SetSavepoint();
      auto id = Insert(txn, info, document, {.one_of_many = count >= 8});
      ASSERT_TRUE(id.ok());
      if (Below(10) == 0) {
        ASSERT_TRUE(txn.RollbackToSavepoint().ok());
        continue;
      }
      txn.ReleaseSavepoint();
      (*documents)[*id] = document.bytes();
      told->push_back(Inserted(document));
    }
  }

  void ChangeSome(Transaction& txn, const CollectionInfo& info, Documents* documents,
                  std::vector<std::string>* told) {
    if (documents->empty()) {
      return;
    }
    auto at = documents->lower_bound(
        static_cast<RecordId>(Below(static_cast<size_t>(documents->rbegin()->first) + 1)));
    const bool all = Below(2) == 0;
    for (size_t count = 1 + Below(70); count > 0 && at != documents->end(); --count) {
      const RecordId id = at->first;
      const bson::Document before{bson::View(at->second.data())};
      const bson::Document key = bson::Builder().Append("_id", before["_id"]).Finish();
      ASSERT_TRUE(ClaimRecord(txn, info, id).ok());
      if (all || Below(2) == 0) {
        ASSERT_TRUE(Remove(txn, info, id, before).ok());
        told->push_back("d" + std::string(key.bytes()));
        at = documents->erase(at);
        continue;
      }
      const bson::Document text = NewDocument();
      const bson::Document after = bson::Builder()
                                       .Append("_id", before["_id"])
                                       .Append("text", text["text"])
                                       .Append("n", next_id_)
                                       .Finish();
      ASSERT_TRUE(Replace(txn, info, id, before, after, {}).ok());
      told->push_back("u" + std::string(key.bytes()));
      at->second = after.bytes();
      ++at;
    }
  }

  void Write() {
    const std::string name = AnyName();
    const std::string other = Below(4) == 0 ? AnyName() : name;
    CollectionPtr infos[] = {catalog_->Find("db." + name), catalog_->Find("db." + other)};
    auto txn = *Transaction::Begin(*store_, false, infos[0]->state);
    auto changed = documents_;
    std::vector<std::string> told;
    for (size_t parts = 1 + Below(4); parts > 0; --parts) {
      const bool second = Below(2) == 0;
      const CollectionInfo& info = *infos[second ? 1 : 0];
      Documents* documents = &changed[second ? other : name];
      const auto kept = changed;
      const auto kept_told = told;
      txn->SetSavepoint();
      static constexpr size_t kCounts[] = {1, 5, 8, 30, 64, 100, 300};
      Below(3) != 0 ? InsertSome(*txn, info, kCounts[Below(7)], documents, &told)
                    : ChangeSome(*txn, info, documents, &told);
      if (Below(6) == 0) {
        ASSERT_TRUE(txn->RollbackToSavepoint().ok());
        changed = kept;
        told = kept_told;
      } else {
        txn->ReleaseSavepoint();
      }
    }
    if (Below(8) == 0) {
      return;  // it is rolled back
    }
    const bool together = Below(5) == 0;
    if (together) {
      txn->SetTransaction(std::string(16, 's'), 7);
    }
    ASSERT_TRUE(txn->Commit(kv::Durability::kProcess).ok());
    documents_ = std::move(changed);
    const uint64_t last = PackTime(catalog_->log().Visible());
    for (size_t i = 0; i < told.size(); ++i) {
      model_.push_back({together ? last : last - (told.size() - 1 - i),
                        together ? static_cast<uint32_t>(i) : 0, std::move(told[i])});
    }
  }

  void Fold() {
    const CollectionPtr info = catalog_->Find("db." + AnyName());
    const auto numbers = static_cast<size_t>(GroupOf(info->state->next_record_id) + 1);
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(
          FoldGroup(*store_, catalog_->log(), *info, static_cast<int64_t>(Below(numbers))).ok());
    }
    ASSERT_TRUE(FoldNoted(*store_, catalog_->log(), *info, kNever).ok());
  }

  void DropOne() {
    const std::string name = AnyName();
    ASSERT_TRUE(catalog_->Drop("db." + name, kv::Durability::kProcess).ok());
    Learn();
    Create(name);
  }

  void Rename() {
    const std::string from = AnyName();
    const std::string to = AnyName();
    if (from == to) {
      return;
    }
    ASSERT_TRUE(catalog_->Rename("db." + from, "db." + to, true, kv::Durability::kProcess).ok());
    Learn();
    documents_[to] = std::move(documents_[from]);
    Create(from);
  }

  void Cut() {
    if (Below(3) != 0 && !model_.empty()) {
      const uint64_t time = model_[model_.size() - 1 - Below(model_.size() / 2 + 1)].time;
      ASSERT_TRUE(catalog_->log().Trim(0, UnpackTime(time)).ok());
    }
  }

  void Reclaim() {
    size_t calls = Below(20);
    auto stop = [&] { return calls-- == 0; };
    ASSERT_TRUE(catalog_->ReclaimReferred(Below(3) != 0 ? 0 : 300'000, stop).ok());
  }

  void Restart() {
    CheckHeld();
    catalog_.reset();
    Open();
  }

  // From `time` on, what was not cut.
  std::deque<Event> ModelFrom(uint64_t time) {
    const uint64_t from = std::max(time, PackTime(catalog_->log().First()));
    std::deque<Event> events;
    for (const Event& event : model_) {
      if (event.time >= from) {
        events.push_back(event);
      }
    }
    return events;
  }

  void CheckFrom(uint64_t time) {
    auto reader = *ChangeReader::Open(*store_, catalog_->log(), UnpackTime(time));
    const std::vector<Event> read = ReadAll(*reader);
    const std::deque<Event> expected = ModelFrom(time);
    ASSERT_TRUE(read == std::vector<Event>(expected.begin(), expected.end()));
  }

  void CheckBackwards() {
    std::string end = ChangeLog::RangeFrom(0).end;
    std::vector<Event> read;
    while (true) {
      auto reader = *ChangeReader::OpenGroupBefore(*store_, end);
      std::vector<Event> group;
      Change change;
      do {
        auto more = reader->Next(&change);
        ASSERT_TRUE(more.ok()) << more.status().ToString();
        if (!*more) {
          break;
        }
        group.push_back(EventOf(change));
      } while (change.later > 0);
      if (group.empty()) {
        break;
      }
      end = reader->group_key();
      read.insert(read.begin(), group.begin(), group.end());
    }
    const std::deque<Event> expected = ModelFrom(0);
    ASSERT_TRUE(read == std::vector<Event>(expected.begin(), expected.end()));
  }

  void Hold() {
    const uint64_t from = model_.empty() ? 0 : model_[Below(model_.size())].time;
    held_.push_back(
        {*ChangeReader::Open(*store_, catalog_->log(), UnpackTime(from)), ModelFrom(from)});
  }

  // A reader takes the next changes of its snapshot.
  void GoOn() {
    if (held_.empty()) {
      return;
    }
    Held& one = held_[Below(held_.size())];
    const std::vector<Event> read = ReadAll(*one.reader, 1 + Below(500));
    ASSERT_LE(read.size(), one.expected.size());
    for (const Event& event : read) {
      ASSERT_TRUE(event == one.expected.front());
      one.expected.pop_front();
    }
    if (one.expected.empty()) {
      EXPECT_TRUE(ReadAll(*one.reader).empty());
      std::swap(one, held_.back());
      held_.pop_back();
    }
  }

  std::mt19937_64 random_;
  std::unique_ptr<kv::Store> store_;
  std::unique_ptr<Catalog> catalog_;
  std::map<std::string, Documents> documents_;
  std::vector<Event> model_;
  std::vector<Held> held_;
  int next_id_ = 0;
};

TEST(LogModel, ShowsWhatALogOfCopiesShows) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    LogModel model(seed);
    for (int step = 0; step < 120; ++step) {
      model.Step();
      if (step % 5 == 0 && !testing::Test::HasFailure()) {
        model.Check();
      }
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << " step " << step;
    }
    model.Check();
    model.CheckHeld();
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace quire::store
