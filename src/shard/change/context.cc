// SPDX-License-Identifier: Apache-2.0
#include "shard/change/context.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"

namespace quire::shard {

void Reach(Context& context, std::string_view kind, std::string_view place) {
  constexpr std::string_view kPoint = run::FailPoints::kHoldChange;
  constexpr std::chrono::milliseconds kLookEvery{10};
  run::FailPoints* points = context.fail_points;
  if (points == nullptr || !points->armed() || !points->MeetHold(kPoint)) {
    return;
  }
  log::Info("SHARDING", "A change is held by a fail point", {{"kind", kind}, {"place", place}});
  while (points->Holds(kPoint) && !context.stopping.load()) {
    std::this_thread::sleep_for(kLookEvery);
  }
}

std::string_view CollectionOf(std::string_view ns) { return ns.substr(ns.find('.') + 1); }

std::string_view UuidBytes(const store::Uuid& uuid) {
  return {reinterpret_cast<const char*>(uuid.data()), uuid.size()};
}

store::CollectionPtr FindLocal(Context& context, std::string_view ns, std::string_view uuid) {
  store::CollectionPtr found = context.engine.catalog().Find(ns);
  return found != nullptr && UuidBytes(found->uuid) == uuid ? found : nullptr;
}

bson::Document Describe(const store::CollectionInfo& collection) {
  bson::Builder out;
  out.Append("uuid", bson::Value::Binary(UuidBytes(collection.uuid), 4))
      .Append("options", collection.options);
  out.BeginArray("indexes");
  for (const auto& index : collection.indexes) {
    if (!index->is_id) {
      out.Push(index->spec.view());
    }
  }
  out.End();
  return out.Finish();
}

Status MakeEqual(Context& context, std::string_view ns, bson::View description) {
  const bson::Value uuid = description["uuid"];
  store::CollectionPtr found = context.engine.catalog().Find(ns);
  if (found != nullptr && UuidBytes(found->uuid) != uuid.AsBinary()) {
    return {kNamespaceExists,
            "shard " + context.shard + " has another collection " + std::string(ns)};
  }
  const std::string_view database = DatabaseOf(ns);
  if (found == nullptr) {
    bson::Builder create;
    create.Append("create", CollectionOf(ns)).AppendFields(description["options"].AsDocument());
    RETURN_IF_ERROR(context.local(database, create.Finish(), uuid).status());
    found = context.engine.catalog().Find(ns);
  }
  bson::Builder indexes;
  indexes.Append("createIndexes", CollectionOf(ns)).BeginArray("indexes");
  int missing = 0;
  for (const bson::Element& e : description["indexes"].AsArray()) {
    const bson::View spec = e.value().AsDocument();
    if (found == nullptr || found->FindIndex(spec["name"].AsString()) == nullptr) {
      indexes.Push(spec);
      ++missing;
    }
  }
  indexes.End();
  if (missing > 0) {
    RETURN_IF_ERROR(context.local(database, indexes.Finish(), {}).status());
  }
  return Status::Ok();
}

Status DropLocal(Context& context, std::string_view ns, std::string_view uuid) {
  if (FindLocal(context, ns, uuid) == nullptr) {
    return Status::Ok();
  }
  bson::Builder drop;
  drop.Append("drop", CollectionOf(ns)).Append("collectionUUID", bson::Value::Binary(uuid, 4));
  const Status dropped = context.local(DatabaseOf(ns), drop.Finish(), {}).status();
  return dropped.code() == kNamespaceNotFound || dropped.code() == kCollectionUUIDMismatch
             ? Status::Ok()
             : dropped;
}

void NameDocumentsOf(engine::Engine& engine, const NameRecord& record) {
  if (!record.id.starts_with("c:")) {
    return;
  }
  const store::CollectionPtr found = engine.catalog().Find(NameOfId(record.id));
  if (found == nullptr || found->state == nullptr) {
    return;
  }
  const bool sharded = record.known.placed.version.sharded && !record.key.empty();
  found->state->SetDocumentKey(sharded ? std::make_shared<const store::DocumentKey>(record.key)
                                       : nullptr);
}

Status SaveName(Context& context, NameRecord record) {
  const bson::Document document = Encode(record);
  RETURN_IF_ERROR(context.log.Save(document));
  NameDocumentsOf(context.engine, record);
  context.names.Put(std::move(record));
  return Status::Ok();
}

bool DrainTransactions(Context& context, std::string_view ns, std::chrono::milliseconds timeout) {
  const store::CollectionPtr found = context.engine.catalog().Find(ns);
  if (found == nullptr || found->state == nullptr) {
    return true;
  }
  const auto until = std::chrono::steady_clock::now() + timeout;
  if (!found->state->gate.CloseUnless(
          [&] { return std::chrono::steady_clock::now() > until || context.stopping.load(); })) {
    return false;
  }
  found->state->gate.Open();
  return true;
}

}  // namespace quire::shard
