// SPDX-License-Identifier: Apache-2.0
//
// The calls of Categories, each in its Work.
#include <utility>

#include "patterns/categories/work.h"

namespace quire::patterns {

Categories::Categories(const Client& client, std::string_view database, CategoriesOptions options)
    : work_(std::make_shared<const Work>(client, database, std::move(options))) {}

const std::vector<IndexSpec>& Categories::Indexes() { return Work::Indexes(); }
const std::vector<ShardKeySpec>& Categories::ShardKeys() { return Work::ShardKeys(); }
Status Categories::CreateIndexes() const { return work_->CreateIndexes(); }
Result<std::vector<std::string>> Categories::MissingIndexes() const {
  return work_->MissingIndexes();
}
Result<CategoryId> Categories::Add(std::string_view name, std::string_view slug,
                                   const ParentId& parent, const CallKey& key) const {
  return work_->Add(name, slug, parent, key);
}
Status Categories::Move(const CategoryId& id, const ParentId& parent, const CallKey& key) const {
  return work_->Move(id, parent, key);
}
Status Categories::Rename(const CategoryId& id, const std::optional<std::string>& name,
                          const std::optional<std::string>& slug, const CallKey& key) const {
  return work_->Rename(id, name, slug, key);
}
Status Categories::Remove(const CategoryId& id, const CategoryRemoveOptions& options,
                          const CallKey& key) const {
  return work_->Remove(id, options, key);
}
Result<Category> Categories::Get(std::string_view slug) const { return work_->Get(slug); }
Result<Category> Categories::GetById(const CategoryId& id) const { return work_->GetById(id); }
Result<CategoryPage> Categories::Children(const ParentId& id, const PageRequest& page) const {
  return work_->Children(id, page);
}
Result<CategoryPage> Categories::Descendants(const CategoryId& id, const PageRequest& page) const {
  return work_->Descendants(id, page);
}
Result<bool> Categories::IsAncestor(const CategoryId& ancestor, const CategoryId& of) const {
  return work_->IsAncestor(ancestor, of);
}
Result<std::vector<CategoryRef>> Categories::BreadcrumbByParents(const CategoryId& id) const {
  return work_->BreadcrumbByParents(id);
}
Result<Page> Categories::DescendantsByPath(std::string_view collection, std::string_view path,
                                           const PageRequest& page) const {
  return work_->DescendantsByPath(collection, path, page);
}
Result<JobReport> Categories::Recover() const { return work_->Recover(); }
Result<JobReport> Categories::RebuildAll() const { return work_->RebuildAll(); }
Result<JobReport> Categories::Purge() const { return work_->Purge(); }
Result<std::vector<std::string>> Categories::CheckInvariants() const {
  return work_->CheckInvariants();
}

}  // namespace quire::patterns
