// SPDX-License-Identifier: Apache-2.0
//
// Writers, changes of the catalog and the work of the background at once, while the log is read: it
// has each commit whole or not at all, and of each writer all from some commit on.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/error_codes.h"
#include "base/try.h"
#include "store/log/testing/logged_store.h"
#include "store/records/fold.h"

namespace quire::store {
namespace {

constexpr int kWriters = 2;
constexpr int kCommits = 600;
constexpr int kIds = 1'000'000;  // of a writer
constexpr const char* kNames[] = {"a", "b", "c"};

class ConcurrentLog : public LoggedStore {
 protected:
  static std::string TextOf(int id) {
    return std::string(static_cast<size_t>(100 + id % 400), static_cast<char>('a' + id % 26));
  }

  // Errors that come of others' work.
  static bool MayHappen(const Status& status) {
    return status.ok() || status.code() == kWriteConflict || status.code() == kNamespaceNotFound ||
           status.code() == kLockTimeout;
  }

  // Begins a change of the collection as it is now; null when there is none.
  std::unique_ptr<Transaction> Begin(const CollectionPtr& info) {
    auto txn = Transaction::Begin(*store_, false, info->state);
    EXPECT_TRUE(MayHappen(txn.status())) << txn.status().ToString();
    return txn.ok() && info->state->published_version == info->version ? std::move(*txn) : nullptr;
  }

  void InsertAndChange(int writer) {
    std::mt19937_64 random(static_cast<uint64_t>(writer));
    int next = writer * kIds;
    while (std::ssize(commits_[writer]) < kCommits) {
      const CollectionPtr info = catalog_->Find(std::string("db.") + kNames[random() % 3]);
      if (info == nullptr) {
        std::this_thread::yield();
        continue;
      }
      const int count = 10 + static_cast<int>(random() % 200);
      const std::vector<RecordId> ids = InsertMany(info, next, count);
      if (!ids.empty()) {
        commits_[writer].push_back({next, count});
        ChangeOne(info, ids[random() % ids.size()], random() % 2 == 0);
      }
      next += count;
    }
  }

  std::vector<RecordId> InsertMany(const CollectionPtr& info, int first, int count) {
    std::vector<RecordId> ids;
    auto txn = Begin(info);
    for (int id = first; txn != nullptr && id < first + count; ++id) {
      const bson::Document document =
          bson::Builder().Append("_id", id).Append("text", TextOf(id)).Finish();
      auto inserted = Insert(*txn, *info, document, {.one_of_many = true});
      EXPECT_TRUE(inserted.ok()) << inserted.status().ToString();
      ids.push_back(*inserted);
    }
    if (txn != nullptr) {
      const Status committed = txn->Commit(kv::Durability::kProcess);
      EXPECT_TRUE(committed.ok()) << committed.ToString();
    }
    return ids;
  }

  void ChangeOne(const CollectionPtr& info, RecordId id, bool removes) {
    auto txn = Begin(info);
    if (txn == nullptr) {
      return;
    }
    auto change = [&]() -> Status {
      RETURN_IF_ERROR(ClaimRecord(*txn, *info, id));
      kv::ReadValue value;
      ASSIGN_OR_RETURN(const bool found, Fetch(*txn, *info, id, &value));
      EXPECT_TRUE(found);
      const bson::Document before{bson::View(value.view().data())};
      if (removes) {
        RETURN_IF_ERROR(Remove(*txn, *info, id, before));
      } else {
        const bson::Document after = bson::Builder()
                                         .Append("_id", before["_id"])
                                         .Append("text", before["text"])
                                         .Append("changed", true)
                                         .Finish();
        RETURN_IF_ERROR(Replace(*txn, *info, id, before, after, {}));
      }
      return txn->Commit(kv::Durability::kProcess);
    };
    const Status changed = change();
    EXPECT_TRUE(MayHappen(changed)) << changed.ToString();
  }

  void DropAndCreate() {
    const bson::Document id = bson::TestDocument("{v: 2, key: {_id: 1}, name: '_id_'}");
    std::mt19937_64 random(100);
    while (running_ > 0) {
      const std::string name = kNames[random() % 3];
      const Status dropped = catalog_->Drop("db." + name, kv::Durability::kProcess);
      EXPECT_TRUE(MayHappen(dropped)) << dropped.ToString();
      if (catalog_->Find("db." + name) == nullptr) {
        EXPECT_TRUE(catalog_->Create("db", name, bson::View(), id, kv::Durability::kProcess).ok());
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  // What an engine's background thread does.
  void FoldAndCut() {
    std::mt19937_64 random(200);
    auto soon = [&] { return random() % 4 == 0; };
    while (running_ > 0) {
      for (const CollectionPtr& info : catalog_->snapshot()->All()) {
        if (!info->is_oplog) {
          const auto groups = static_cast<uint64_t>(GroupOf(info->state->next_record_id) + 1);
          const auto number = static_cast<int64_t>(random() % groups);
          Expect(FoldGroup(*store_, catalog_->log(), *info, number).status());
          Expect(FoldNoted(*store_, catalog_->log(), *info, soon));
        }
      }
      Expect(catalog_->ReclaimReferred(random() % 4 == 0 ? 400'000 : 0, soon));
      if (random() % 8 == 0) {
        Expect(catalog_->log().Trim(1'000'000, {}));
      }
    }
  }
  static void Expect(const Status& status) { EXPECT_TRUE(MayHappen(status)) << status.ToString(); }

  // Each document the log has, by its writer.
  void Read() {
    for (std::vector<int>& ids : ids_) {
      ids.clear();
    }
    auto reader = *ChangeReader::Open(*store_, catalog_->log(), {});
    Change change;
    uint64_t last = 0;
    while (true) {
      auto more = reader->Next(&change);
      ASSERT_TRUE(more.ok()) << more.status().ToString();
      if (!*more) {
        break;
      }
      ASSERT_LT(last, PackTime(change.time));
      last = PackTime(change.time);
      if (change.kind == 'i') {
        const auto id = static_cast<int>(change.document["_id"].AsInt64());
        ASSERT_EQ(change.document["text"].AsString(), TextOf(id));
        ASSERT_FALSE(change.document.Has("changed"));
        ids_[id / kIds].push_back(id);
      }
    }
  }

  // How many commits the log has.
  void CheckWhole(int* commits) {
    *commits = 0;
    Read();
    for (int writer = 0; writer < kWriters; ++writer) {
      std::vector<int>& ids = ids_[writer];
      for (auto commit = commits_[writer].rbegin(); !ids.empty(); ++commit) {
        ++*commits;
        ASSERT_NE(commit, commits_[writer].rend());
        for (int id = commit->first + commit->count; id-- > commit->first; ids.pop_back()) {
          ASSERT_FALSE(ids.empty());
          ASSERT_EQ(ids.back(), id);
        }
      }
    }
  }

  struct Commit {
    int first;
    int count;
  };
  std::vector<Commit> commits_[kWriters];
  std::vector<int> ids_[kWriters];
  std::atomic<int> running_{kWriters};
};

TEST_F(ConcurrentLog, HasWhatIsNotCut) {
  for (const char* name : kNames) {
    Make(name);
  }
  info_.reset();
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([this, writer] {
      InsertAndChange(writer);
      --running_;
    });
  }
  threads.emplace_back([this] { DropAndCreate(); });
  threads.emplace_back([this] { FoldAndCut(); });
  while (running_ > 0 && !HasFatalFailure()) {
    Read();
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  ASSERT_FALSE(HasFailure());
  int before = 0;
  CheckWhole(&before);
  Reopen();
  ASSERT_TRUE(catalog_->ReclaimReferred(0, kNever).ok());
  commits_[0].push_back({kIds / 2, 100});
  ASSERT_EQ(InsertMany(catalog_->Find("db.a"), kIds / 2, 100).size(), 100U);
  int after = 0;
  CheckWhole(&after);
  EXPECT_EQ(after, before + 1);
}

}  // namespace
}  // namespace quire::store
