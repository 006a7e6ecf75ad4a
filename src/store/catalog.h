// SPDX-License-Identifier: Apache-2.0
//
// The catalog: which collections and indexes exist, where their tables are. Readers take an
// immutable snapshot; every change commits one storage transaction and then publishes a new
// snapshot. Dropped tables are reclaimed when the last snapshot that shows them is gone; a marker
// in the store makes that happen at the next start if the process dies first. In a replica set they
// stay until the change that dropped them is committed: it may have to be undone.
//
// A catalog entry is {uuid, table, options, indexes: [{spec, table, plain}]}; `plain` stands for an
// index that became unique after it was made and keeps the entries of one that is not.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/interruptible_mutex.h"
#include "base/mutex.h"
#include "kv/kv.h"
#include "quire/bson.h"
#include "store/build/build_table.h"
#include "store/collection_info.h"
#include "store/layout.h"
#include "store/log/change_log.h"

namespace quire::store {

class SchemaChange;

// Everything there is at one moment. Immutable.
struct CatalogSnapshot {
  uint64_t version = 0;

  // Null when there is none.
  CollectionPtr Find(std::string_view ns) const;
  // Ordered by namespace; they outlive the snapshot.
  std::vector<CollectionPtr> All() const;
  std::vector<CollectionPtr> InDatabase(std::string_view database) const;
  std::vector<std::string> Databases() const;

 private:
  friend class Catalog;
  std::map<std::string, CollectionPtr, std::less<>> collections_;  // by namespace
};

// An index to be made: its spec as stored, already validated and normalised.
struct NewIndex {
  bson::Document spec;
};

// Among the options of a new collection: the uuid it gets, binary. Not kept with them.
inline constexpr std::string_view kUuidOption = "uuid";

// Safe for concurrent use; changes are serialised inside.
class Catalog {
 public:
  // Reads the catalog and reclaims what an earlier process left behind. `store` outlives it.
  static Result<std::unique_ptr<Catalog>> Open(kv::Store* store);

  std::shared_ptr<const CatalogSnapshot> snapshot() const;
  CollectionPtr Find(std::string_view ns) const { return snapshot()->Find(ns); }

  // How large the change log may get, as local.oplog.rs shows it.
  void SetLogSize(uint64_t bytes);

  // All changes below are atomic: after a crash each is there whole or not at all.

  // NamespaceExists when it is there already. `options` without viewOn makes a collection with an
  // _id index of `id_index_spec`.
  Result<CollectionPtr> Create(std::string_view database, std::string_view name, bson::View options,
                               bson::View id_index_spec, kv::Durability durability);
  // NamespaceNotFound when it is not there.
  Status Drop(std::string_view ns, kv::Durability durability);
  // Drops the database's system.views, that is all its views. NamespaceNotFound without any.
  Status DropViews(std::string_view database, kv::Durability durability);
  Status DropDatabase(std::string_view database, kv::Durability durability);
  Status Rename(std::string_view from, std::string_view to, bool drop_target,
                kv::Durability durability);
  // `command` is what the change log is told (collMod without its first field).
  Status SetOptions(std::string_view ns, bson::View options, bson::View command,
                    kv::Durability durability);
  // Replaces the stored spec of one index (collMod); `command` as above.
  Status SetIndexSpec(std::string_view ns, std::string_view index_name, bson::View spec,
                      bson::View command, kv::Durability durability);
  // Builds the indexes over the present documents, while these are read and written, then publishes
  // them. BackgroundOperationInProgressForNamespace while another build of the collection is under
  // way, or when one has just made an index of that name.
  Status CreateIndexes(OpContext& op, std::string_view ns, const std::vector<NewIndex>& indexes,
                       kv::Durability durability);
  // Ends the build of those that are being built.
  Status DropIndexes(std::string_view ns, const std::vector<std::string>& names,
                     kv::Durability durability);
  // Ends the builds of these (pointers may be null), also those that wait for a transaction. `why`
  // stays for ever.
  static void AbortBuilds(const std::vector<CollectionPtr>& collections, const char* why);
  const BuildTable& builds() const { return builds_; }
  // Collections of up to so many documents (and few bytes) are built with writers kept out: that is
  // quicker.
  void set_online_build_documents(int64_t documents) { online_build_documents_ = documents; }

  // Reads all entries again, after some were undone. What is in use goes on where it is the same.
  Status Reload();
  // In a replica set: what was dropped up to that time goes for good.
  void ReclaimDropped(uint64_t commit);
  // Reclaims dropped tables that the log refers to, a part of one at least and on until `stop`:
  // their documents are written into the log, which is cut when it gets larger than `most` bytes by
  // it (0: no bound) or the disk has no room. What fails is tried again by the next call; the first
  // error.
  Status ReclaimReferred(uint64_t most, const std::function<bool()>& stop);

  kv::Store& store() { return *store_; }
  ChangeLog& log() { return log_; }

  // Told of every change, on the thread that makes it, before others see it. Set before there are
  // others.
  std::function<void(const CatalogSnapshot& before, const CatalogSnapshot& after,
                     const std::vector<std::string>& removed,
                     const std::vector<std::shared_ptr<CollectionInfo>>& added)>
      on_publish;

 private:
  friend class TableGuard;
  friend class PendingCollection;
  explicit Catalog(kv::Store* store) : store_(store), log_(store) {}

  Status Load();
  Result<std::shared_ptr<CollectionInfo>> ReadEntry(std::string_view ns, bson::View entry);
  Result<std::shared_ptr<IndexInfo>> MakeIndex(bson::View spec, TableId table,
                                               const CollectionInfo& collection);
  Status ReadRuntimeState(CollectionInfo* info);
  // Now, or later: in a replica set, where the log refers to the table, or when it fails.
  void Reclaim(TableId table);
  Status ReclaimNow(TableId table);
  // A dropped table that the log refers to.
  struct Referred {
    TableId table = 0;
    std::string end;  // how far it is written out (ChangeLog::WriteOutTable)
  };
  // Whether it is reclaimed.
  Result<bool> ReclaimReferred(Referred* referred, uint64_t most,
                               const std::function<bool()>& stop);
  void ReclaimLater(TableId table);
  TableId NewTable() { return next_table_.fetch_add(1); }
  // Tables up to `table` are taken.
  void NoteTable(TableId table);
  // The catalog entry of a new collection or view.
  bson::Document NewEntry(bson::View options, bson::View id_index_spec);
  // Keeps a name for a transaction that creates it: WriteConflict when another one does,
  // NamespaceExists when it is there.
  Status Reserve(const std::string& ns);
  void Unreserve(const std::string& ns);
  // WriteConflict when a transaction keeps the name.
  Status CheckReserved(std::string_view ns) const;
  Status PutEntry(kv::Txn& txn, const CollectionInfo& info, ChangeBuffer* changes);
  // The entry of a new collection.
  static Status PutNew(kv::Txn& txn, const CollectionInfo& info, const bson::Document& entry,
                       ChangeBuffer* changes);
  // The locks of a change of that collection, if it is there.
  Result<SchemaChange> BeginChange(std::string_view ns);
  // Drops them in one change, of which `note` tells the log. REQUIRES: their
  // change has begun.
  Status DropAll(const std::vector<CollectionPtr>& all, kv::Durability durability,
                 const std::function<void(ChangeBuffer*)>& note);
  static Status MarkDropped(kv::Txn& txn, const CollectionInfo& info, ChangeBuffer* changes);
  // Marks a collection's run-time objects as gone once its removal is committed.
  static void Retire(const CollectionInfo& info);
  // Gives entries that were read again the run-time objects of those that are shown now.
  class Reloaded;
  // Sets what depends on the collection's name: whether the change log is told.
  void SetLog(CollectionInfo* info);
  // The entry of local.oplog.rs.
  static std::shared_ptr<CollectionInfo> OplogInfo(uint64_t bytes);
  // Publishes a snapshot with `removed` gone and `added` there.
  void Publish(const std::vector<std::string>& removed,
               const std::vector<std::shared_ptr<CollectionInfo>>& added);
  struct Build;
  Status MakeBuild(const std::vector<NewIndex>& indexes, bool online, Build* build);
  // True: the collection was small and all is done.
  Result<bool> StartBuild(OpContext& op, const std::vector<NewIndex>& indexes,
                          kv::Durability durability, Build* build);
  Status FinishBuild(OpContext& op, Build& build, kv::Durability durability);
  Status PublishBuilt(const CollectionInfo& current, const Build& build, kv::Durability durability);
  // Writers leave no more notes for the build, if it is still under way.
  void AbandonBuild(const CollectionInfo& info, const IndexBuild& build);
  // Ends the builds of those of `names` that are being built; gives the others.
  std::vector<std::string> EndBuilds(std::string_view ns, std::vector<std::string> names);
  std::shared_ptr<CollectionInfo> CopyOf(const CollectionInfo& info);

  kv::Store* const store_;
  ChangeLog log_;
  InterruptibleMutex change_mutex_;  // one change at a time; taken after the collections' gates
  std::atomic<TableId> next_table_{1};
  Mutex publish_mutex_;  // one snapshot at a time is made from the one before
  BuildTable builds_;
  struct Garbage {
    TableId table;
    uint64_t dropped;  // not after this time
  };
  Mutex garbage_mutex_;
  std::vector<Garbage> garbage_ QUIRE_GUARDED_BY(garbage_mutex_);
  std::deque<Referred> referred_ QUIRE_GUARDED_BY(garbage_mutex_);  // garbage to be tried (again)
  std::atomic<int64_t> online_build_documents_{2000};
  mutable SharedMutex snapshot_mutex_;
  std::set<std::string, std::less<>> reserved_ QUIRE_GUARDED_BY(snapshot_mutex_);
  std::shared_ptr<const CatalogSnapshot> snapshot_ QUIRE_GUARDED_BY(snapshot_mutex_) =
      std::make_shared<CatalogSnapshot>();
};

}  // namespace quire::store
