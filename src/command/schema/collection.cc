// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "command/authorise.h"
#include "command/command.h"
#include "command/parsed_row.h"
#include "engine/collection_uuid.h"
#include "engine/read/listing.h"
#include "engine/schema/schema.h"
#include "expr/projection/projection.h"
#include "request/crud.h"

namespace quire::command {

namespace {

using request::Field;
using request::FieldRow;
using request::Ignored;

struct DropFields {
  bson::Value collection_uuid;
};
constexpr FieldRow<DropFields> kDropRows[] = {
    request::FieldBy<&DropFields::collection_uuid, request::ReadUuid>("collectionUUID"),
};

Status RunDrop(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("drop", i.body()));
  DropFields f;
  RETURN_IF_ERROR(request::ReadFields<DropFields>("drop", i.body(), true, kDropRows, &f));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  i.call.summary.ns = ns;
  if (name == "system.profile" && i.commands.profiler().Watches(i.database())) {
    return {kIllegalOperation, "turn off profiling before dropping system.profile collection"};
  }
  if (ns == "local.oplog.rs") {
    return {5255000, "can't drop live oplog while replicating"};
  }
  if (ns == "local.system.replset") {
    return {kIllegalOperation, "can't drop system collection " + ns};
  }
  RETURN_IF_ERROR(engine::CheckCollectionUuid(i.operation, ns, f.collection_uuid));
  int64_t indexes = 0;
  Status dropped = engine::DropCollection(i.operation, ns, &indexes);
  if (dropped.code() == kNamespaceNotFound) {
    return Status::Ok();  // as MongoDB 7: dropping what is not there succeeds
  }
  RETURN_IF_ERROR(dropped);
  if (indexes > 0) {
    i.reply().Append("nIndexesWas", static_cast<int32_t>(indexes));
  }
  i.reply().Append("ns", ns);
  return Status::Ok();
}

Status RunDropDatabase(Invocation& i) {
  // One that is there may have a name that it would not be given.
  if (i.engine.catalog().snapshot()->InDatabase(i.database()).empty()) {
    RETURN_IF_ERROR(request::CheckDatabaseName(i.database()));
  }
  bson::Element flag = i.body().front();
  if (flag.value().nullish()) {
    return request::MissingField("dropDatabase", "dropDatabase");
  }
  if (!flag.value().is_number()) {
    return request::WrongType("dropDatabase", flag, "[int, decimal, double, long]");
  }
  int64_t one = 0;
  RETURN_IF_ERROR(request::ReadField("dropDatabase", flag, &one));
  if (one != 1) {
    return {5255100, "have to pass 1 as db parameter"};
  }
  if (i.database() == "admin" || i.database() == "local" || i.database() == "config") {
    return {kIllegalOperation,
            "Dropping the '" + std::string(i.database()) + "' database is prohibited."};
  }
  RETURN_IF_ERROR(engine::DropDatabase(i.operation, i.database()));
  i.commands.profiler().Forget(i.database());
  return Status::Ok();
}

struct RenameFields {
  std::string_view to;
  bson::Value drop_target;
  bool stay_temp = false;
  bson::Value uuid;
};
constexpr FieldRow<RenameFields> kRenameRows[] = {
    Field<&RenameFields::to>("to", request::Need::kRequired),
    Field<&RenameFields::drop_target>("dropTarget"),
    request::StrictBool<&RenameFields::stay_temp>("stayTemp"),
    Field<&RenameFields::uuid>("collectionUUID"),
};

// The 16 bytes of a UUID. TypeMismatch, InvalidUUID.
Result<std::string_view> UuidOf(const bson::Element& e) {
  if (e.type() != bson::Type::kBinary) {
    return request::WrongType("renameCollection", e, "binData");
  }
  if (e.value().binary_subtype() != 4 || e.value().AsBinary().size() != 16) {
    return Status(kInvalidUUID, "uuid must be a 16-byte binary field with UUID (4) subtype");
  }
  return e.value().AsBinary();
}

Status CheckUuid(Invocation& i, const std::string& ns, const bson::Element& wanted) {
  if (wanted.type() == bson::Type::kBinary && wanted.value().binary_subtype() != 4) {
    return {kTypeMismatch,
            "BSON field 'renameCollection.collectionUUID' is the wrong binData type '" +
                std::to_string(wanted.value().binary_subtype()) + "', expected type 'UUID'"};
  }
  RETURN_IF_ERROR(UuidOf(wanted).status());
  return engine::CheckCollectionUuid(i.operation, ns, wanted.value());
}

// Whether to drop a collection in the way: a switch, or the UUID it must have.
Result<bool> ReadDropTarget(Invocation& i, const std::string& from, const std::string& to) {
  bson::Element given = i.body().Find("dropTarget");
  if (!given.present()) {
    return false;
  }
  if (given.type() == bson::Type::kBool) {
    return given.value().AsBool();
  }
  if (given.type() != bson::Type::kBinary) {
    return request::WrongType("renameCollection", given, "[bool, binData]");
  }
  RETURN_IF_ERROR(UuidOf(given).status());
  if (from.substr(0, from.find('.')) != to.substr(0, to.find('.'))) {
    return Status(kInvalidOptions, "dropTarget with a UUID needs both names in one database");
  }
  RETURN_IF_ERROR(engine::CheckCollectionUuid(i.operation, to, given.value()));
  return true;
}

bool IsReserved(std::string_view ns) {
  std::string_view name = ns.substr(ns.find('.') + 1);
  return name.starts_with("system.") || name.find('$') != std::string_view::npos ||
         ns.starts_with("local.oplog.");
}

Result<std::string> FullNamespace(std::string_view full) {
  size_t dot = full.find('.');
  if (dot == std::string_view::npos) {
    return Status(kInvalidNamespace, "Invalid namespace specified '" + std::string(full) + "'");
  }
  std::string_view database = full.substr(0, dot);
  auto ns = request::Namespace(database, full.substr(dot + 1));
  if (full.size() > request::kLongestNamespace || database.find('$') != std::string_view::npos) {
    return Status(kIllegalOperation, "Illegal name " + std::string(full));
  }
  return ns;
}

struct RenameRequest {
  std::string from;
  std::string to;
  bool drops_target = false;  // perhaps: the target's UUID is still to be compared
  bool checks_uuid = false;
};

Result<RenameRequest> ParseRename(Invocation& i) {
  bson::Element first = i.body().front();
  if (first.value().nullish()) {
    return request::MissingField("renameCollection", "renameCollection");
  }
  if (first.type() != bson::Type::kString) {
    return request::WrongType("renameCollection", first, "string");
  }
  RenameFields f;
  RETURN_IF_ERROR(
      request::ReadFields<RenameFields>("renameCollection", i.body(), true, kRenameRows, &f));
  RenameRequest request;
  ASSIGN_OR_RETURN(request.from, FullNamespace(first.value().AsString()));
  ASSIGN_OR_RETURN(request.to, FullNamespace(f.to));
  request.drops_target = f.drop_target.type() == bson::Type::kBinary ||
                         (f.drop_target.type() == bson::Type::kBool && f.drop_target.AsBool());
  request.checks_uuid = !f.uuid.missing();
  return request;
}

// Within a database by a privilege of its own, else by all that a copy and a drop need.
Status StateRename(Invocation& i, const RenameRequest& request, auth::Needs* needs) {
  const auth::Resource from = auth::OfNamespace(request.from);
  const auth::Resource to = auth::OfNamespace(request.to);
  std::vector<auth::Need> copy = {{Action::find, from},
                                  {Action::dropCollection, from},
                                  {Action::insert, to},
                                  {Action::createIndex, to}};
  std::vector<std::vector<auth::Need>> ways = {copy};
  if (from.database == to.database) {
    ways.push_back({{Action::renameCollectionSameDB, from}, {Action::renameCollectionSameDB, to}});
    // Nobody gets to read by a new name what they could not read by the old one.
    if (May(i, Action::find, to)) {
      ways.back().push_back({Action::find, from});
    }
  }
  if (request.drops_target) {
    for (std::vector<auth::Need>& way : ways) {
      way.push_back({Action::dropCollection, to});
    }
  }
  needs->AddEither(std::move(ways));
  return Status::Ok();
}

Status RunRename(Invocation& i, const RenameRequest& request) {
  const std::string& from = request.from;
  const std::string& to = request.to;
  if (IsReserved(from)) {
    return {kIllegalOperation, "error with source namespace: Illegal name " + from};
  }
  if (IsReserved(to)) {
    return {kIllegalOperation, "error with target namespace: Illegal name " + to};
  }
  if (request.checks_uuid) {
    RETURN_IF_ERROR(CheckUuid(i, from, i.body().Find("collectionUUID")));
  }
  ASSIGN_OR_RETURN(bool drop_target, ReadDropTarget(i, from, to));
  return engine::RenameCollection(i.operation, from, to, drop_target);
}

// --- listings ---

// Keeps the documents that match the command's filter.
Result<std::vector<bson::Document>> Filtered(std::vector<bson::Document> all, bson::View filter) {
  if (filter.empty()) {
    return all;
  }
  expr::Context context;
  context.has_clock = false;
  expr::match::Allowed allowed = expr::match::Allowed::InMatchStage();
  allowed.text = false;
  ASSIGN_OR_RETURN(auto match, expr::match::Filter::Parse(filter, &context, allowed));
  std::vector<bson::Document> kept;
  for (bson::Document& document : all) {
    ASSIGN_OR_RETURN(bool matches, match->Matches(document));
    if (matches) {
      kept.push_back(std::move(document));
    }
  }
  return kept;
}

struct ListCollectionsFields {
  bson::View filter;
  bool name_only = false;
  bool authorized = false;
  std::optional<bson::View> cursor;
};
using L = ListCollectionsFields;
constexpr FieldRow<L> kListCollectionsRows[] = {
    Field<&L::filter>("filter"),
    request::StrictBool<&L::name_only>("nameOnly"),
    request::StrictBool<&L::authorized>("authorizedCollections"),
    Field<&L::cursor>("cursor"),
    Ignored<L>("includePendingDrops"),
};

struct BatchSize {
  std::optional<int64_t> batch_size;
};
constexpr FieldRow<BatchSize> kBatchSizeRows[] = {Field<&BatchSize::batch_size>("batchSize")};

Result<std::optional<int64_t>> ReadBatchSize(const std::optional<bson::View>& cursor) {
  BatchSize f;
  if (cursor) {
    RETURN_IF_ERROR(request::ReadFields<BatchSize>("cursor", *cursor, false, kBatchSizeRows, &f));
  }
  if (f.batch_size && *f.batch_size < 0) {
    return Status(kBadValue, "BSON field 'batchSize' value must be >= 0, actual value '" +
                                 std::to_string(*f.batch_size) + "'");
  }
  return f.batch_size;
}

bson::Document CollectionEntry(const store::CollectionInfo& info, bool name_only) {
  bson::Builder out;
  out.Append("name", info.name).Append("type", engine::KindOf(info));
  if (!name_only) {
    engine::AppendDescription(info, &out);
  }
  return out.Finish();
}

bson::Document SystemViewsEntry(std::string_view database, bool name_only) {
  bson::Builder out;
  out.Append("name", "system.views").Append("type", "collection");
  if (!name_only) {
    engine::AppendSystemViewsDescription(database, &out);
  }
  return out.Finish();
}

Result<ListCollectionsFields> ParseListCollections(Invocation& i) {
  RETURN_IF_ERROR(request::CheckDatabaseName(i.database()));
  ListCollectionsFields f;
  RETURN_IF_ERROR(
      request::ReadFields<L>("listCollections", i.body(), true, kListCollectionsRows, &f));
  return f;
}

// With authorizedCollections and nameOnly everybody sees what they may use. Who may see all of them
// needs that, for their cursor, too: what a router asks for is more than its user may read on.
Status StateListCollections(Invocation& i, const ListCollectionsFields& f, auth::Needs* needs) {
  const bool may = May(i, Action::listCollections, auth::Database(i.database()));
  if (may || !(f.authorized && f.name_only && MayUse(i, i.database()))) {
    needs->Add(Action::listCollections, auth::Database(i.database()));
  }
  return Status::Ok();
}

Status RunListCollections(Invocation& i, const ListCollectionsFields& f) {
  ASSIGN_OR_RETURN(auto batch_size, ReadBatchSize(f.cursor));
  std::vector<bson::Document> all;
  bool has_views = false;
  for (const auto& info : i.engine.catalog().snapshot()->InDatabase(i.database())) {
    if (f.authorized && !MayUse(i, auth::Collection(i.database(), info->name))) {
      continue;
    }
    all.push_back(CollectionEntry(*info, f.name_only));
    has_views = has_views || (info->is_view() && !info->is_oplog);
  }
  if (has_views) {
    all.push_back(SystemViewsEntry(i.database(), f.name_only));
  }
  ASSIGN_OR_RETURN(all, Filtered(std::move(all), f.filter));
  return AppendDocuments(i, std::string(i.database()) + ".$cmd.listCollections", std::move(all),
                         batch_size);
}

struct ListDatabasesFields {
  bson::View filter;
  bool name_only = false;
  std::optional<bool> authorized;
};
constexpr FieldRow<ListDatabasesFields> kListDatabasesRows[] = {
    Field<&ListDatabasesFields::filter>("filter"),
    Field<&ListDatabasesFields::name_only>("nameOnly"),
    Field<&ListDatabasesFields::authorized>("authorizedDatabases"),  // strictly a boolean
};

constexpr int64_t kLeastBytes = 4096;  // of a collection on a disk, however little it holds

// With the three that a replica set always has.
std::vector<std::string> DatabaseNames(const store::CatalogSnapshot& snapshot) {
  std::vector<std::string> names = snapshot.Databases();
  for (std::string_view own : {"admin", "config", "local"}) {
    auto at = std::lower_bound(names.begin(), names.end(), own);
    if (at == names.end() || *at != own) {
      names.insert(at, std::string(own));
    }
  }
  return names;
}

Status RunListDatabases(Invocation& i) {
  ListDatabasesFields f;
  RETURN_IF_ERROR(request::ReadFields<ListDatabasesFields>("listDatabases", i.body(), true,
                                                           kListDatabasesRows, &f));
  if (bson::Element given = i.body().Find("authorizedDatabases");
      given.present() && !given.value().nullish() && given.type() != bson::Type::kBool) {
    return request::WrongType("listDatabases", given, "bool");
  }
  ASSIGN_OR_RETURN(const bool every, SeesAllDatabases(i, f.authorized));
  auto snapshot = i.engine.catalog().snapshot();
  std::vector<bson::Document> all;
  for (const std::string& name : DatabaseNames(*snapshot)) {
    if (!every && !MayUse(i, name)) {
      continue;
    }
    bson::Builder out;
    out.Append("name", name);
    if (f.name_only) {
      all.push_back(out.Finish());
      continue;
    }
    int64_t bytes = 0;
    bool empty = name != "admin" && name != "config" && name != "local";
    for (const auto& info : snapshot->InDatabase(name)) {
      if (info->is_view()) {
        continue;
      }
      bytes += std::max(kLeastBytes, static_cast<int64_t>(i.engine.store().ApproximateSize(
                                         store::TableRange(info->table->id))));
      empty = false;
    }
    out.Append("sizeOnDisk", bytes).Append("empty", empty);
    all.push_back(out.Finish());
  }
  ASSIGN_OR_RETURN(all, Filtered(std::move(all), f.filter));
  int64_t total = 0;
  i.reply().BeginArray("databases");
  for (const bson::Document& document : all) {
    total += f.name_only ? 0 : document["sizeOnDisk"].AsInt64();
    i.reply().Push(document.view());
  }
  i.reply().End();
  if (!f.name_only) {
    i.reply().Append("totalSize", total).Append("totalSizeMb", total >> 20);
  }
  return Status::Ok();
}

Status StateCollMod(Invocation& i, auth::Needs* needs) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("collMod", i.body()));
  needs->Add(Action::collMod, auth::Collection(i.database(), name));
  ASSIGN_OR_RETURN(engine::ViewChange change, engine::ReadViewChange(i.body()));
  if (!change.view_on && !change.pipeline.present) {
    return Status::Ok();
  }
  if (!change.view_on || !change.pipeline.present) {  // what it will show has to be known here
    return {kInvalidOptions,
            "Must specify both 'viewOn' and 'pipeline' when modifying a view and auth is enabled"};
  }
  return StateView(i, name, *change.view_on, change.pipeline.view, needs);
}

Status RunCollMod(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("collMod", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  i.call.summary.ns = ns;
  return engine::CollMod(i.operation, ns, i.body(), &i.reply());
}

}  // namespace

std::span<const Row> CollectionRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  constexpr uint32_t kChange = kWrite | kWriteConcern;
  static constexpr Row kRows[] = {
      {{"drop", "", kChange | kStableApi | kFreesMemory | kToPrimary,
        "removes a collection or a view"},
       RunDrop,
       OnCollection(Action::dropCollection)},
      {{"dropDatabase", "",
        kChange | kStableApi | kFreesMemory | kToPrimary | request::kAnyDatabaseName,
        "removes a database"},
       RunDropDatabase,
       OnDatabase(Action::dropDatabase)},
      ParsedRow<ParseRename, StateRename, RunRename>(
          {"renameCollection", "", kChange | kAdminOnly | kToPrimary | kWholeNamespace,
           "renames a collection"}),
      {{"collMod", "", kChange | kStableApi | kToPrimary,
        "changes options of a collection or an index"},
       RunCollMod,
       Stated(StateCollMod)},
      ParsedRow<ParseListCollections, StateListCollections, RunListCollections>(
          {"listCollections", "", kRead | kStableApi | kToPrimary, "lists collections and views"}),
      {{"listDatabases", "", kRead | kAdminOnly | kStableApi | kToShards, "lists databases"},
       RunListDatabases,
       kLoggedIn},
  };
  return kRows;
}

}  // namespace quire::command
