// SPDX-License-Identifier: Apache-2.0
//
// checkMetadataConsistency: whether shards have what the cluster's records say.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "command/command.h"
#include "placement/records.h"
#include "quire/doc.h"
#include "request/cursor_reply.h"
#include "request/fields.h"
#include "router/admin/rows.h"
#include "router/admin/stored.h"
#include "router/core.h"
#include "router/cursor/remote_rows.h"
#include "router/data/merged.h"
#include "router/remote/errors.h"

namespace quire::router {

namespace {

using auth::Action;
using command::Invocation;

constexpr std::chrono::seconds kTimeout{10};

// What is to be looked at.
struct Wish {
  std::string database;    // empty: all of them
  std::string collection;  // empty: all of them
  bool indexes = false;
  std::optional<int64_t> batch_size;

  bool Takes(std::string_view ns) const {
    const std::string_view of = DatabaseOf(ns);
    return (database.empty() || of == database) &&
           (collection.empty() || ns.substr(of.size() + 1) == collection);
  }
};

Result<Wish> ReadWish(const Routed& request) {
  Wish wish;
  const bson::Value target = request.body.view().front().value();
  if (target.is_string()) {
    wish.collection = target.AsString();
  }
  if (request.database != "admin" || target.is_string()) {
    wish.database = request.database;
  }
  bool first = true;
  for (const bson::Element& field : request.body.view()) {
    if (std::exchange(first, false) || request::IsGenericField(field.name())) {
      continue;
    }
    if (field.name() == "checkIndexes") {
      RETURN_IF_ERROR(request::ReadStrictBool("checkMetadataConsistency", field, &wish.indexes));
    } else if (field.name() == "cursor" && field.type() == bson::Type::kDocument) {
      for (const bson::Element& option : field.value().AsDocument()) {
        if (option.name() != "batchSize") {
          return request::UnknownField("checkMetadataConsistency.cursor", option.name());
        }
        RETURN_IF_ERROR(
            request::ReadField("checkMetadataConsistency.cursor", option, &wish.batch_size));
      }
    } else if (field.name() == "cursor") {
      return request::WrongType("checkMetadataConsistency", field, "object");
    } else {
      return request::UnknownField("checkMetadataConsistency", field.name());
    }
  }
  return wish;
}

// What the records say: {databases: [{name, primary}], collections: [{ns, uuid, key}]}.
Result<bson::Document> ReadRecords(coord::Store& store, Catalog& catalog) {
  const auto until = std::chrono::steady_clock::now() + kTimeout;
  ASSIGN_OR_RETURN(const auto databases, ListAll(store, catalog.Key("dbs/"), until));
  ASSIGN_OR_RETURN(const auto collections, ListAll(store, catalog.Key("colls/"), until));
  bson::Builder out;
  out.BeginArray("databases");
  for (const coord::Entry& entry : databases) {
    ASSIGN_OR_RETURN(const auto record, placement::DecodeDatabase(entry.value));
    if (record.state == placement::DatabaseRecord::State::kLive) {
      out.PushDocument().Append("name", record.name).Append("primary", record.primary).End();
    }
  }
  out.End().BeginArray("collections");
  for (const coord::Entry& entry : collections) {
    ASSIGN_OR_RETURN(const auto record, placement::DecodeCollection(entry.value));
    if (record.state == placement::CollectionRecord::State::kLive) {
      const std::string_view uuid(reinterpret_cast<const char*>(record.uuid.data()),
                                  record.uuid.size());
      out.PushDocument()
          .Append("ns", record.ns)
          .Append("uuid", bson::Value::Binary(uuid, 4))
          .Append("key", record.key)
          .End();
    }
  }
  out.End();
  return out.Finish();
}

// Every row of a cursor that a shard has opened.
Task<Result<std::vector<bson::Document>>> AllRows(Routed& request, Heard heard, std::string ns) {
  RemoteRowsOptions options;
  options.database = std::string(DatabaseOf(ns));
  options.session = request.SessionFields();
  options.live = &request.core.cursors;
  CO_ASSIGN_OR_RETURN(const request::CursorReply opened, request::CursorReply::Read(*heard.reply));
  options.collection = opened.ns.substr(options.database.size() + 1);
  std::vector<OpenedCursor> cursors;
  cursors.push_back({heard.shard, heard.host, *std::move(heard.reply)});
  run::Cursor cursor;
  cursor.source =
      std::make_unique<RemoteRows>(&request.core.lanes(), std::move(options), std::move(cursors));
  std::vector<bson::Document> rows;
  exec::Row row;
  while (true) {
    Result<bool> found = co_await NextRow(request, cursor, &row);
    CO_RETURN_IF_ERROR(found.status());
    if (!*found) {
      co_return rows;
    }
    rows.emplace_back(row.document);
  }
}

// The rows that each of the shards answers the command with, by shard. One without the collection
// has none.
using RowsOf = std::map<placement::ShardName, std::vector<bson::Document>>;
Task<Result<RowsOf>> ListOn(Routed& request, std::set<placement::ShardName> shards,
                            bson::Document command, std::string ns) {
  std::vector<Asked> asked;
  for (const placement::ShardName& shard : shards) {
    asked.push_back({shard, {}, request.Outgoing(command, DatabaseOf(ns), nullptr)});
  }
  Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked));
  CO_RETURN_IF_ERROR(heard.status());
  RowsOf out;
  for (Heard& one : *heard) {
    const placement::ShardName shard = one.shard;
    if (!one.reply.ok() && one.reply.status().code() == kNamespaceNotFound) {
      out[shard] = {};
      continue;
    }
    if (!one.reply.ok()) {
      co_return ForClients(one.reply.status());
    }
    Result<std::vector<bson::Document>> rows = co_await AllRows(request, std::move(one), ns);
    CO_RETURN_IF_ERROR(rows.status());
    out[shard] = *std::move(rows);
  }
  co_return out;
}

// What was found so far.
class Findings {
 public:
  void Add(std::string_view type, std::string_view description, const bson::Argument& details) {
    found_.push_back(Doc("type", type, "description", description, "details", details.view()));
  }
  std::vector<bson::Document> Take() { return std::move(found_); }

 private:
  std::vector<bson::Document> found_;
};

bool IsSame(const bson::Value& a, const bson::Value& b) { return bson::Compare(a, b) == 0; }

// Whether an index can find documents by the shard key.
bool Supports(bson::View index, bson::View key) {
  if (index.Has("partialFilterExpression") || request::Truthy(index["sparse"])) {
    return false;
  }
  const bson::View own = index["key"].AsDocument();
  auto field = own.begin();
  for (const bson::Element& wanted : key) {
    if (field == own.end() || (*field).name() != wanted.name() ||
        !IsSame((*field).value(), wanted.value())) {
      return false;
    }
    ++field;
  }
  return true;
}

// Indexes that some shards have otherwise, or not at all.
void CompareIndexes(const std::string& ns, const RowsOf& indexes, Findings* findings) {
  std::map<std::string, std::map<placement::ShardName, bson::View>> by_name;
  for (const auto& [shard, rows] : indexes) {
    for (const bson::Document& row : rows) {
      by_name[std::string(row["name"].AsString())].emplace(shard, row);
    }
  }
  for (const auto& [name, on] : by_name) {
    bson::Builder info;
    info.Append("indexName", name).BeginArray("missingFromShards");
    for (const auto& [shard, rows] : indexes) {
      if (!on.contains(shard)) {
        info.Push(shard);
      }
    }
    info.End();
    const bson::View first = on.begin()->second;
    const bool same = std::all_of(on.begin(), on.end(), [&](const auto& one) {
      return bson::CompareDocuments(one.second, first) == 0;
    });
    if (same && on.size() == indexes.size()) {
      continue;
    }
    info.BeginArray("specs");
    for (const auto& [shard, spec] : on) {
      info.PushDocument().Append("shard", shard).Append("spec", spec).End();
    }
    info.End();
    findings->Add("InconsistentIndex",
                  "Found an index of a sharded collection that is inconsistent between different "
                  "shards",
                  Doc("namespace", ns, "info", info.Finish()));
  }
}

// The indexes of a sharded collection on the shards that own some of it.
Task<Status> CheckIndexes(Routed& request, const Wish& wish, std::string ns, bson::Document key,
                          Findings* findings) {
  Result<RoutePtr> route = co_await request.FindCurrent(ns);
  CO_RETURN_IF_ERROR(route.status());
  if (!(*route)->sharded()) {
    co_return Status::Ok();  // dropped meanwhile
  }
  const std::set<placement::ShardName> owners = (*route)->chunks->shards();
  const bson::Document command = Doc("listIndexes", ns.substr(DatabaseOf(ns).size() + 1));
  Result<RowsOf> indexes = co_await ListOn(request, owners, command, ns);
  CO_RETURN_IF_ERROR(indexes.status());
  for (const auto& [shard, rows] : *indexes) {
    const bool any = std::any_of(rows.begin(), rows.end(),
                                 [&](const bson::Document& row) { return Supports(row, key); });
    if (!any && !rows.empty()) {  // without any index the collection is not there
      findings->Add("MissingShardKeyIndex",
                    "Found sharded collection on shard without shard key index",
                    Doc("namespace", ns, "shard", shard, "shardKey", key));
    }
  }
  if (wish.indexes) {
    CompareIndexes(ns, *indexes, findings);
  }
  co_return Status::Ok();
}

// What a shard has of a database against what it should have.
void CompareCollections(const Wish& wish, const std::string& database,
                        const placement::ShardName& primary, const RowsOf& lists,
                        const std::map<std::string, bson::View>& sharded, Findings* findings) {
  for (const auto& [shard, rows] : lists) {
    for (const bson::Document& row : rows) {
      const std::string ns = database + "." + std::string(row["name"].AsString());
      if (!wish.Takes(ns) || row["name"].AsString().starts_with("system.")) {
        continue;
      }
      const bson::Value uuid = row["info"].AsDocument()["uuid"];
      const auto known = sharded.find(ns);
      if (known == sharded.end()) {
        if (shard != primary) {
          findings->Add("MisplacedCollection",
                        "Found unsharded collection on a shard that is not the primary of its "
                        "database",
                        Doc("namespace", ns, "shard", shard, "localUUID", uuid));
        }
      } else if (!IsSame(uuid, known->second["uuid"])) {
        findings->Add(
            "CollectionUUIDMismatch",
            "Found collection on a shard with another UUID than the cluster knows",
            Doc("namespace", ns, "shard", shard, "localUUID", uuid, "UUID", known->second["uuid"]));
      }
    }
  }
}

Task<Status> CheckDatabase(Routed& request, const Wish& wish, std::string database,
                           placement::ShardName primary, const bson::Document& records,
                           Findings* findings) {
  std::map<std::string, bson::View> sharded;
  for (const bson::Element& one : records["collections"].AsArray()) {
    const bson::View record = one.value().AsDocument();
    if (DatabaseOf(record["ns"].AsString()) == database) {
      sharded.emplace(record["ns"].AsString(), record);
    }
  }
  std::set<placement::ShardName> shards;
  for (const placement::ShardRecord& shard : request.core.catalog->Shards()) {
    shards.insert(shard.name);
  }
  const bson::Document filter = Doc("type", "collection");
  const bson::Document command = Doc("listCollections", 1, "filter", filter);
  Result<RowsOf> lists = co_await ListOn(request, std::move(shards), command, database);
  CO_RETURN_IF_ERROR(lists.status());
  CompareCollections(wish, database, primary, *lists, sharded, findings);
  for (const auto& [ns, record] : sharded) {
    if (wish.Takes(ns)) {
      bson::Document key(record["key"].AsDocument());
      std::string name = ns;
      Status checked =
          co_await CheckIndexes(request, wish, std::move(name), std::move(key), findings);
      CO_RETURN_IF_ERROR(checked);
    }
  }
  co_return Status::Ok();
}

Task<Status> CheckMetadataConsistency(Routed& request) {
  CO_ASSIGN_OR_RETURN(const Wish wish, ReadWish(request));
  Catalog& catalog = *request.core.catalog;
  std::shared_ptr<Lookup<bson::Document>> read =
      catalog.Run([&catalog](coord::Store& store) { return ReadRecords(store, catalog); });
  Status waited = co_await request.Until(read);
  CO_RETURN_IF_ERROR(waited);
  CO_ASSIGN_OR_RETURN(const bson::Document records, read->Get());
  Findings findings;
  for (const bson::Element& one : records["databases"].AsArray()) {
    const bson::View record = one.value().AsDocument();
    std::string database(record["name"].AsString());
    if (wish.database.empty() || wish.database == database) {
      std::string primary(record["primary"].AsString());
      Status checked = co_await CheckDatabase(request, wish, std::move(database),
                                              std::move(primary), records, &findings);
      CO_RETURN_IF_ERROR(checked);
    }
  }
  co_return command::AppendDocuments(request.invocation, request.database + ".$cmd.aggregate",
                                     findings.Take(), wish.batch_size);
}

Status StateCheck(Invocation& i, auth::Needs* needs) {
  const bson::Value target = i.body().front().value();
  const std::string database(i.call.database);
  if (target.is_string()) {
    needs->Add(Action::checkMetadataConsistency,
               auth::Collection(database, std::string(target.AsString())));
  } else if (database == "admin") {
    needs->Add(Action::checkMetadataConsistency, auth::Cluster());
  } else {
    needs->Add(Action::checkMetadataConsistency, auth::Database(database));
  }
  return Status::Ok();
}

}  // namespace

std::span<const command::Row> ConsistencyRows() {
  static constexpr command::Row kRows[] = {
      {{"checkMetadataConsistency", "", 0, "whether shards have what the cluster's records say"},
       RunOnShards,
       command::Stated(StateCheck)},
  };
  return kRows;
}

std::span<const RoutineRow> ConsistencyRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"checkMetadataConsistency", CheckMetadataConsistency},
  };
  return kRows;
}

}  // namespace quire::router
