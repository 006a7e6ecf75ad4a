// SPDX-License-Identifier: Apache-2.0
//
// All of Categories: the calls, and the steps they are made of.
#pragma once

#include "quire/patterns/categories.h"

namespace quire::patterns {

class Categories::Work {
 public:
  Work(const Client& client, std::string_view database, CategoriesOptions options = {});
  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes());
  }
  Result<CategoryId> Add(std::string_view name, std::string_view slug, const ParentId& parent = {},
                         const CallKey& key = std::nullopt) const;
  Status Move(const CategoryId& id, const ParentId& parent,
              const CallKey& key = std::nullopt) const;
  Status Rename(const CategoryId& id, const std::optional<std::string>& name,
                const std::optional<std::string>& slug, const CallKey& key = std::nullopt) const;
  Status Remove(const CategoryId& id, const CategoryRemoveOptions& options,
                const CallKey& key = std::nullopt) const;
  Result<Category> Get(std::string_view slug) const;
  Result<Category> GetById(const CategoryId& id) const;
  Result<CategoryPage> Children(const ParentId& id, const PageRequest& page = {}) const;
  Result<CategoryPage> Descendants(const CategoryId& id, const PageRequest& page = {}) const;
  Result<bool> IsAncestor(const CategoryId& ancestor, const CategoryId& of) const;
  Result<std::vector<CategoryRef>> BreadcrumbByParents(const CategoryId& id) const;
  Result<Page> DescendantsByPath(std::string_view collection, std::string_view path,
                                 const PageRequest& page = {}) const;
  Result<JobReport> Recover() const;
  Result<JobReport> RebuildAll() const;
  Result<JobReport> Purge() const;
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  Status Change(std::string_view operation, const bson::Document& change, const CallKey& key) const;
  Status ChangeTransacted(const bson::Document& change, const Claim& claim) const;
  Result<JobReport> ChangeLocked(const bson::Document& change, const Claim& claim) const;
  Result<JobReport> CarryOut(const bson::Document& lock) const;
  Result<bool> Done(const bson::Document& change, const Claim& claim) const;
  Result<bson::Document> ReadParent(const Store& store, const CategoryId& parent) const;
  Status Insert(const Store& store, const bson::Document& fields,
                const std::optional<bson::Document>& parent, const Claim& claim) const;
  Status Follow(const CategoryId& id, const bson::Document& parent) const;
  Status AddTransacted(const bson::Document& fields, const ParentId& parent,
                       const Claim& claim) const;
  Result<CategoryPage> List(const bson::Document& filter, const PageRequest& page) const;

  CategoriesOptions options_;
  Store store_;
  Idempotency calls_;
};

}  // namespace quire::patterns
