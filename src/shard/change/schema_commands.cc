// SPDX-License-Identifier: Apache-2.0
#include "shard/change/schema_commands.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/json/value_text.h"
#include "engine/schema/schema.h"
#include "placement/version_fields.h"
#include "request/fields.h"
#include "request/reply_part.h"
#include "shard/change/change.h"
#include "shard/change/chunk_commands.h"
#include "shard/change/run_change.h"
#include "shard/change/shard_collection_command.h"

namespace quire::shard {

namespace {

// The client's command without what belongs to its request.
bson::Document Plain(const SchemaRequest& request) {
  bson::Builder out;
  for (const bson::Element& e : request.body) {
    if (!e.name().starts_with("$") && e.name() != "lsid" && e.name() != "writeConcern" &&
        e.name() != "maxTimeMS") {
      out.Append(e);
    }
  }
  if (!request.write_concern.missing()) {
    out.Append("writeConcern", request.write_concern);
  }
  return out.Finish();
}

// Runs it on this shard alone. Nobody shards the collection meanwhile: its name is reserved.
Result<bson::Document> RunHere(Context& context, const SchemaRequest& request,
                               const std::string& database) {
  ASSIGN_OR_RETURN(const bson::Document reply, context.local(database, Plain(request), {}));
  bson::Builder out;
  for (const bson::Element& e : reply.view()) {
    if (e.name() != "ok" && e.name() != "operationTime" && e.name() != "$clusterTime") {
      out.Append(e);
    }
  }
  return out.Finish();
}

// The same of a command that answers {raw: {<host of a shard>: its reply}} in a cluster.
Result<bson::Document> RunHereRaw(Context& context, const SchemaRequest& request) {
  ASSIGN_OR_RETURN(const bson::Document reply, context.local(request.database, Plain(request), {}));
  ASSIGN_OR_RETURN(const auto shards, context.store.ReadShards());
  bson::Builder out;
  out.BeginDocument("raw");
  for (const placement::ShardRecord& shard : shards) {
    if (shard.name == context.shard) {
      out.Append(shard.host, request::AsPart(reply));
    }
  }
  out.End();
  return out.Finish();
}

bson::Document CollectionArguments(const CollectionFacts& facts) {
  bson::Builder out;
  const std::string_view uuid(reinterpret_cast<const char*>(facts.record.uuid.data()),
                              facts.record.uuid.size());
  out.Append("ns", facts.record.ns).Append("uuid", bson::Value::Binary(uuid, 4));
  placement::ShardVersion version;
  version.sharded = true;
  version.generation = facts.record.generation;
  placement::AppendVersion("generation", version, &out);
  return out.Finish();
}

Status CheckUniqueIndexes(const placement::ShardKeyPattern& pattern, bson::View body) {
  const bson::Value indexes = body["indexes"];
  if (!indexes.is_array()) {
    return Status::Ok();  // refused when it is run
  }
  for (const bson::Element& e : indexes.AsArray()) {
    if (!e.value().is_document() || !e.value().AsDocument()["key"].is_document()) {
      continue;
    }
    const bson::View spec = e.value().AsDocument();
    const bson::View key = spec["key"].AsDocument();
    const bson::Value unique = spec["unique"];
    if (unique.type() == bson::Type::kBool && unique.AsBool() && !pattern.AllowsUnique(key)) {
      return {kCannotCreateIndex, "cannot create unique index over " + bson::DocumentText(key) +
                                      " with shard key pattern " + pattern.ToString()};
    }
  }
  return Status::Ok();
}

// Whether some index that is not left out can be used for the shard key.
bool CarryKey(const store::CollectionInfo& collection, const placement::ShardKeyPattern& pattern,
              const std::function<bool(const store::IndexInfo&)>& left_out) {
  return std::any_of(collection.indexes.begin(), collection.indexes.end(), [&](const auto& index) {
    return SupportsKey(*index, pattern) && !left_out(*index);
  });
}

// Some index has to carry the shard key. "*" leaves those that do.
Result<bson::Document> WithoutKeyIndexes(const store::CollectionInfo& collection,
                                         const placement::ShardKeyPattern& pattern,
                                         const SchemaRequest& request) {
  const bson::Value which = request.body["index"];
  ASSIGN_OR_RETURN(std::vector<std::string> names, engine::IndexesToDrop(collection, which));
  const bool alone = which.is_array() && which.AsArray().Count() == 1;
  const bson::Value star = alone ? which.AsArray().front().value() : which;
  const bool all = star.is_string() && star.AsString() == "*";
  if (all) {
    std::erase_if(names, [&](const std::string& name) {
      const store::IndexInfo* index = collection.FindIndex(name);
      return index != nullptr && SupportsKey(*index, pattern);
    });
  }
  const bool left = CarryKey(collection, pattern, [&](const store::IndexInfo& index) {
    return std::find(names.begin(), names.end(), index.name) != names.end();
  });
  if (!left) {
    return Status(kCannotDropShardKeyIndex,
                  "Cannot drop the only compatible index for this collection's shard key");
  }
  if (!all) {
    return Plain(request);
  }
  bson::Builder kept;
  kept.BeginArray("index");
  for (const std::string& name : names) {
    kept.Push(name);
  }
  kept.End();
  bson::Builder out;
  const bson::Document list = kept.Finish();
  const bson::Document plain = Plain(request);
  for (const bson::Element& e : plain.view()) {
    e.name() == "index" ? out.Append(list.view().front()) : out.Append(e);
  }
  return out.Finish();
}

// The planner does not see a hidden index: the last one of the shard key stays visible.
Status CheckHiding(const store::CollectionInfo& collection,
                   const placement::ShardKeyPattern& pattern, const bson::Value& changed) {
  if (!changed.is_document()) {
    return Status::Ok();
  }
  const bson::View index = changed.AsDocument();
  if (!request::Truthy(index["hidden"])) {
    return Status::Ok();
  }
  const bson::Value name = index["name"];
  const bson::Value key = index["keyPattern"];
  const bool left = CarryKey(collection, pattern, [&](const store::IndexInfo& one) {
    return one.hidden || (name.is_string() && name.AsString() == one.name) ||
           (key.is_document() && bson::CompareDocuments(one.key_pattern, key.AsDocument()) == 0);
  });
  return left ? Status::Ok()
              : Status(kCannotDropShardKeyIndex,
                       "Cannot hide the only compatible index for this collection's shard key");
}

// The collection here of one that is sharded.
Result<store::CollectionPtr> LocalOf(Context& context, const SchemaRequest& request) {
  store::CollectionPtr collection = context.engine.catalog().Find(request.ns);
  if (collection == nullptr) {
    return Status(kNamespaceNotFound, "ns does not exist: " + request.ns);
  }
  return collection;
}

void AppendIndexArguments(const SchemaRequest& request, const store::CollectionInfo& collection,
                          bson::View command, bson::Builder* arguments) {
  arguments->Append("ns", request.ns)
      .Append("uuid", bson::Value::Binary(UuidBytes(collection.uuid), 4))
      .Append("command", command);
}

Result<bson::Document> ApplyToAll(Context& context, const SchemaRequest& request,
                                  const store::CollectionInfo& collection, bson::View command) {
  bson::Builder arguments;
  AppendIndexArguments(request, collection, command, &arguments);
  return ChangeRun(context, MakeApplyToAll(arguments.Finish())).Run();
}

Result<bson::Document> RenameSharded(Context& context, const SchemaRequest& request,
                                     const std::string& to) {
  ASSIGN_OR_RETURN(const CollectionFacts facts, ShardedFacts(context, request.ns));
  const store::CollectionPtr collection = context.engine.catalog().Find(request.ns);
  if (collection == nullptr) {
    return Status(kNamespaceNotFound, "Source collection " + request.ns + " does not exist");
  }
  const bson::Document note =
      bson::Builder().Append("msg", "renameCollection").Append("ns", request.ns).Finish();
  ASSIGN_OR_RETURN(const bson::Timestamp time, context.log.Note(note));
  placement::ShardVersion before;
  before.sharded = true;
  before.generation = facts.record.generation;
  placement::ShardVersion after = before;
  after.generation = {bson::ObjectId::Generate(), time};
  const bson::Value drop = request.body["dropTarget"];
  bson::Builder arguments;
  arguments.Append("from", request.ns)
      .Append("to", to)
      .Append("uuid", bson::Value::Binary(UuidBytes(collection->uuid), 4))
      .Append("dropTarget", drop.type() == bson::Type::kBool && drop.AsBool())
      .Append("description", Describe(*collection));
  placement::AppendVersion("generation", after, &arguments);
  placement::AppendVersion("before", before, &arguments);
  return ChangeRun(context, MakeRenameCollection(arguments.Finish())).Run();
}

}  // namespace

Result<bson::Document> CreateCommand(Context& context, const SchemaRequest& request) {
  if (context.names.PlacementOf(request.ns) != nullptr) {
    return Status(kNamespaceExists, "Collection " + request.ns + " already exists.");
  }
  return RunHere(context, request, request.database);
}

Result<bson::Document> ConvertToCappedCommand(Context& context, const SchemaRequest& request) {
  if (context.names.PlacementOf(request.ns) != nullptr) {
    return Status(kIllegalOperation, "can't convert a sharded collection to a capped collection");
  }
  return RunHere(context, request, request.database);
}

Result<bson::Document> DropCommand(Context& context, const SchemaRequest& request) {
  if (context.names.PlacementOf(request.ns) == nullptr) {
    return RunHere(context, request, request.database);
  }
  ASSIGN_OR_RETURN(const auto facts, context.store.ReadCollection(request.ns));
  if (!facts) {
    return bson::Document();
  }
  return ChangeRun(context, MakeDropCollection(CollectionArguments(*facts))).Run();
}

Result<bson::Document> CreateIndexesCommand(Context& context, const SchemaRequest& request) {
  const auto placed = context.names.PlacementOf(request.ns);
  if (placed == nullptr) {
    return RunHereRaw(context, request);
  }
  ASSIGN_OR_RETURN(const store::CollectionPtr collection, LocalOf(context, request));
  RETURN_IF_ERROR(CheckUniqueIndexes(placed->pattern, request.body));
  const bson::Document command = Plain(request);
  bson::Builder arguments;
  AppendIndexArguments(request, *collection, command, &arguments);
  arguments.Append("description", Describe(*collection));
  return ChangeRun(context, MakeCreateIndexes(arguments.Finish())).Run();
}

Result<bson::Document> DropIndexesCommand(Context& context, const SchemaRequest& request) {
  const auto placed = context.names.PlacementOf(request.ns);
  if (placed == nullptr) {
    return RunHereRaw(context, request);
  }
  ASSIGN_OR_RETURN(const store::CollectionPtr collection, LocalOf(context, request));
  bson::Document command = Plain(request);
  if (request.body.Has("index")) {
    ASSIGN_OR_RETURN(command, WithoutKeyIndexes(*collection, placed->pattern, request));
  }
  return ApplyToAll(context, request, *collection, command);
}

Result<bson::Document> CollModCommand(Context& context, const SchemaRequest& request) {
  const auto placed = context.names.PlacementOf(request.ns);
  if (placed == nullptr) {
    return RunHereRaw(context, request);
  }
  ASSIGN_OR_RETURN(const store::CollectionPtr collection, LocalOf(context, request));
  RETURN_IF_ERROR(CheckHiding(*collection, placed->pattern, request.body["index"]));
  const bson::Document command = Plain(request);
  return ApplyToAll(context, request, *collection, command);
}

Result<bson::Document> DropDatabaseCommand(Context& context, const SchemaRequest& request) {
  constexpr size_t kMostAtOnce = 8;
  std::vector<bson::Document> collections;
  for (const NameRecord& record : context.names.All()) {
    if (!record.id.starts_with("c:") || !record.known.placed.version.sharded ||
        DatabaseOf(NameOfId(record.id)) != request.ns) {
      continue;
    }
    ASSIGN_OR_RETURN(const auto facts,
                     context.store.ReadCollection(std::string(NameOfId(record.id))));
    if (facts) {
      collections.push_back(CollectionArguments(*facts));
    }
  }
  while (collections.size() > kMostAtOnce) {
    const bson::Document one = std::move(collections.back());
    collections.pop_back();
    RETURN_IF_ERROR(
        ChangeRun(context, MakeDropCollection(bson::Document(one.view()))).Run().status());
  }
  bson::Builder arguments;
  arguments.Append("db", request.ns).Append("primary", context.shard).BeginArray("collections");
  for (const bson::Document& one : collections) {
    arguments.Push(one.view());
  }
  arguments.End();
  return ChangeRun(context, MakeDropDatabase(arguments.Finish())).Run();
}

Result<bson::Document> RenameCommand(Context& context, const SchemaRequest& request) {
  auto here = [&] { return RunHere(context, request, "admin"); };
  const bson::Element to = request.body.Find("to");
  if (!to.present() || to.type() != bson::Type::kString) {
    return here();  // refused there
  }
  const std::string target(to.value().AsString());
  if (target == request.ns) {
    return Status(kIllegalOperation, "Can't rename a collection to itself");
  }
  if (DatabaseOf(target) != DatabaseOf(request.ns)) {
    return Status(kCommandFailed, "Source and destination collections must be on same database");
  }
  if (context.names.PlacementOf(request.ns) != nullptr) {
    return RenameSharded(context, request, target);
  }
  if (context.names.PlacementOf(target) != nullptr) {
    return Status(kIllegalOperation,
                  "cannot rename an unsharded collection to a sharded one: " + target);
  }
  return here();
}

}  // namespace quire::shard
