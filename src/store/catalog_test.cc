// SPDX-License-Identifier: Apache-2.0
#include "store/catalog.h"

#include <gtest/gtest.h>

#include "bson/testing/json.h"
#include "kv/rocks/rocks_store.h"
#include "store/layout.h"

namespace quire::store {
namespace {

class CatalogTest : public testing::Test {
 protected:
  CatalogTest() {
    kv::RocksOptions options;
    options.ephemeral = true;
    options.sections = KeySections();
    store_ = *kv::OpenRocks(options);
    catalog_ = *Catalog::Open(store_.get());
    Create("c");
  }

  void Create(const char* name) {
    bson::Document id = bson::TestDocument("{v: 2, key: {_id: 1}, name: '_id_'}");
    EXPECT_TRUE(catalog_->Create("db", name, bson::View(), id, kv::Durability::kProcess).ok());
  }

  // Whether what was found is what the catalog shows, as a writer that holds it asks.
  static bool IsCurrent(const CollectionPtr& found) {
    return found->state->published_version == found->version;
  }

  std::unique_ptr<kv::Store> store_;
  std::unique_ptr<Catalog> catalog_;
};

TEST_F(CatalogTest, ANewIndexReplacesWhatWasFound) {
  CollectionPtr found = catalog_->Find("db.c");
  EXPECT_TRUE(IsCurrent(found));
  OpContext op;
  bson::Document index = bson::TestDocument("{v: 2, key: {a: 1}, name: 'a_1'}");
  ASSERT_TRUE(
      catalog_->CreateIndexes(op, "db.c", {NewIndex{index}}, kv::Durability::kProcess).ok());
  EXPECT_FALSE(IsCurrent(found));
  CollectionPtr now = catalog_->Find("db.c");
  EXPECT_EQ(now->state, found->state);
  EXPECT_TRUE(IsCurrent(now));
}

TEST_F(CatalogTest, ARenameAndADropEndWhatWasFound) {
  CollectionPtr found = catalog_->Find("db.c");
  ASSERT_TRUE(catalog_->Rename("db.c", "db.d", false, kv::Durability::kProcess).ok());
  EXPECT_FALSE(IsCurrent(found));
  CollectionPtr renamed = catalog_->Find("db.d");
  EXPECT_TRUE(IsCurrent(renamed));
  ASSERT_TRUE(catalog_->Drop("db.d", kv::Durability::kProcess).ok());
  EXPECT_FALSE(IsCurrent(renamed));
}

TEST_F(CatalogTest, OtherCollectionsDoNotMatter) {
  CollectionPtr found = catalog_->Find("db.c");
  Create("other");
  EXPECT_TRUE(IsCurrent(found));
}

}  // namespace
}  // namespace quire::store
