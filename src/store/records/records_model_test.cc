// SPDX-License-Identifier: Apache-2.0
//
// Random changes of a collection against a plain map: single documents and many at a time, with
// savepoints, old snapshots, folding and restarts.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/error_codes.h"
#include "bson/testing/json.h"
#include "kv/testing/test_store.h"
#include "store/collection.h"
#include "store/records/fold.h"
#include "store/records/record_cursor.h"
#include "store/records/record_keys.h"
#include "store/records/records.h"

namespace quire::store {
namespace {

using Model = std::map<RecordId, std::string>;

struct Held {
  std::unique_ptr<Transaction> txn;
  Model model;
};

class RecordsModel {
 public:
  explicit RecordsModel(uint64_t seed) : random_(seed), store_(kv::TestStore(KeySections())) {
    catalog_ = *Catalog::Open(store_.get());
    bson::Document id = bson::TestDocument("{v: 2, key: {_id: 1}, name: '_id_'}");
    EXPECT_TRUE(catalog_->Create("db", "c", bson::View(), id, kv::Durability::kProcess).ok());
    info_ = catalog_->Find("db.c");
  }

  void Step() {
    switch (Below(12)) {
      case 0:
        return Fold();
      case 1:
        return Restart();
      case 2:
        held_.push_back({*Transaction::Begin(*store_, true), model_});
        return;
      case 3:
        return CheckHeld();
      case 4:
        return DeleteRun();
      default:
        return Write();
    }
  }

  void Check(Transaction& txn, const Model& model) {
    CheckScans(txn, model);
    CheckGets(txn, model);
  }
  void CheckNow() {
    auto txn = *Transaction::Begin(*store_, true);
    Check(*txn, model_);
    EXPECT_EQ(info_->state->documents, static_cast<int64_t>(model_.size()));
  }

 private:
  size_t Below(size_t n) { return random_() % n; }

  bson::Document NewDocument() {
    static constexpr size_t kSizes[] = {0, 10, 300, 700, 3000, 8000, 9000, 20000};
    bson::Builder builder;
    builder.Append("_id", next_id_++);
    builder.Append("text", std::string(Below(4) != 0 ? 200 : kSizes[Below(8)] + Below(300), 'x'));
    return builder.Finish();
  }

  RecordId AnyId(const Model& model) {
    if (model.empty() || Below(20) == 0) {
      return static_cast<RecordId>(Below(static_cast<size_t>(info_->state->next_record_id) + 100));
    }
    auto it = model.lower_bound(
        static_cast<RecordId>(Below(static_cast<size_t>(model.rbegin()->first) + 1)));
    return it->first;
  }

  void InsertSome(Transaction& txn, Model* model, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      bson::Document document = NewDocument();
      const bool stays = Below(10) != 0;
      txn.SetSavepoint();
      auto id = Insert(txn, *info_, document, {.one_of_many = count >= 8});
      ASSERT_TRUE(id.ok());
      ASSERT_TRUE(model->empty() || model->rbegin()->first < *id) << "order of insertion";
      if (!stays) {
        ASSERT_TRUE(txn.RollbackToSavepoint().ok());
        continue;
      }
      txn.ReleaseSavepoint();
      (*model)[*id] = document.bytes();
      if (Below(50) == 0) {
        Check(txn, *model);
      }
    }
  }

  void ChangeOne(Transaction& txn, Model* model) {
    const RecordId id = AnyId(*model);
    kv::ReadValue value;
    auto found = Fetch(txn, *info_, id, &value);
    ASSERT_TRUE(found.ok());
    auto there = model->find(id);
    ASSERT_EQ(*found, there != model->end());
    if (!*found) {
      return;
    }
    ASSERT_TRUE(ClaimRecord(txn, *info_, id).ok());
    bson::Document before{bson::View(value.view().data())};
    if (Below(2) == 0) {
      ASSERT_TRUE(Remove(txn, *info_, id, before).ok());
      gone_[id] = before.bytes();
      model->erase(there);
      return;
    }
    bson::Document text = NewDocument();
    bson::Document after =
        bson::Builder().Append("_id", before["_id"]).Append("text", text["text"]).Finish();
    ASSERT_TRUE(Replace(txn, *info_, id, before, after, {}).ok());
    there->second = after.bytes();
  }

  // As a replica set that undoes a deletion.
  void RestoreOne(Transaction& txn, Model* model) {
    if (gone_.empty()) {
      return;
    }
    auto [id, document] = *gone_.begin();
    gone_.erase(gone_.begin());
    if (!model->contains(id)) {
      ASSERT_TRUE(ClaimRecord(txn, *info_, id).ok());
      ASSERT_TRUE(Restore(txn, *info_, id, bson::View(document.data())).ok());
      (*model)[id] = document;
    }
  }

  void Write() {
    auto txn = *Transaction::Begin(*store_, false, info_->state);
    Model model = model_;
    const Model gone = gone_;
    for (size_t parts = 1 + Below(3); parts > 0; --parts) {
      const Model before = model;
      const Model gone_before = gone_;
      txn->SetSavepoint();
      switch (Below(5)) {
        case 0:
          InsertSome(*txn, &model, 1 + Below(3));
          break;
        case 1:
          InsertSome(*txn, &model, 8 + Below(150));
          break;
        case 2:
          RestoreOne(*txn, &model);
          break;
        default:
          for (size_t i = Below(12); i > 0; --i) {
            ChangeOne(*txn, &model);
          }
      }
      if (Below(4) == 0) {
        ASSERT_TRUE(txn->RollbackToSavepoint().ok());
        model = before;
        gone_ = gone_before;
      } else {
        txn->ReleaseSavepoint();
      }
    }
    if (Below(5) == 0) {
      gone_ = gone;
      return;  // without a commit
    }
    ASSERT_TRUE(txn->Commit(kv::Durability::kProcess).ok());
    model_ = std::move(model);
  }

  // Most of a group goes.
  void DeleteRun() {
    auto txn = *Transaction::Begin(*store_, false, info_->state);
    auto it = model_.lower_bound(AnyId(model_));
    for (size_t left = Below(80); left > 0 && it != model_.end(); --left) {
      ASSERT_TRUE(ClaimRecord(*txn, *info_, it->first).ok());
      ASSERT_TRUE(Remove(*txn, *info_, it->first, bson::View(it->second.data())).ok());
      it = model_.erase(it);
    }
    ASSERT_TRUE(txn->Commit(kv::Durability::kProcess).ok());
  }

  void Fold() {
    if (Below(3) == 0) {
      ASSERT_TRUE(FoldAll(*store_, catalog_->log(), *info_, 0, [](RecordId) { return true; }).ok());
    } else {
      ASSERT_TRUE(FoldNoted(*store_, catalog_->log(), *info_, [] { return false; }).ok());
    }
    const auto numbers = static_cast<size_t>(GroupOf(info_->state->next_record_id)) + 1;
    ASSERT_TRUE(
        FoldGroup(*store_, catalog_->log(), *info_, static_cast<int64_t>(Below(numbers))).ok());
    CheckNow();
  }

  void Restart() {
    held_.clear();
    info_.reset();
    catalog_.reset();
    catalog_ = *Catalog::Open(store_.get());
    info_ = catalog_->Find("db.c");
    CheckNow();
  }

  void CheckHeld() {
    if (!held_.empty()) {
      const size_t i = Below(held_.size());
      Check(*held_[i].txn, held_[i].model);
      held_.erase(held_.begin() + static_cast<ptrdiff_t>(i));
    }
  }

  void CheckScans(Transaction& txn, const Model& model) {
    const RecordId from = Below(2) == 0 ? 0 : AnyId(model);
    const Model rest(model.lower_bound(from), model.end());
    ASSERT_TRUE(txn.WriteGroups().ok());
    for (auto direction : {kv::Direction::kForward, kv::Direction::kBackward}) {
      auto records = *RecordCursor::Open(txn.kv(), *info_->state, direction, from);
      std::vector<std::pair<RecordId, std::string>> seen;
      while (*records->Next()) {
        seen.emplace_back(records->id(), records->document());
      }
      std::vector<std::pair<RecordId, std::string>> wanted(rest.begin(), rest.end());
      if (direction == kv::Direction::kBackward) {
        std::reverse(wanted.begin(), wanted.end());
      }
      ASSERT_TRUE(seen == wanted) << seen.size() << " of " << wanted.size();
    }
  }

  void CheckGets(Transaction& txn, const Model& model) {
    std::vector<RecordId> ids;
    for (size_t i = Below(60); i > 0; --i) {
      ids.push_back(AnyId(model));
    }
    std::vector<kv::ReadValue> values;
    std::vector<bool> found;
    ASSERT_TRUE(FetchMany(txn, *info_, ids, &values, &found).ok());
    for (size_t i = 0; i < ids.size(); ++i) {
      auto there = model.find(ids[i]);
      ASSERT_EQ(found[i], there != model.end()) << ids[i];
      kv::ReadValue value;
      ASSERT_EQ(*Fetch(txn, *info_, ids[i], &value), there != model.end()) << ids[i];
      if (found[i]) {
        ASSERT_EQ(values[i].view(), there->second);
        ASSERT_EQ(value.view(), there->second);
      }
    }
  }

  std::mt19937_64 random_;
  std::unique_ptr<kv::Store> store_;
  std::unique_ptr<Catalog> catalog_;
  CollectionPtr info_;
  Model model_;
  Model gone_;  // what was deleted
  std::vector<Held> held_;
  int64_t next_id_ = 0;
};

TEST(RecordsModelTest, AllReadsShowWhatAMapShows) {
  constexpr uint64_t kSeeds = 10;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RecordsModel model(seed);
    for (int step = 0; step < 80 && !testing::Test::HasFatalFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      model.Step();
    }
    model.CheckNow();
    if (testing::Test::HasFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace quire::store
