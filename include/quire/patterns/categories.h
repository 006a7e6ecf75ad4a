// SPDX-License-Identifier: Apache-2.0
//
// A tree of categories whose breadcrumbs are read with the category itself.
//
//   patterns::Categories tree(client, "shop");
//   tree.CreateIndexes();
//   auto ragtime = tree.Add("Ragtime", "ragtime");
//   auto bop = tree.Add("Bop", "bop", *ragtime);
//   tree.Get("bop")->Breadcrumb();   // Ragtime, Bop
//   tree.Recover();                  // now and then, and at the start
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/idempotency.h"
#include "quire/patterns/page.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

struct CategoriesOptions {
  Backend backend = Backend::kCompensating;
  int32_t max_depth = 64;  // ancestors that a category may have
  // A change of the tree that has not ended by then is carried out by Recover.
  std::chrono::milliseconds max_time = std::chrono::minutes(1);
  // How long a removed category refuses late children: longer than any write may be delayed.
  std::chrono::milliseconds tombstone_retention = std::chrono::hours(24);
  std::string worker = "worker";  // a name of its own for every process that runs the jobs
  std::chrono::milliseconds lease = std::chrono::minutes(5);
  Concerns concerns = {};
  Seams seams = {};
};

using CategoryId = bson::ObjectId;
using ParentId = std::optional<CategoryId>;  // none: the category is a root

struct CategoryRef {
  CategoryId id;
  std::string slug;
  std::string name;
};

struct Category {
  CategoryId id;
  std::string slug;
  std::string name;
  ParentId parent;
  std::vector<CategoryRef> ancestors;  // nearest first
  int64_t rev = 0;

  // From the root to the category itself.
  std::vector<CategoryRef> Breadcrumb() const;
};

struct CategoryPage {
  std::vector<Category> categories;
  std::string next;  // empty: this was the last page
};

struct CategoryRemoveOptions {
  bool keep_children = false;  // they go to the parent of what is removed
};

// Documents: categories {_id, slug, name, parent, ancestors: [{_id, slug, name}], depth, rev,
// fence, marks}; tree_lock {_id: "categories", rev, op}; idempotency; jobs. Moves, renames and
// removals go one at a time (Error: TreeBusy, with nothing changed: try again); additions and
// readers at any time. While a change is on its way, readers may see old and new breadcrumbs, never
// an id that does not exist. Safe for concurrent use.
class Categories {
 public:
  Categories(const Client& client, std::string_view database, CategoriesOptions options = {});

  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const;
  Result<std::vector<std::string>> MissingIndexes() const;

  // Errors: InvalidName (an empty name or slug, a slug that begins with "~"), UnknownParent,
  // DuplicateSlug, TooDeep, TreeBusy (the parent is being removed).
  Result<CategoryId> Add(std::string_view name, std::string_view slug, const ParentId& parent = {},
                         const CallKey& key = std::nullopt) const;
  // With all below it. Errors: NotFound, UnknownParent, CycleError, TooDeep, TreeBusy.
  Status Move(const CategoryId& id, const ParentId& parent,
              const CallKey& key = std::nullopt) const;
  // What is not given stays. Errors: NotFound, InvalidName, DuplicateSlug, TreeBusy.
  Status Rename(const CategoryId& id, const std::optional<std::string>& name,
                const std::optional<std::string>& slug, const CallKey& key = std::nullopt) const;
  // Errors: NotFound, NotEmpty (without keep_children), TreeBusy.
  Status Remove(const CategoryId& id, const CategoryRemoveOptions& options = {},
                const CallKey& key = std::nullopt) const;

  // Error: NotFound.
  Result<Category> Get(std::string_view slug) const;
  Result<Category> GetById(const CategoryId& id) const;
  // By id, in pages. Error: BadCursor.
  Result<CategoryPage> Children(const ParentId& id, const PageRequest& page = {}) const;
  Result<CategoryPage> Descendants(const CategoryId& id, const PageRequest& page = {}) const;
  Result<bool> IsAncestor(const CategoryId& ancestor, const CategoryId& of) const;

  // Readers of two older designs. By parent links alone: one read per level. Error: NotFound.
  Result<std::vector<CategoryRef>> BreadcrumbByParents(const CategoryId& id) const;
  // By the path as _id ("ragtime:bop:modal-jazz") of a collection {_id, name}: all below one.
  Result<Page> DescendantsByPath(std::string_view collection, std::string_view path,
                                 const PageRequest& page = {}) const;

  // Carries out the change that a crashed client left behind. skipped is 1 while another worker
  // does.
  Result<JobReport> Recover() const;
  // Computes every breadcrumb anew from the parent links and writes those that differ; what has
  // lost its parent goes to its nearest ancestor that exists, and a removal that was left behind is
  // given up. Error: TreeBusy.
  Result<JobReport> RebuildAll() const;
  // Forgets removed categories, and outcomes of keys, after the retention. skipped is 1 while
  // another worker does.
  Result<JobReport> Purge() const;

  // What is wrong, a line each, once nothing is under way: breadcrumbs and depths that are not what
  // the parent links say, parents that do not exist, cycles, slugs twice, removals left behind.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  class Work;
  std::shared_ptr<const Work> work_;
};

}  // namespace quire::patterns
