// SPDX-License-Identifier: Apache-2.0
//
// For tests: a store whose calls can be made to fail, with a catalog, collections and their log.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "bson/testing/json.h"
#include "kv/testing/fault_store.h"
#include "kv/testing/test_store.h"
#include "store/catalog.h"
#include "store/collection.h"
#include "store/log/change_reader.h"
#include "store/log/references.h"

namespace quire::store {

inline constexpr auto kNever = [] { return false; };

class LoggedStore : public testing::Test {
 protected:
  LoggedStore() {
    store_ = kv::NewFaultStore(kv::TestStore(KeySections()), plan_);
    Reopen();
  }

  void Reopen() {
    info_.reset();
    catalog_.reset();
    catalog_ = *Catalog::Open(store_.get());
  }

  CollectionPtr Make(const std::string& name = "c") {
    const bson::Document id = bson::TestDocument("{v: 2, key: {_id: 1}, name: '_id_'}");
    EXPECT_TRUE(catalog_->Create("db", name, bson::View(), id, kv::Durability::kProcess).ok());
    return info_ = catalog_->Find("db." + name);
  }

  static bson::Document DocumentOf(int id) {
    return bson::Builder().Append("_id", id).Append("text", std::string(300, 'x')).Finish();
  }

  // Record ids of documents that are inserted together.
  std::vector<RecordId> Fill(int first, int count) {
    std::vector<RecordId> ids;
    auto txn = *Transaction::Begin(*store_, false, info_->state);
    for (int i = first; i < first + count; ++i) {
      const bson::Document document = DocumentOf(i);
      ids.push_back(*Insert(*txn, *info_, document, {.one_of_many = true}));
    }
    EXPECT_TRUE(txn->Commit(kv::Durability::kProcess).ok());
    return ids;
  }

  void Delete(RecordId id) {
    auto txn = *Transaction::Begin(*store_, false, info_->state);
    kv::ReadValue value;
    ASSERT_TRUE(*Fetch(*txn, *info_, id, &value));
    ASSERT_TRUE(ClaimRecord(*txn, *info_, id).ok());
    ASSERT_TRUE(Remove(*txn, *info_, id, bson::View(value.view().data())).ok());
    ASSERT_TRUE(txn->Commit(kv::Durability::kProcess).ok());
  }

  // The ids of inserted documents in the log, in its order.
  std::vector<int64_t> Logged() {
    auto reader = *ChangeReader::Open(*store_, catalog_->log(), {});
    std::vector<int64_t> ids;
    Change change;
    while (true) {
      auto more = reader->Next(&change);
      EXPECT_TRUE(more.ok()) << more.status().ToString();
      if (!more.ok() || !*more) {
        return ids;
      }
      if (change.kind == 'i') {
        EXPECT_EQ(change.document["text"].AsString().size(), 300U);
        ids.push_back(change.document["_id"].AsInt64());
      }
    }
  }

  static std::vector<int64_t> Numbers(int first, int count) {
    std::vector<int64_t> numbers;
    for (int i = first; i < first + count; ++i) {
      numbers.push_back(i);
    }
    return numbers;
  }

  // Of the log as it is stored.
  size_t LogBytes() {
    auto txn = *store_->Begin({.read_only = true});
    auto cursor = *txn->Scan(ChangeLog::RangeFrom(0), kv::Direction::kForward);
    size_t bytes = 0;
    while (*cursor->Next()) {
      bytes += cursor->value().size();
    }
    return bytes;
  }

  bool IsReferred(TableId table) { return *catalog_->log().MayReferTo(table); }

  static int Count(kv::Txn& txn, kv::Range range) {
    auto cursor = *txn.Scan(std::move(range), kv::Direction::kForward);
    int keys = 0;
    while (*cursor->Next()) {
      ++keys;
    }
    return keys;
  }
  int CountReferences(TableId table) {
    return Count(**store_->Begin({.read_only = true}), ReferenceRange(table));
  }

  // Drops db.<name>; its table.
  TableId Drop(const std::string& name = "c") {
    info_.reset();
    const TableId table = catalog_->Find("db." + name)->table->id;
    EXPECT_TRUE(catalog_->Drop("db." + name, kv::Durability::kProcess).ok());
    return table;
  }

  bool HasKeys(TableId table) {
    auto txn = *store_->Begin({.read_only = true});
    return *(*txn->Scan(TableRange(table), kv::Direction::kForward))->Next();
  }

  kv::FaultPlan plan_;
  std::unique_ptr<kv::Store> store_;
  std::unique_ptr<Catalog> catalog_;
  CollectionPtr info_;
};

}  // namespace quire::store
