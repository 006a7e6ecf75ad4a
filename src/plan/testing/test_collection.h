// SPDX-License-Identifier: Apache-2.0
//
// For tests: one collection in a store of its own, and queries on it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kv/testing/test_store.h"
#include "plan/plan.h"
#include "store/catalog.h"
#include "store/collection.h"
#include "store/layout.h"

namespace quire::plan {

inline bson::Document Json(std::string_view text) {
  auto document = bson::Document::FromJson(text);
  EXPECT_TRUE(document.ok()) << text << ": " << document.status().ToString();
  return document.ok() ? *document : bson::Document();
}

class TestCollection {
 public:
  TestCollection() {
    store_ = kv::TestStore(store::KeySections());
    catalog_ = *store::Catalog::Open(store_.get());
    bson::Document id_index = Json(R"({"v": 2, "key": {"_id": 1}, "name": "_id_"})");
    EXPECT_TRUE(catalog_->Create("db", "c", bson::View(), id_index, kv::Durability::kProcess).ok());
  }

  store::CollectionPtr info() const { return catalog_->Find("db.c"); }
  kv::Store& store() { return *store_; }

  void CreateIndex(bson::View spec) {
    Status made = TryCreateIndex(spec);
    EXPECT_TRUE(made.ok()) << made.ToString();
  }

  Status TryCreateIndex(bson::View spec) {
    OpContext op;
    bson::Builder full;
    full.Append("v", 2).AppendFields(spec);
    return catalog_->CreateIndexes(op, "db.c", {store::NewIndex{full.Finish()}},
                                   kv::Durability::kProcess);
  }

  Status Insert(const std::vector<bson::Document>& documents) {
    auto txn = *store::Transaction::Begin(*store_, false);
    Status held = txn->Hold(info()->state);
    EXPECT_TRUE(held.ok());
    for (const bson::Document& document : documents) {
      auto id = store::Insert(*txn, *info(), document);
      if (!id.ok()) {
        return id.status();
      }
    }
    return txn->Commit(kv::Durability::kProcess);
  }

 private:
  std::unique_ptr<kv::Store> store_;
  std::unique_ptr<store::Catalog> catalog_;
};

// A find as a document: {filter, sort, projection, hint, skip, limit, min, max, distinct, count,
// write, one}.
class TestQuery {
 public:
  TestQuery(store::CollectionPtr collection, bson::View spec) : spec_(spec) {
    query_.collection = std::move(collection);
    query_.context = &context_;
    filter_spec_ = Part("filter");
    filter_ = *expr::match::Filter::Parse(filter_spec_, &context_);
    query_.filter = filter_.get();
    query_.filter_spec = filter_spec_;
    if (spec_.view().Has("sort")) {
      sort_spec_ = Part("sort");
      sort_ = *expr::SortPattern::Parse(sort_spec_);
      query_.sort = &sort_;
      query_.sort_spec = sort_spec_;
    }
    if (spec_.view().Has("projection") && !Part("projection").empty()) {
      projection_spec_ = Part("projection");
      projection_ = *expr::Projection::Parse(projection_spec_, expr::Projection::Policy::kFind,
                                             &context_, filter_.get());
      query_.projection = projection_.get();
      query_.projection_spec = projection_spec_;
    }
    min_ = Part("min");
    max_ = Part("max");
    query_.min = min_;
    query_.max = max_;
    query_.hint = spec_["hint"];
    query_.skip = Int("skip");
    query_.limit = Int("limit");
    query_.return_key = spec_.view().Has("returnKey");
    query_.count_only = spec_.view().Has("count");
    query_.no_fields = spec_.view().Has("noFields");
    query_.explain = true;
    if (spec_.view().Has("distinct")) {
      query_.distinct_path = spec_["distinct"].AsString();
    }
    if (spec_.view().Has("write")) {
      query_.for_write = true;
      query_.write_stage = spec_["write"].AsString();
    }
    one_ = spec_.view().Has("one");
  }

  // Plans and runs it; the rows' documents.
  Result<std::vector<bson::Document>> Run(store::Transaction& txn) {
    OpContext op;
    auto plan = Plan::Make(op, query_, txn);
    if (!plan.ok()) {
      return plan.status();
    }
    plan_ = *std::move(plan);
    auto root = plan_->Open(txn);
    if (!root.ok()) {
      return root.status();
    }
    std::vector<bson::Document> rows;
    exec::Row row;
    while (true) {
      auto more = (*root)->Next(op, &row);
      if (!more.ok()) {
        return more.status();
      }
      if (!*more) {
        return rows;
      }
      rows.emplace_back(row.document);
      if (one_) {
        return rows;
      }
    }
  }

  const Plan& plan() const { return *plan_; }
  QuerySpec& query() { return query_; }

 private:
  bson::Document Part(std::string_view name) const {
    bson::Value value = spec_[name];
    return value.is_document() ? bson::Document(value.AsDocument()) : bson::Document();
  }
  int64_t Int(std::string_view name) const {
    bson::Value value = spec_[name];
    return value.missing() ? 0 : value.AsInt64();
  }

  bson::Document spec_;
  expr::Context context_;
  bson::Document filter_spec_;
  bson::Document sort_spec_;
  bson::Document projection_spec_;
  bson::Document min_;
  bson::Document max_;
  std::unique_ptr<expr::match::Filter> filter_;
  expr::SortPattern sort_;
  std::unique_ptr<expr::Projection> projection_;
  QuerySpec query_;
  std::unique_ptr<Plan> plan_;
  bool one_ = false;
};

}  // namespace quire::plan
