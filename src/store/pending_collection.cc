// SPDX-License-Identifier: Apache-2.0
#include "store/pending_collection.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "store/log/log_commands.h"

namespace quire::store {

namespace {

// Until it is published nothing of it may stay in the store.
void SetDropped(const CollectionInfo& info, bool dropped) {
  info.table->dropped = dropped;
  for (const auto& index : info.indexes) {
    index->table->dropped = dropped;
  }
}

}  // namespace

Result<std::unique_ptr<PendingCollection>> PendingCollection::Create(
    Catalog& catalog, Transaction& txn, std::string_view database, std::string_view name,
    bson::View options, bson::View id_index_spec) {
  std::string ns = std::string(database) + "." + std::string(name);
  RETURN_IF_ERROR(catalog.Reserve(ns));
  std::unique_ptr<PendingCollection> pending(new PendingCollection(&catalog, ns));
  bson::Document entry = catalog.NewEntry(options, id_index_spec);
  ASSIGN_OR_RETURN(*pending->info_, catalog.ReadEntry(ns, entry));
  SetDropped(**pending->info_, true);
  ChangeBuffer& changes = txn.changes(catalog.log());
  RETURN_IF_ERROR(Catalog::PutNew(txn.kv(), **pending->info_, entry, &changes));
  txn.MarkWrote();
  LogCreate(**pending->info_, &changes);
  txn.OnCommit([&catalog, info = pending->info_] {
    SetDropped(**info, false);
    catalog.Publish({}, {*info});
  });
  return pending;
}

PendingCollection::~PendingCollection() { catalog_->Unreserve(ns_); }

Status PendingCollection::AddIndexes(Transaction& txn, const std::vector<NewIndex>& indexes) {
  auto changed = catalog_->CopyOf(**info_);
  std::vector<std::shared_ptr<IndexInfo>> made;
  for (const NewIndex& index : indexes) {
    ASSIGN_OR_RETURN(auto one, catalog_->MakeIndex(index.spec, catalog_->NewTable(), *changed));
    changed->indexes.push_back(one);
    made.push_back(std::move(one));
  }
  ChangeBuffer& changes = txn.changes(catalog_->log());
  LogCreateIndexes(*changed, made, &changes);
  SetDropped(*changed, true);
  RETURN_IF_ERROR(catalog_->PutEntry(txn.kv(), *changed, &changes));
  *info_ = std::move(changed);
  return Status::Ok();
}

}  // namespace quire::store
