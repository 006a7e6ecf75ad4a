// SPDX-License-Identifier: Apache-2.0
//
// The catalog's part of making and removing indexes.
#include <algorithm>
#include <limits>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"
#include "store/build/index_build.h"
#include "store/collection.h"
#include "store/log/change_meta.h"
#include "store/log/log_commands.h"
#include "store/schema_change.h"

namespace quire::store {

// An index build under way.
struct Catalog::Build {
  std::string ns;
  CollectionPtr info;  // when it began
  std::vector<std::shared_ptr<IndexInfo>> made;
  std::unique_ptr<kv::Txn> snapshot;  // of the moment from which writers leave notes
};

namespace {

// For as long as the build lasts, however it ends.
class Reported {
 public:
  Reported(BuildTable* table, const OpContext& op) : table_(table), op_(op) {}
  ~Reported() { table_->Remove(op_); }
  Reported(const Reported&) = delete;
  Reported& operator=(const Reported&) = delete;

 private:
  BuildTable* table_;
  const OpContext& op_;
};

// Larger collections are built while they are written, however few documents they have: nothing
// else may change in the catalog while one is built otherwise.
constexpr int64_t kOnlineBuildBytes = 4 << 20;

constexpr char kDropIndexes[] = "dropIndexes command";

Status Busy(std::string_view ns) {
  return {kBackgroundOperationInProgressForNamespace,
          "cannot perform operation: an index build is currently running for collection '" +
              std::string(ns) + "'"};
}

}  // namespace

Status Catalog::CreateIndexes(OpContext& op, std::string_view ns,
                              const std::vector<NewIndex>& indexes, kv::Durability durability) {
  Reported reported(&builds_, op);
  Build build;
  build.ns = ns;
  ASSIGN_OR_RETURN(bool done, StartBuild(op, indexes, durability, &build));
  if (done) {
    return Status::Ok();
  }
  log::Info("INDEX", "Index build: starting",
            {{"namespace", build.ns},
             {"indexes", build.made.size()},
             {"documents", build.info->state->documents.load()}});
  auto started = std::chrono::steady_clock::now();
  Status built = LoadKeys(op, *store_, *build.snapshot, *build.info, build.made, &builds_);
  build.snapshot.reset();
  if (built.ok()) {
    built = FinishBuild(op, build, durability);
  }
  if (!built.ok()) {
    AbandonBuild(*build.info, *build.made.front()->build);
  }
  auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(
                    std::chrono::steady_clock::now() - started)
                    .count();
  log::Info("INDEX", built.ok() ? "Index build: done building" : "Index build: failed",
            {{"namespace", build.ns},
             {"durationMillis", static_cast<int64_t>(millis)},
             {"error", built.ok() ? std::string() : built.message()}});
  return built;
}

Status Catalog::MakeBuild(const std::vector<NewIndex>& indexes, bool online, Build* build) {
  ASSIGN_OR_RETURN(auto marking, store_->Begin({}));
  for (const NewIndex& index : indexes) {
    TableId table = NewTable();
    ASSIGN_OR_RETURN(auto made, MakeIndex(index.spec, table, *build->info));
    made->table->dropped = true;  // until it is published
    RETURN_IF_ERROR(marking->Put(MetaKey('D', table), ""));
    if (online) {
      made->build = std::make_shared<IndexBuild>();
      made->build->notes = std::make_shared<TableGuard>(this, NewTable());
      made->build->notes->dropped = true;
      RETURN_IF_ERROR(marking->Put(MetaKey('D', made->build->notes->id), ""));
    }
    build->made.push_back(std::move(made));
  }
  return marking->Commit(kv::Durability::kProcess);
}

Result<bool> Catalog::StartBuild(OpContext& op, const std::vector<NewIndex>& indexes,
                                 kv::Durability durability, Build* build) {
  ASSIGN_OR_RETURN(auto change, BeginChange(build->ns));
  build->info = Find(build->ns);
  if (build->info == nullptr) {
    return Status(kNamespaceNotFound, "ns not found: " + build->ns);
  }
  bool there = std::any_of(indexes.begin(), indexes.end(), [&](const NewIndex& index) {
    return build->info->FindIndex(index.spec["name"].AsString()) != nullptr;
  });
  if (there || !build->info->building.empty()) {
    return Busy(build->ns);
  }
  const CollectionState& state = *build->info->state;
  bool online = state.documents > online_build_documents_ || state.bytes > kOnlineBuildBytes;
  RETURN_IF_ERROR(MakeBuild(indexes, online, build));
  ASSIGN_OR_RETURN(build->snapshot, store_->Begin({.read_only = true}));
  if (!online) {
    RETURN_IF_ERROR(LoadKeys(op, *store_, *build->snapshot, *build->info, build->made, &builds_));
    RETURN_IF_ERROR(PublishBuilt(*build->info, *build, durability));
    return true;
  }
  auto changed = CopyOf(*build->info);
  changed->building.assign(build->made.begin(), build->made.end());
  Publish({}, {changed});
  return false;
}

Status Catalog::FinishBuild(OpContext& op, Build& build, kv::Durability durability) {
  constexpr int64_t kFew = 200;
  constexpr int kMostRounds = 20;
  builds_.Set(op, {"draining writes received during build", 0, 0});
  auto check = [&] { return CheckBuild(op, *build.info, build.made); };
  int64_t before = std::numeric_limits<int64_t>::max();
  for (int round = 0; round < kMostRounds; ++round) {
    int64_t applied = 0;
    for (const auto& index : build.made) {
      ASSIGN_OR_RETURN(int64_t n, ApplyNotes(*store_, *build.info, *index, check));
      applied += n;
    }
    if (applied < kFew || applied > before) {  // done, or the writers are faster
      break;
    }
    before = applied;
  }
  auto collection = [&] { return std::vector<CollectionPtr>{Find(build.ns)}; };
  ASSIGN_OR_RETURN(auto change, SchemaChange::Begin(change_mutex_, collection, check));
  RETURN_IF_ERROR(check());
  CollectionPtr current = Find(build.ns);
  if (current == nullptr || current->state != build.info->state) {
    return {kIndexBuildAborted, "Index build aborted: collection replaced: " + build.ns};
  }
  for (const auto& index : build.made) {
    RETURN_IF_ERROR(ApplyNotes(*store_, *build.info, *index, check).status());
  }
  return PublishBuilt(*current, build, durability);
}

Status Catalog::PublishBuilt(const CollectionInfo& current, const Build& build,
                             kv::Durability durability) {
  auto changed = CopyOf(current);
  changed->building.clear();
  ASSIGN_OR_RETURN(auto txn, store_->Begin({}));
  ChangeBuffer changes = log_.NewBuffer();
  for (const auto& made : build.made) {
    ASSIGN_OR_RETURN(auto index, MakeIndex(made->spec, made->table->id, current));
    index->table = made->table;
    index->state = made->state;
    RETURN_IF_ERROR(DeleteMeta(*txn, MetaKey('D', made->table->id), &changes));
    RETURN_IF_ERROR(
        PutMultikeyMarks(*txn, *made, made->state->multikey_steps, made->state->array_paths.All()));
    changed->indexes.push_back(std::move(index));
  }
  RETURN_IF_ERROR(PutEntry(*txn, *changed, &changes));
  LogCreateIndexes(current, build.made, &changes);
  RETURN_IF_ERROR(log_.Commit(*txn, changes, durability));
  for (const auto& made : build.made) {
    made->table->dropped = false;
    made->state->persisted_steps = made->state->multikey_steps.load();
    for (const std::string& path : made->state->array_paths.All()) {
      made->state->array_paths.Keep(path);
    }
  }
  Publish({}, {changed});
  return Status::Ok();
}

// Writers need not be kept out: those that still leave notes keep the notes' table.
void Catalog::AbandonBuild(const CollectionInfo& info, const IndexBuild& build) {
  std::lock_guard lock(change_mutex_);
  CollectionPtr current = Find(info.ns());
  if (current == nullptr || current->state != info.state || current->building.empty() ||
      current->building.front()->build.get() != &build) {
    return;
  }
  auto changed = CopyOf(*current);
  changed->building.clear();
  Publish({}, {changed});
}

void Catalog::AbortBuilds(const std::vector<CollectionPtr>& collections, const char* why) {
  for (const CollectionPtr& info : collections) {
    if (info != nullptr) {
      for (const auto& index : info->building) {
        index->build->aborted = why;
      }
    }
  }
}

std::vector<std::string> Catalog::EndBuilds(std::string_view ns, std::vector<std::string> names) {
  CollectionPtr info = Find(ns);
  auto building = [&](const std::string& name) {
    return info != nullptr && std::any_of(info->building.begin(), info->building.end(),
                                          [&](const auto& index) { return index->name == name; });
  };
  if (std::none_of(names.begin(), names.end(), building)) {
    return names;
  }
  AbortBuilds({info}, kDropIndexes);  // the indexes of one build come and go together
  AbandonBuild(*info, *info->building.front()->build);
  CollectionPtr now = Find(ns);
  std::erase_if(names, [&](const std::string& name) {
    bool finished = now != nullptr && now->FindIndex(name) != nullptr;
    return building(name) && !finished;
  });
  return names;
}

Status Catalog::DropIndexes(std::string_view ns, const std::vector<std::string>& names,
                            kv::Durability durability) {
  std::vector<std::string> built = EndBuilds(ns, names);
  if (built.empty()) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(auto change, BeginChange(ns));
  CollectionPtr info = Find(ns);
  if (info == nullptr) {
    return {kNamespaceNotFound, "ns not found: " + std::string(ns)};
  }
  auto changed = CopyOf(*info);
  std::vector<std::shared_ptr<const IndexInfo>> gone;
  ChangeBuffer changes = log_.NewBuffer();
  ASSIGN_OR_RETURN(auto txn, store_->Begin({}));
  for (const std::string& name : built) {
    auto named = [&](const auto& index) { return index->name == name; };
    auto it = std::find_if(changed->indexes.begin(), changed->indexes.end(), named);
    if (it != changed->indexes.end()) {
      RETURN_IF_ERROR(PutMeta(*txn, MetaKey('D', (*it)->table->id), "", &changes));
      gone.push_back(*it);
      changed->indexes.erase(it);
      LogDropIndex(*info, *gone.back(), &changes);
    } else if (std::any_of(info->building.begin(), info->building.end(), named)) {
      AbortBuilds({info}, kDropIndexes);  // begun a moment ago
      changed->building.clear();
    } else {
      return {kIndexNotFound, "index not found with name [" + name + "]"};
    }
  }
  RETURN_IF_ERROR(PutEntry(*txn, *changed, &changes));
  RETURN_IF_ERROR(log_.Commit(*txn, changes, durability));
  Publish({}, {changed});
  for (const auto& index : gone) {
    index->table->dropped.store(true, std::memory_order_release);
  }
  return Status::Ok();
}

}  // namespace quire::store
