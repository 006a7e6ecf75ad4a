// SPDX-License-Identifier: Apache-2.0
#include "engine/schema/validate.h"

#include <gtest/gtest.h>

#include "bson/testing/json.h"
#include "kv/testing/test_store.h"
#include "store/collection.h"
#include "store/records/record_keys.h"

namespace quire::engine {
namespace {

// A collection with a group of 20 documents, of which the first is deleted.
class ValidateTest : public testing::Test {
 protected:
  ValidateTest() {
    engine_ = *Engine::Open(kv::TestStore(store::KeySections()), {});
    bson::Document id = bson::TestDocument("{v: 2, key: {_id: 1}, name: '_id_'}");
    EXPECT_TRUE(
        engine_->catalog().Create("db", "c", bson::View(), id, kv::Durability::kProcess).ok());
    info_ = engine_->catalog().Find("db.c");
    auto txn = *store::Transaction::Begin(engine_->store(), false, info_->state);
    for (int i = 0; i < 20; ++i) {
      bson::Document document = bson::Builder().Append("_id", i).Finish();
      ids_.push_back(*store::Insert(*txn, *info_, document, {.one_of_many = true}));
    }
    bson::Document first = bson::Builder().Append("_id", 0).Finish();
    EXPECT_TRUE(store::Remove(*txn, *info_, ids_[0], first).ok());
    EXPECT_TRUE(txn->Commit(kv::Durability::kProcess).ok());
    group_ = store::GroupKey(info_->table->id, store::GroupOf(ids_[0]));
  }

  ValidateResult Validate() {
    OpContext op;
    return *ValidateCollection({*engine_, op}, "db.c");
  }
  void Put(const std::string& key, const std::string& value) {
    auto txn = *engine_->store().Begin({});
    ASSERT_TRUE(txn->Put(key, value, {.reads = kv::Reads::kByKey}).ok());
    ASSERT_TRUE(txn->Commit(kv::Durability::kProcess).ok());
  }
  std::string Get(const std::string& key) {
    auto txn = *engine_->store().Begin({.read_only = true});
    kv::ReadValue value;
    EXPECT_TRUE(*txn->Get(key, &value));
    return std::string(value.view());
  }

  std::unique_ptr<Engine> engine_;
  store::CollectionPtr info_;
  std::vector<store::RecordId> ids_;
  std::string group_;
};

TEST_F(ValidateTest, DocumentsInGroupsAreCounted) {
  ValidateResult result = Validate();
  EXPECT_TRUE(result.valid());
  EXPECT_EQ(result.records, 19);
}

TEST_F(ValidateTest, ADamagedGroupIsAnError) {
  std::string group = Get(group_);
  ++group[store::GroupView::kFixedHeader];
  Put(group_, group);
  ValidateResult result = Validate();
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_NE(result.errors.front().find("cannot be read"), std::string::npos);
}

TEST_F(ValidateTest, ADeletionWithoutItsDocumentIsAnError) {
  Put(store::RecordKey(info_->table->id, ids_.back() + 1), "");
  ValidateResult result = Validate();
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_NE(result.errors.front().find("was deleted beside a group"), std::string::npos);
}

}  // namespace
}  // namespace quire::engine
