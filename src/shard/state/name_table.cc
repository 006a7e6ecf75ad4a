// SPDX-License-Identifier: Apache-2.0
#include "shard/state/name_table.h"

#include <algorithm>
#include <utility>

#include "base/error_codes.h"
#include "placement/version_fields.h"

namespace quire::shard {

class NameTable::TablePass final : public engine::Sharding::Pass {
 public:
  TablePass(NameTable* table, std::vector<std::string> ids) : table_(table), ids_(std::move(ids)) {}
  ~TablePass() override { table_->Leave(ids_); }

 private:
  NameTable* const table_;
  const std::vector<std::string> ids_;
};

Verdict NameTable::Judge(const std::string& id,
                         const std::optional<placement::ShardVersion>& received) const {
  static const Known kNothing;
  const auto found = entries_.find(id);
  if (found != entries_.end() && found->second.closed) {
    return Verdict::kBlocked;
  }
  const Verdict verdict =
      JudgeVersion(found == entries_.end() ? kNothing : found->second.record.known, received);
  if (verdict == Verdict::kUnknown && found != entries_.end() && found->second.refuted &&
      !found->second.refuted->OlderThan(*received)) {
    return Verdict::kStale;
  }
  return verdict;
}

bool NameTable::HasSharded(const engine::NamespaceVersion& name) const {
  const std::string id = CollectionId(name.ns + (name.whole_database ? "." : ""));
  for (auto found = entries_.lower_bound(id); found != entries_.end(); ++found) {
    if (name.whole_database ? !found->first.starts_with(id) : found->first != id) {
      break;
    }
    if (found->second.record.known.placed.version.sharded) {
      return true;
    }
  }
  return false;
}

Status NameTable::StaleNamespace(const engine::NamespaceVersion& name) const {
  const auto found = entries_.find(CollectionId(name.ns));
  const placement::ShardVersion own = found == entries_.end()
                                          ? placement::ShardVersion()
                                          : found->second.record.known.placed.version;
  bson::Builder extra;
  extra.Append("ns", name.ns);
  placement::AppendVersion("vReceived", *name.shard, &extra);
  placement::AppendVersion("vWanted", own, &extra);
  extra.Append("shardId", shard_);
  return Status(kStaleConfig, "version mismatch detected for " + name.ns)
      .WithExtra(extra.Finish().bytes());
}

Status NameTable::StaleDatabase(const engine::NamespaceVersion& name) const {
  bson::Builder extra;
  extra.Append("db", DatabaseOf(name.ns));
  placement::AppendVersion("vReceived", *name.database, &extra);
  return Status(kStaleDbVersion,
                "database version mismatch detected for " + std::string(DatabaseOf(name.ns)))
      .WithExtra(extra.Finish().bytes());
}

engine::Sharding::Admission NameTable::Admit(std::span<const engine::NamespaceVersion> names,
                                             bool writes, bool direct,
                                             std::vector<Unknown>* unknown) {
  engine::Sharding::Admission admission;
  std::vector<std::string> ids;
  MutexLock lock(mutex_);
  for (const engine::NamespaceVersion& name : names) {
    const std::string database = DatabaseId(DatabaseOf(name.ns));
    std::optional<placement::ShardVersion> database_version;
    if (name.database) {
      database_version = AsVersion(*name.database);
    }
    const Verdict in_database = Judge(database, database_version);
    if (in_database == Verdict::kStale) {
      admission.refused = StaleDatabase(name);
      return admission;
    }
    const std::string id = CollectionId(name.ns);
    const Verdict verdict = Judge(id, name.shard);
    if (verdict == Verdict::kStale) {
      admission.refused = StaleNamespace(name);
      return admission;
    }
    if (in_database == Verdict::kUnknown) {
      unknown->push_back({database, *database_version});
    }
    if (verdict == Verdict::kUnknown) {
      unknown->push_back({id, *name.shard});
    }
    const bool changed = writes || name.writes;
    admission.waits = admission.waits || in_database != Verdict::kRun || verdict != Verdict::kRun;
    if (!name.shard && changed && !direct && HasSharded(name)) {
      admission.refused = Status(
          kUnauthorized,
          "Command on " + name.ns + " needs the role directShardOperations: " +
              (name.whole_database ? "it has sharded collections" : "the collection is sharded") +
              ", and the client is connected to the shard itself");
      return admission;
    }
    if (changed) {
      ids.push_back(database);
      if (!name.whole_database) {
        ids.push_back(id);
      }
    }
  }
  if (!admission.waits && !ids.empty()) {
    for (const std::string& id : ids) {
      Entry& entry = entries_[id];
      entry.record.id = id;
      ++entry.passes;
    }
    admission.pass = std::make_unique<TablePass>(this, std::move(ids));
  }
  return admission;
}

void NameTable::Leave(const std::vector<std::string>& ids) {
  MutexLock lock(mutex_);
  for (const std::string& id : ids) {
    --entries_[id].passes;
  }
  changed_.notify_all();
}

std::shared_ptr<const engine::OwnedPlacement> NameTable::PlacementOf(std::string_view ns) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(CollectionId(ns));
  return found == entries_.end() ? nullptr : found->second.placement;
}

NameRecord NameTable::Get(const std::string& id) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  if (found != entries_.end()) {
    return found->second.record;
  }
  NameRecord none;
  none.id = id;
  return none;
}

std::vector<NameRecord> NameTable::All() const {
  MutexLock lock(mutex_);
  std::vector<NameRecord> all;
  for (const auto& [id, entry] : entries_) {
    all.push_back(entry.record);
  }
  return all;
}

void NameTable::Put(NameRecord record) {
  MutexLock lock(mutex_);
  Entry& entry = entries_[record.id];
  entry.placement = record.placement();
  entry.record = std::move(record);
}

void NameTable::Reset(std::vector<NameRecord> records) {
  MutexLock lock(mutex_);
  for (auto& [id, entry] : entries_) {
    entry.record = NameRecord();
    entry.record.id = id;
    entry.placement = nullptr;
    entry.refuted.reset();
  }
  for (NameRecord& record : records) {
    Entry& entry = entries_[record.id];
    entry.placement = record.placement();
    entry.record = std::move(record);
  }
}

void NameTable::Refute(const std::string& id, const placement::ShardVersion& version) {
  MutexLock lock(mutex_);
  Entry& entry = entries_[id];
  entry.record.id = id;
  if (!entry.refuted || entry.refuted->OlderThan(version)) {
    entry.refuted = version;
  }
}

std::unique_ptr<NameTable::Hold> NameTable::Take(std::vector<std::string> ids,
                                                 std::chrono::milliseconds timeout) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  MutexLock lock(mutex_);
  const bool free = changed_.wait_for(lock.native(), timeout, [&]() QUIRE_REQUIRES(mutex_) {
    return std::none_of(ids.begin(), ids.end(), [&](const std::string& id) QUIRE_REQUIRES(mutex_) {
      return entries_[id].held;
    });
  });
  if (!free) {
    return nullptr;
  }
  for (const std::string& id : ids) {
    Entry& entry = entries_[id];
    entry.record.id = id;
    entry.held = true;
  }
  return std::make_unique<Hold>(this, std::move(ids));
}

NameTable::Hold::~Hold() {
  MutexLock lock(table_->mutex_);
  for (const std::string& id : ids_) {
    table_->entries_[id].held = false;
  }
  table_->changed_.notify_all();
}

bool NameTable::Close(const std::string& id, std::chrono::milliseconds timeout) {
  MutexLock lock(mutex_);
  Entry& entry = entries_[id];
  entry.record.id = id;
  entry.closed = true;
  const bool drained = changed_.wait_for(
      lock.native(), timeout, [&]() QUIRE_REQUIRES(mutex_) { return entry.passes == 0; });
  if (!drained) {
    entry.closed = false;
  }
  return drained;
}

void NameTable::Open(const std::string& id) {
  MutexLock lock(mutex_);
  entries_[id].closed = false;
}

}  // namespace quire::shard
