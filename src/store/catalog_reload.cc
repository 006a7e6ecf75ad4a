// SPDX-License-Identifier: Apache-2.0
//
// The catalog in a replica set: changes of it may be undone.
#include <map>

#include "base/try.h"
#include "store/catalog.h"

namespace quire::store {

namespace {

bool Same(const CollectionInfo& a, const CollectionInfo& b) {
  if (a.uuid != b.uuid || a.options.bytes() != b.options.bytes() || a.is_view() != b.is_view() ||
      (!a.is_view() && a.table->id != b.table->id) || a.indexes.size() != b.indexes.size()) {
    return false;
  }
  for (size_t i = 0; i < a.indexes.size(); ++i) {
    if (a.indexes[i]->table->id != b.indexes[i]->table->id ||
        a.indexes[i]->spec.bytes() != b.indexes[i]->spec.bytes() ||
        a.indexes[i]->keys_have_ids != b.indexes[i]->keys_have_ids) {
      return false;
    }
  }
  return true;
}

}  // namespace

class Catalog::Reloaded {
 public:
  explicit Reloaded(const CatalogSnapshot& shown) {
    for (const CollectionPtr& info : shown.All()) {
      if (info->is_view()) {
        continue;
      }
      collections_[info->table->id] = info;
      for (const auto& index : info->indexes) {
        indexes_[index->table->id] = index;
      }
    }
  }

  // Whether the collection is in use.
  bool Adopt(CollectionInfo* info) {
    for (auto& index : info->indexes) {
      if (auto old = indexes_.find(index->table->id); old != indexes_.end()) {
        auto adopted = std::const_pointer_cast<IndexInfo>(index);
        adopted->table = old->second->table;
        adopted->state = old->second->state;
        indexes_.erase(old);
      }
    }
    auto old = info->is_view() ? collections_.end() : collections_.find(info->table->id);
    if (old == collections_.end()) {
      return info->is_view();
    }
    info->table = old->second->table;
    info->state = old->second->state;
    collections_.erase(old);
    return true;
  }

  // What was not adopted is gone.
  void RetireRest() {
    for (const auto& [table, info] : collections_) {
      Retire(*info);
    }
    for (const auto& [table, index] : indexes_) {
      index->table->dropped.store(true, std::memory_order_release);
    }
  }

 private:
  std::map<TableId, CollectionPtr> collections_;
  std::map<TableId, std::shared_ptr<const IndexInfo>> indexes_;
};

Status Catalog::Reload() {
  ASSIGN_OR_RETURN(auto lock, change_mutex_.Acquire());
  const std::shared_ptr<const CatalogSnapshot> shown = snapshot();
  Reloaded reloaded(*shown);
  std::vector<std::shared_ptr<CollectionInfo>> changed;
  std::vector<std::string> removed;
  ASSIGN_OR_RETURN(auto txn, store_->Begin({.read_only = true}));
  for (const CollectionPtr& info : shown->All()) {
    kv::ReadValue entry;
    ASSIGN_OR_RETURN(const bool there, txn->Get(MetaKey('C', info->ns()), &entry));
    if (!there && !info->is_oplog) {
      removed.push_back(info->ns());
    }
  }
  const std::string prefix = MetaKey('C', "");
  ASSIGN_OR_RETURN(auto entries,
                   txn->Scan({prefix, kv::PrefixEnd(prefix)}, kv::Direction::kForward));
  while (true) {
    ASSIGN_OR_RETURN(bool more, entries->Next());
    if (!more) {
      break;
    }
    const std::string_view ns = entries->key().substr(prefix.size());
    ASSIGN_OR_RETURN(auto entry, bson::Document::Parse(std::string(entries->value())));
    ASSIGN_OR_RETURN(auto info, ReadEntry(ns, entry));
    const bool in_use = reloaded.Adopt(info.get());
    if (!in_use) {
      RETURN_IF_ERROR(ReadRuntimeState(info.get()));
    }
    const CollectionPtr now = shown->Find(ns);
    if (now == nullptr || !Same(*now, *info)) {
      changed.push_back(std::move(info));
    }
  }
  Publish(removed, changed);
  reloaded.RetireRest();
  return Status::Ok();
}

}  // namespace quire::store
