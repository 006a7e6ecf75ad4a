// SPDX-License-Identifier: Apache-2.0
#include "store/catalog.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "store/log/change_meta.h"
#include "store/log/log_commands.h"
#include "store/log/set_marks.h"
#include "store/records/records.h"
#include "store/schema_change.h"

namespace quire::store {

namespace {

Status NotFound(std::string_view ns) {
  return {kNamespaceNotFound, "ns not found: " + std::string(ns)};
}

Status CheckNotOplog(const CollectionInfo& info) {
  return info.is_oplog
             ? Status(kIllegalOperation, "can't change or drop the live oplog: " + info.ns())
             : Status::Ok();
}

}  // namespace

CollectionPtr CatalogSnapshot::Find(std::string_view ns) const {
  auto it = collections_.find(ns);
  return it == collections_.end() ? nullptr : it->second;
}

std::vector<CollectionPtr> CatalogSnapshot::All() const {
  std::vector<CollectionPtr> all;
  all.reserve(collections_.size());
  for (const auto& [ns, info] : collections_) {
    all.push_back(info);
  }
  return all;
}

std::vector<CollectionPtr> CatalogSnapshot::InDatabase(std::string_view database) const {
  std::string prefix = std::string(database) + ".";
  std::vector<CollectionPtr> found;
  for (auto it = collections_.lower_bound(prefix);
       it != collections_.end() && it->first.starts_with(prefix); ++it) {
    if (it->second->database == database) {  // not the one before an earlier dot of the name
      found.push_back(it->second);
    }
  }
  return found;
}

std::vector<std::string> CatalogSnapshot::Databases() const {
  std::vector<std::string> names;
  for (const auto& [ns, info] : collections_) {
    if (std::find(names.begin(), names.end(), info->database) == names.end()) {
      names.push_back(info->database);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::unique_ptr<Catalog>> Catalog::Open(kv::Store* store) {
  std::unique_ptr<Catalog> catalog(new Catalog(store));
  RETURN_IF_ERROR(catalog->log_.Open());
  RETURN_IF_ERROR(catalog->Load());
  return catalog;
}

std::shared_ptr<const CatalogSnapshot> Catalog::snapshot() const {
  ReaderLock lock(snapshot_mutex_);
  return snapshot_;
}

Status Catalog::Load() {
  ASSIGN_OR_RETURN(auto txn, store_->Begin({.read_only = true}));
  std::vector<std::shared_ptr<CollectionInfo>> found;
  std::string prefix = MetaKey('C', "");
  ASSIGN_OR_RETURN(auto entries,
                   txn->Scan({prefix, kv::PrefixEnd(prefix)}, kv::Direction::kForward));
  while (true) {
    ASSIGN_OR_RETURN(bool more, entries->Next());
    if (!more) {
      break;
    }
    ASSIGN_OR_RETURN(auto document, bson::Document::Parse(std::string(entries->value())));
    ASSIGN_OR_RETURN(auto info, ReadEntry(entries->key().substr(prefix.size()), document));
    found.push_back(std::move(info));
  }
  std::vector<TableId> garbage;
  prefix = MetaKey('D', "");
  ASSIGN_OR_RETURN(auto dropped,
                   txn->Scan({prefix, kv::PrefixEnd(prefix)}, kv::Direction::kForward));
  while (true) {
    ASSIGN_OR_RETURN(bool more, dropped->Next());
    if (!more) {
      break;
    }
    garbage.push_back(ReadTableId(dropped->key().substr(prefix.size())));
  }
  ASSIGN_OR_RETURN(const bool member, WasInSet(*txn));
  for (TableId table : garbage) {
    NoteTable(table);
    member ? ReclaimLater(table) : Reclaim(table);
  }
  for (const auto& info : found) {
    RETURN_IF_ERROR(ReadRuntimeState(info.get()));
  }
  found.push_back(OplogInfo(0));
  Publish({}, found);
  return Status::Ok();
}

void Catalog::SetLog(CollectionInfo* info) {
  info->log = info->view_on.empty() && IsLogged(info->database, info->name) ? &log_ : nullptr;
}

void Catalog::SetLogSize(uint64_t bytes) {
  std::lock_guard lock(change_mutex_);
  Publish({}, {OplogInfo(bytes)});
}

std::shared_ptr<CollectionInfo> Catalog::OplogInfo(uint64_t bytes) {
  // There is one in every server, and never another of its name.
  constexpr Uuid kUuid = {0x9a, 0x5e, 0x1c, 0x40, 0x27, 0xd3, 0x4f, 0x86,
                          0xb1, 0x08, 0x6e, 0x2d, 0x73, 0xc5, 0x90, 0x1f};
  auto info = std::make_shared<CollectionInfo>();
  info->database = "local";
  info->name = "oplog.rs";
  info->is_oplog = true;
  info->state = std::make_shared<CollectionState>(0);
  info->uuid = kUuid;
  info->options = bson::Builder()
                      .Append("capped", true)
                      .Append("size", static_cast<int64_t>(bytes))
                      .Append("autoIndexId", false)
                      .Finish();
  return info;
}

Status Catalog::ReadRuntimeState(CollectionInfo* info) {
  if (info->is_view()) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(auto txn, store_->Begin({.read_only = true}));
  auto counter = [&](char kind) -> Result<int64_t> {
    return txn->ReadCounter(MetaKey(kind, info->table->id));
  };
  ASSIGN_OR_RETURN(int64_t documents, counter('n'));
  ASSIGN_OR_RETURN(int64_t bytes, counter('b'));
  info->state->documents = documents;
  info->state->bytes = bytes;
  RETURN_IF_ERROR(FindLastRecord(*txn, info->state.get()));
  for (const auto& index : info->indexes) {
    std::string prefix = MetaKey('M', index->table->id);
    ASSIGN_OR_RETURN(auto marks,
                     txn->Scan({prefix, kv::PrefixEnd(prefix)}, kv::Direction::kForward));
    while (true) {
      ASSIGN_OR_RETURN(bool more, marks->Next());
      if (!more) {
        break;
      }
      std::string_view mark = marks->key().substr(prefix.size());
      if (mark.front() == kArrayPathMark) {
        index->state->array_paths.Keep(std::string(mark.substr(1)));
        continue;
      }
      auto step = static_cast<unsigned char>(mark.back());
      index->state->multikey_steps |= uint64_t{1} << step;
      index->state->persisted_steps |= uint64_t{1} << step;
    }
  }
  return Status::Ok();
}

Status Catalog::PutNew(kv::Txn& txn, const CollectionInfo& info, const bson::Document& entry,
                       ChangeBuffer* changes) {
  if (changes->notes_undo() && !info.is_view()) {
    constexpr std::string_view kGarbage;
    changes->undo().Key(MetaKey('D', info.table->id), &kGarbage);
    for (const auto& index : info.indexes) {
      changes->undo().Key(MetaKey('D', index->table->id), &kGarbage);
    }
  }
  return PutMeta(txn, MetaKey('C', info.ns()), entry.bytes(), changes);
}

Status Catalog::MarkDropped(kv::Txn& txn, const CollectionInfo& info, ChangeBuffer* changes) {
  if (info.is_view()) {
    return Status::Ok();
  }
  RETURN_IF_ERROR(PutMeta(txn, MetaKey('D', info.table->id), "", changes));
  for (const auto& index : info.indexes) {
    RETURN_IF_ERROR(PutMeta(txn, MetaKey('D', index->table->id), "", changes));
  }
  return Status::Ok();
}

void Catalog::Publish(const std::vector<std::string>& removed,
                      const std::vector<std::shared_ptr<CollectionInfo>>& added) {
  MutexLock publishing(publish_mutex_);
  std::shared_ptr<const CatalogSnapshot> old = snapshot();
  auto next = std::make_shared<CatalogSnapshot>(*old);
  next->version = old->version + 1;
  for (const std::string& ns : removed) {
    if (CollectionPtr gone = old->Find(ns); gone != nullptr && gone->state != nullptr) {
      gone->state->published_version = 0;
    }
    next->collections_.erase(ns);
  }
  for (const auto& info : added) {
    info->version = next->version;
    if (info->state != nullptr) {
      info->state->published_version = info->version;
    }
    next->collections_[info->ns()] = info;
  }
  if (on_publish) {
    on_publish(*old, *next, removed, added);
  }
  WriterLock lock(snapshot_mutex_);
  snapshot_ = std::move(next);
}

std::shared_ptr<CollectionInfo> Catalog::CopyOf(const CollectionInfo& info) {
  auto copy = std::make_shared<CollectionInfo>();
  copy->database = info.database;
  copy->name = info.name;
  copy->uuid = info.uuid;
  copy->options = info.options;
  copy->charge = info.charge;
  copy->indexes = info.indexes;
  copy->building = info.building;
  copy->table = info.table;
  copy->state = info.state;
  copy->clustered = info.clustered;
  copy->capped = info.capped;
  copy->capped_size = info.capped_size;
  copy->capped_max = info.capped_max;
  copy->view_on = info.view_on;
  copy->collator = info.collator;
  copy->context = info.context;
  copy->validate_existing_only_if_valid = info.validate_existing_only_if_valid;
  copy->validate_warn = info.validate_warn;
  copy->keep_images = info.keep_images;
  copy->log = info.log;
  if (info.validator) {
    // Parsed once already, so this cannot fail.
    copy->validator =
        *expr::match::Filter::Parse(info.options["validator"].AsDocument(), &copy->context);
  }
  return copy;
}

void Catalog::NoteTable(TableId table) {
  TableId next = next_table_.load();
  while (next <= table && !next_table_.compare_exchange_weak(next, table + 1)) {
  }
}

Status Catalog::Reserve(const std::string& ns) {
  WriterLock lock(snapshot_mutex_);
  if (snapshot_->Find(ns) != nullptr) {
    return {kNamespaceExists, "Collection " + ns + " already exists."};
  }
  if (!reserved_.insert(ns).second) {
    return {kWriteConflict, "Another transaction is creating " + ns};
  }
  return Status::Ok();
}

void Catalog::Unreserve(const std::string& ns) {
  WriterLock lock(snapshot_mutex_);
  reserved_.erase(ns);
}

Status Catalog::CheckReserved(std::string_view ns) const {
  ReaderLock lock(snapshot_mutex_);
  if (reserved_.find(ns) != reserved_.end()) {
    return {kWriteConflict, "A transaction is creating " + std::string(ns)};
  }
  return Status::Ok();
}

Result<CollectionPtr> Catalog::Create(std::string_view database, std::string_view name,
                                      bson::View options, bson::View id_index_spec,
                                      kv::Durability durability) {
  ASSIGN_OR_RETURN(auto lock, change_mutex_.Acquire());
  std::string ns = std::string(database) + "." + std::string(name);
  if (Find(ns) != nullptr) {
    return Status(kNamespaceExists, "Collection " + ns + " already exists.");
  }
  RETURN_IF_ERROR(CheckReserved(ns));
  bson::Document document = NewEntry(options, id_index_spec);
  ASSIGN_OR_RETURN(auto info, ReadEntry(ns, document));
  ASSIGN_OR_RETURN(auto txn, store_->Begin({}));
  ChangeBuffer changes = log_.NewBuffer();
  RETURN_IF_ERROR(PutNew(*txn, *info, document, &changes));
  info->is_view() ? LogCreateView(*info, &changes) : LogCreate(*info, &changes);
  RETURN_IF_ERROR(log_.Commit(*txn, changes, durability));
  Publish({}, {info});
  return CollectionPtr(info);
}

void Catalog::Retire(const CollectionInfo& info) {
  if (info.is_view()) {
    return;
  }
  info.table->dropped.store(true, std::memory_order_release);
  for (const auto& index : info.indexes) {
    index->table->dropped.store(true, std::memory_order_release);
  }
  info.state->dropped = true;
  info.state->news.Ring();
  info.state->NotifyInsert();
}

Result<SchemaChange> Catalog::BeginChange(std::string_view ns) {
  return SchemaChange::Begin(change_mutex_, [&] { return std::vector<CollectionPtr>{Find(ns)}; });
}

Status Catalog::Drop(std::string_view ns, kv::Durability durability) {
  AbortBuilds({Find(ns)}, "collection dropped");
  ASSIGN_OR_RETURN(auto change, BeginChange(ns));
  CollectionPtr info = Find(ns);
  if (info == nullptr) {
    return NotFound(ns);
  }
  return DropAll({info}, durability, [&](ChangeBuffer* changes) {
    info->is_view() ? LogDropView(*info, changes) : LogDrop(*info, changes);
  });
}

Status Catalog::DropViews(std::string_view database, kv::Durability durability) {
  ASSIGN_OR_RETURN(auto lock, change_mutex_.Acquire());
  std::vector<CollectionPtr> views = snapshot()->InDatabase(database);
  std::erase_if(views, [](const auto& info) { return !info->is_view() || info->is_oplog; });
  if (views.empty()) {
    return NotFound(std::string(database) + ".system.views");
  }
  return DropAll(views, durability, [&](ChangeBuffer* changes) {
    LogDropViews(database, std::ssize(views), changes);
  });
}

Status Catalog::DropDatabase(std::string_view database, kv::Durability durability) {
  auto collections = [&] { return snapshot()->InDatabase(database); };
  AbortBuilds(collections(), "collection dropped");
  ASSIGN_OR_RETURN(auto change, SchemaChange::Begin(change_mutex_, collections));
  std::vector<CollectionPtr> all = collections();
  if (all.empty()) {
    return Status::Ok();
  }
  return DropAll(all, durability, [&](ChangeBuffer* changes) {
    for (const CollectionPtr& info : all) {
      LogDrop(*info, changes);
    }
    LogDropDatabase(database, changes);
  });
}

Status Catalog::DropAll(const std::vector<CollectionPtr>& all, kv::Durability durability,
                        const std::function<void(ChangeBuffer*)>& note) {
  std::vector<std::string> removed;
  ASSIGN_OR_RETURN(auto txn, store_->Begin({}));
  ChangeBuffer changes = log_.NewBuffer();
  for (const CollectionPtr& info : all) {
    RETURN_IF_ERROR(CheckNotOplog(*info));
    removed.push_back(info->ns());
    RETURN_IF_ERROR(DeleteMeta(*txn, MetaKey('C', info->ns()), &changes));
    RETURN_IF_ERROR(MarkDropped(*txn, *info, &changes));
  }
  note(&changes);
  RETURN_IF_ERROR(log_.Commit(*txn, changes, durability));
  Publish(removed, {});
  for (const CollectionPtr& info : all) {
    Retire(*info);
  }
  return Status::Ok();
}

Status Catalog::Rename(std::string_view from, std::string_view to, bool drop_target,
                       kv::Durability durability) {
  if (drop_target) {
    AbortBuilds({Find(to)}, "collection dropped");
  }
  ASSIGN_OR_RETURN(auto change, SchemaChange::Begin(change_mutex_, [&] {
                     return std::vector<CollectionPtr>{Find(from), Find(to)};
                   }));
  CollectionPtr source = Find(from);
  if (source == nullptr) {
    return {kNamespaceNotFound, "Source collection " + std::string(from) + " does not exist"};
  }
  RETURN_IF_ERROR(CheckNotOplog(*source));
  CollectionPtr target = Find(to);
  if (target != nullptr) {
    RETURN_IF_ERROR(CheckNotOplog(*target));
  }
  if (target != nullptr && !drop_target) {
    return {kNamespaceExists, "target namespace exists"};
  }
  if (!source->building.empty()) {
    return {kBackgroundOperationInProgressForNamespace,
            "cannot perform operation: an index build is currently running for collection '" +
                source->ns() + "'"};
  }
  RETURN_IF_ERROR(CheckReserved(to));
  ASSIGN_OR_RETURN(auto txn, store_->Begin({}));
  ChangeBuffer changes = log_.NewBuffer();
  if (target != nullptr) {
    RETURN_IF_ERROR(MarkDropped(*txn, *target, &changes));
  }
  auto moved = CopyOf(*source);
  size_t dot = to.find('.');
  moved->database = to.substr(0, dot);
  moved->name = to.substr(dot + 1);
  SetLog(moved.get());
  RETURN_IF_ERROR(DeleteMeta(*txn, MetaKey('C', from), &changes));
  RETURN_IF_ERROR(PutEntry(*txn, *moved, &changes));
  LogRename(*source, *moved, target.get(), &changes);
  RETURN_IF_ERROR(log_.Commit(*txn, changes, durability));
  Publish({std::string(from)}, {moved});
  if (target != nullptr) {
    Retire(*target);
  }
  return Status::Ok();
}

Status Catalog::SetOptions(std::string_view ns, bson::View options, bson::View command,
                           kv::Durability durability) {
  ASSIGN_OR_RETURN(auto change, BeginChange(ns));
  CollectionPtr info = Find(ns);
  if (info == nullptr) {
    return NotFound(ns);
  }
  RETURN_IF_ERROR(CheckNotOplog(*info));
  bson::Builder entry;
  entry.Append("uuid",
               bson::Value::Binary({reinterpret_cast<const char*>(info->uuid.data()), 16}, 4));
  entry.Append("table", int64_t{0}).Append("options", options).BeginArray("indexes").End();
  bson::Document document = entry.Finish();
  ASSIGN_OR_RETURN(auto changed, ReadEntry(ns, document));
  changed->table = info->table;
  changed->state = info->state;
  changed->indexes = info->indexes;
  changed->building = info->building;
  ASSIGN_OR_RETURN(auto txn, store_->Begin({}));
  ChangeBuffer changes = log_.NewBuffer();
  RETURN_IF_ERROR(PutEntry(*txn, *changed, &changes));
  if (info->is_view()) {
    LogModifyView(*changed, &changes);
  } else {
    LogModify(*info, command, nullptr, &changes);
  }
  RETURN_IF_ERROR(log_.Commit(*txn, changes, durability));
  Publish({}, {changed});
  return Status::Ok();
}

Status Catalog::SetIndexSpec(std::string_view ns, std::string_view index_name, bson::View spec,
                             bson::View command, kv::Durability durability) {
  ASSIGN_OR_RETURN(auto change, BeginChange(ns));
  CollectionPtr info = Find(ns);
  const IndexInfo* old = info ? info->FindIndex(index_name) : nullptr;
  if (old == nullptr) {
    return {kIndexNotFound,
            "cannot find index " + std::string(index_name) + " for ns " + std::string(ns)};
  }
  auto changed = CopyOf(*info);
  for (auto& index : changed->indexes) {
    if (index.get() == old) {
      ASSIGN_OR_RETURN(auto made, MakeIndex(spec, old->table->id, *info));
      made->table = old->table;
      made->state = old->state;
      made->keys_have_ids = old->keys_have_ids;
      if (made->hidden != old->hidden) {
        made->state->accesses = 0;
      }
      index = std::move(made);
    }
  }
  ASSIGN_OR_RETURN(auto txn, store_->Begin({}));
  ChangeBuffer changes = log_.NewBuffer();
  RETURN_IF_ERROR(PutEntry(*txn, *changed, &changes));
  LogModify(*info, command, old, &changes);
  RETURN_IF_ERROR(log_.Commit(*txn, changes, durability));
  Publish({}, {changed});
  return Status::Ok();
}

}  // namespace quire::store
