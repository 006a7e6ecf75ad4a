// SPDX-License-Identifier: Apache-2.0
#include "engine/replica/apply.h"

#include <chrono>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "engine/replica/log_slots.h"
#include "engine/schema/schema.h"
#include "expr/update/patch.h"
#include "store/collection.h"
#include "store/log/change_meta.h"
#include "store/log/note.h"

namespace quire::engine {

namespace {

using store::Change;

constexpr size_t kMostOperations = 2000;
constexpr size_t kMostBytes = size_t{8} << 20;
constexpr uint64_t kRecordsPerOperation = 16;  // a place for undo records; those are large

Status Diverged(const Change& change, const std::string& what) {
  return {kInternalError, "The log does not fit the data of " + std::string(change.ns) + ": " +
                              what + " at " + std::to_string(store::PackTime(change.time))};
}

bool OfViews(const Change& change) {
  return change.ns.ends_with(".system.views") &&
         change.ns.find('.') == change.ns.size() - std::string_view(".system.views").size();
}

bool IsSchema(const Change& change) {
  return change.kind == 'c' ||
         (OfViews(change) && (change.kind == 'i' || change.kind == 'r' || change.kind == 'd'));
}

std::string_view BytesOf(const store::Uuid& uuid) {
  return {reinterpret_cast<const char*>(uuid.data()), uuid.size()};
}

// Whether what is written at that time is younger than `window`.
bool IsWithin(std::chrono::seconds window, int64_t wall_millis) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return now - std::chrono::milliseconds(wall_millis) <= window;
}

std::pair<std::string_view, std::string_view> Split(std::string_view ns) {
  const size_t dot = ns.find('.');
  return {ns.substr(0, dot), ns.substr(dot + 1)};
}

}  // namespace

ApplyBatch::ApplyBatch(Engine& engine, uint64_t commit, store::AppliedMark* mark)
    : engine_(engine),
      commit_(commit),
      mark_(mark),
      scope_(engine.log(),
             [this](kv::Txn& txn, store::ChangeBuffer& buffer) { return WriteMark(txn, buffer); }),
      next_(*mark) {}

bool ApplyBatch::full() const { return operations_ >= kMostOperations || bytes_ >= kMostBytes; }

Status ApplyBatch::Run(uint64_t up_to) {
  ASSIGN_OR_RETURN(auto slots, SlotCursor::Open(engine_.store(), mark_->applied));
  LogSlot slot;
  while (!full()) {
    ASSIGN_OR_RETURN(const bool more, slots->Next(&slot));
    if (!more || slot.at.time > up_to) {
      break;
    }
    const bool undo = slot.at.time > commit_;
    if (undo != scope_.notes_undo) {
      RETURN_IF_ERROR(Commit());
      scope_.notes_undo = undo;
    }
    RETURN_IF_ERROR(ApplySlot(slot));
    if (std::exchange(keeps_snapshot_, false)) {
      RETURN_IF_ERROR(Commit());
      RETURN_IF_ERROR(engine_.snapshots().Now().status());
    }
  }
  return Commit();
}

Status ApplyBatch::ApplySlot(const LogSlot& slot) {
  slot_time_ = slot.at.time;
  const uint64_t done = next_.operations;  // of this slot, before
  part_begin_ = done;
  uint64_t number = 0;
  const std::string prefix = store::MetaKey(store::kLogKind, "");
  for (const LogSlot::Group& group : slot.groups) {
    store::GroupReader reader;
    const std::string key = prefix + group.key;
    RETURN_IF_ERROR(reader.Open(key, group.value));
    bytes_ += group.value.size();
    Change change;
    while (!reader.done()) {
      RETURN_IF_ERROR(reader.Next(&change));
      if (number++ < done) {
        continue;
      }
      ++operations_;
      if (!IsSchema(change)) {
        RETURN_IF_ERROR(ApplyData(change, reader.header().count >= store::kManyInserts));
        next_.operations = number;
        continue;
      }
      RETURN_IF_ERROR(Commit());
      next_.operations = number;
      RETURN_IF_ERROR(ApplySchema(change));
      part_begin_ = number;
    }
  }
  RETURN_IF_ERROR(BeginTransaction());  // at least the mark moves
  RETURN_IF_ERROR(WriteUndo(txn_->kv(), txn_->changes(engine_.log())));
  next_.applied = slot.at.time;
  next_.operations = 0;
  if (!scope_.notes_undo) {
    next_.undo_begin = slot.at.time;
  }
  return Status::Ok();
}

Status ApplyBatch::BeginTransaction() {
  if (txn_ != nullptr) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(txn_, store::Transaction::Begin(engine_.store(), false));
  (void)txn_->changes(engine_.log());  // so that it commits through the log
  return Status::Ok();
}

Status ApplyBatch::WriteUndo(kv::Txn& txn, store::ChangeBuffer& buffer) {
  RETURN_IF_ERROR(buffer.undo().ForEachRecord([&](uint32_t record, std::string_view bytes) {
    const auto place = static_cast<uint32_t>(part_begin_ * kRecordsPerOperation + record);
    return txn.Put(store::UndoKey(slot_time_, place), bytes);
  }));
  buffer.Clear();
  return Status::Ok();
}

Result<uint64_t> ApplyBatch::WriteMark(kv::Txn& txn, store::ChangeBuffer& buffer) {
  RETURN_IF_ERROR(WriteUndo(txn, buffer));
  RETURN_IF_ERROR(store::WriteApplied(txn, next_));
  return next_.applied;
}

Status ApplyBatch::Commit() {
  if (txn_ == nullptr) {
    return Status::Ok();
  }
  RETURN_IF_ERROR(txn_->Commit(kv::Durability::kProcess));
  txn_.reset();
  *mark_ = next_;
  part_begin_ = next_.operations;
  if (engine_.on_replicated) {
    for (const std::string& ns : touched_) {
      engine_.on_replicated(ns);
    }
  }
  touched_.clear();
  return Status::Ok();
}

Result<store::CollectionPtr> ApplyBatch::CollectionOf(const Change& change) {
  store::CollectionPtr info = engine_.catalog().Find(change.ns);
  if (info == nullptr || info->is_view() || BytesOf(info->uuid) != change.uuid) {
    return Diverged(change, "there is no such collection");
  }
  RETURN_IF_ERROR(txn_->Hold(info->state));
  return info;
}

Status ApplyBatch::ApplyData(const Change& change, bool one_of_many) {
  if (change.kind == 'n' || change.kind == 'v') {
    // One that nobody may read any more is met while catching up.
    const std::chrono::seconds window(engine_.snapshot_window_seconds.load());
    keeps_snapshot_ =
        keeps_snapshot_ || (store::KeepsSnapshot(change) && IsWithin(window, change.wall_millis));
    return Status::Ok();
  }
  RETURN_IF_ERROR(BeginTransaction());
  txn_->MarkWrote();
  if (change.kind == 'S') {
    store::ChangeBuffer& changes = txn_->changes(engine_.log());
    return change.session_value.empty()
               ? store::DeleteMeta(txn_->kv(), change.session_key, &changes)
               : store::PutMeta(txn_->kv(), change.session_key, change.session_value, &changes);
  }
  ASSIGN_OR_RETURN(const store::CollectionPtr info, CollectionOf(change));
  if (touched_.find(change.ns) == touched_.end()) {
    touched_.emplace(change.ns);
  }
  if (change.kind == 'i') {
    Status inserted =
        store::Insert(*txn_, *info, change.document, {.one_of_many = one_of_many}).status();
    if (inserted.code() == kDuplicateKey) {
      return Diverged(change, inserted.message());
    }
    if (info->capped) {
      txn_->OnCommit([state = info->state] { state->NotifyInsert(); });
    }
    return inserted;
  }
  const bson::View key = change.kind == 'r' ? change.document : change.key;
  ASSIGN_OR_RETURN(const auto id, store::FindById(*txn_, *info, key["_id"]));
  if (!id) {
    return Diverged(change, "there is no document with _id " + bson::ToJson(key["_id"]));
  }
  RETURN_IF_ERROR(store::ClaimRecord(*txn_, *info, *id));
  kv::ReadValue before;
  ASSIGN_OR_RETURN(const bool found, store::Fetch(*txn_, *info, *id, &before));
  if (!found) {
    return Diverged(change, "an index names a document that is not there");
  }
  const bson::Document present{bson::View(before.view().data())};
  if (change.kind == 'd') {
    return store::Remove(*txn_, *info, *id, present);
  }
  if (change.kind == 'r') {
    return store::Replace(*txn_, *info, *id, present, change.document, {.replacement = true});
  }
  ASSIGN_OR_RETURN(const bson::Document after, expr::update::Patch(present, change.document));
  return store::Replace(*txn_, *info, *id, present, after, {});
}

Status ApplyBatch::ApplySchema(const Change& change) {
  const int before = scope_.commits;
  RETURN_IF_ERROR(OfViews(change) ? ApplyView(change) : ApplyCommand(change));
  if (scope_.commits == before) {  // there was nothing to do
    RETURN_IF_ERROR(BeginTransaction());
    return Commit();
  }
  *mark_ = next_;
  if (engine_.on_replicated) {
    engine_.on_replicated(change.ns);
  }
  return Status::Ok();
}

Status ApplyBatch::ApplyView(const Change& change) {
  constexpr auto kDurability = kv::Durability::kProcess;
  if (change.kind == 'c') {
    return engine_.catalog().DropViews(Split(change.ns).first, kDurability);
  }
  const bson::View definition = change.kind == 'd' ? change.key : change.document;
  const std::string_view view = definition["_id"].AsString();
  if (change.kind == 'd') {
    return engine_.catalog().Drop(view, kDurability);
  }
  bson::Builder fields;
  for (const bson::Element& e : definition) {
    if (e.name() != "_id") {
      fields.Append(e);
    }
  }
  const bson::Document options = fields.Finish();
  if (change.kind == 'r') {
    return engine_.catalog().SetOptions(view, options, bson::View(), kDurability);
  }
  const auto [database, name] = Split(view);
  return engine_.catalog().Create(database, name, options, bson::View(), kDurability).status();
}

namespace {

// A change of the catalog, as the log tells of it: {<command>: ..., ...}.
struct LoggedCommand {
  Engine& engine;
  OpContext& op;
  const Change& change;
  bson::View o;
};

constexpr auto kApplied = kv::Durability::kProcess;

// {create: name, idIndex: spec, option...}; of a clustered collection, whose index its options
// describe, without idIndex.
Status ApplyCreate(const LoggedCommand& command) {
  bson::View id_index;
  bson::Builder fields;
  for (const bson::Element& e : command.o) {
    if (e.name() == "idIndex") {
      id_index = e.value().AsDocument();
    } else if (e.name() != "create") {
      fields.Append(e);
    }
  }
  fields.Append(store::kUuidOption, bson::Value::Binary(command.change.uuid, 4));
  const bson::Document options = fields.Finish();
  bson::Document clustered;
  if (const bson::Value given = options["clusteredIndex"]; given.is_document()) {
    std::shared_ptr<const expr::Collator> collator;
    if (const bson::Value collation = options["collation"]; collation.is_document()) {
      ASSIGN_OR_RETURN(collator, expr::Collator::Parse(collation.AsDocument()));
    }
    clustered = IdIndexSpec(collator.get(), given);
    id_index = clustered;
  }
  const auto [database, name] = Split(command.change.ns);
  return command.engine.catalog().Create(database, name, options, id_index, kApplied).status();
}

Status ApplyDrop(const LoggedCommand& command) {
  return command.engine.catalog().Drop(command.change.ns, kApplied);
}

Status ApplyDropDatabase(const LoggedCommand& command) {
  return command.engine.catalog().DropDatabase(Split(command.change.ns).first, kApplied);
}

Status ApplyRename(const LoggedCommand& command) {
  const bson::View o = command.o;
  return command.engine.catalog().Rename(o.front().value().AsString(), o["to"].AsString(),
                                         o.Has("dropTarget"), kApplied);
}

Status ApplyIndexBuild(const LoggedCommand& command) {
  std::vector<store::NewIndex> indexes;
  for (const bson::Element& e : command.o["indexes"].AsArray()) {
    indexes.push_back({bson::Document(e.value().AsDocument())});
  }
  return command.engine.catalog().CreateIndexes(command.op, command.change.ns, indexes, kApplied);
}

Status ApplyDropIndexes(const LoggedCommand& command) {
  return command.engine.catalog().DropIndexes(
      command.change.ns, {std::string(command.o["index"].AsString())}, kApplied);
}

Status ApplyCollMod(const LoggedCommand& command) {
  bson::Builder reply;
  return CollMod({command.engine, command.op}, std::string(command.change.ns), command.o, &reply);
}

struct LoggedCommandRow {
  std::string_view name;
  Status (*apply)(const LoggedCommand& command);
};
constexpr LoggedCommandRow kLoggedCommands[] = {
    {"create", ApplyCreate},
    {"drop", ApplyDrop},
    {"dropDatabase", ApplyDropDatabase},
    {"renameCollection", ApplyRename},
    {"commitIndexBuild", ApplyIndexBuild},
    {"dropIndexes", ApplyDropIndexes},
    {"collMod", ApplyCollMod},
};

}  // namespace

Status ApplyBatch::ApplyCommand(const Change& change) {
  const bson::View o = change.document["o"].AsDocument();
  const std::string_view name = o.empty() ? "" : o.front().name();
  for (const LoggedCommandRow& row : kLoggedCommands) {
    if (row.name == name) {
      return row.apply({engine_, op_, change, o});
    }
  }
  return Diverged(change, "a command that is not known: " + std::string(name));
}

}  // namespace quire::engine
