// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "command/access.h"
#include "command/command.h"
#include "engine/schema.h"
#include "expr/projection/projection.h"
#include "request/crud.h"

namespace quire::command {

namespace {

using request::Field;
using request::FieldRow;
using request::Ignored;

struct CreateFields {
  std::optional<bool> capped;
  std::optional<int64_t> size;
  std::optional<int64_t> max;
  std::optional<bson::View> validator;
  std::optional<std::string_view> validation_level;
  std::optional<std::string_view> validation_action;
  std::optional<std::string_view> view_on;
  request::ArrayArgument pipeline;
  std::optional<bson::View> collation;
  std::optional<bson::View> change_images;
  std::optional<bson::View> index_defaults;
  std::optional<bson::View> storage_engine;
  bson::Value clustered_index;
  std::optional<bson::View> timeseries;
  bson::Value expire_after;
  bool auto_index_id = true;
};
using C = CreateFields;
constexpr FieldRow<C> kCreateRows[] = {
    Field<&C::capped>("capped"),
    Field<&C::auto_index_id>("autoIndexId"),
    Field<&C::size>("size"),
    Field<&C::max>("max"),
    Field<&C::storage_engine>("storageEngine"),
    Field<&C::validator>("validator"),
    Field<&C::validation_level>("validationLevel"),
    Field<&C::validation_action>("validationAction"),
    Field<&C::index_defaults>("indexOptionDefaults"),
    Field<&C::view_on>("viewOn"),
    Field<&C::pipeline>("pipeline"),
    Field<&C::collation>("collation"),
    Field<&C::change_images>("changeStreamPreAndPostImages"),
    Field<&C::clustered_index>("clusteredIndex"),
    Field<&C::timeseries>("timeseries"),
    Field<&C::expire_after>("expireAfterSeconds"),
    Ignored<C>("idIndex"),
    Ignored<C>("flags"),
    Ignored<C>("temp"),
};

Status CheckCapped(const CreateFields& f) {
  constexpr int64_t kMostBytes = int64_t{1} << 50;
  if (f.capped.value_or(false) && !f.size) {
    return {kInvalidOptions, "the 'size' field is required when 'capped' is true"};
  }
  if (!f.capped.value_or(false) && (f.size || f.max)) {
    return {kInvalidOptions,
            "the 'capped' field needs to be true when either the 'size' or 'max' "
            "fields are present"};
  }
  if (f.size && (*f.size <= 0 || *f.size > kMostBytes)) {
    return {kBadValue,
            "BSON field 'size' value must be >= 1, actual value '" + std::to_string(*f.size) + "'"};
  }
  if (f.max && *f.max >= INT32_MAX) {
    return {kBadValue, "max in a capped collection has to be < 2^31 or not set"};
  }
  return Status::Ok();
}

Status CheckValidation(const CreateFields& f, std::string_view database) {
  if (f.validation_level && *f.validation_level != "off" && *f.validation_level != "strict" &&
      *f.validation_level != "moderate") {
    return {kBadValue, "Enumeration value '" + std::string(*f.validation_level) +
                           "' for field 'create.validationLevel' is not a valid value."};
  }
  if (f.validation_action && *f.validation_action != "error" && *f.validation_action != "warn") {
    return {kBadValue, "Enumeration value '" + std::string(*f.validation_action) +
                           "' for field 'create.validationAction' is not a valid value."};
  }
  if (f.validator && (database == "admin" || database == "local" || database == "config")) {
    return {kInvalidOptions, "Document validators are not allowed on collections of the " +
                                 std::string(database) + " internal database"};
  }
  return Status::Ok();
}

Status CheckView(const CreateFields& f) {
  if (!f.view_on) {
    if (f.pipeline.present) {
      return {kInvalidOptions, "'pipeline' cannot be specified without 'viewOn'"};
    }
    return Status::Ok();
  }
  if (f.view_on->empty()) {
    return {kBadValue, "'viewOn' cannot be empty"};
  }
  if (f.capped || f.size || f.max || f.validator || f.validation_level || f.validation_action ||
      f.storage_engine || f.index_defaults || !f.clustered_index.missing()) {
    return {kInvalidOptions, "Options of a collection cannot be given for a view"};
  }
  return Status::Ok();
}

bson::Document StoredOptions(const CreateFields& f) {
  bson::Builder out;
  if (f.capped.value_or(false)) {
    out.Append("capped", true);
    int64_t size = engine::CappedSize(*f.size);
    if (size <= INT32_MAX) {
      out.Append("size", static_cast<int32_t>(size));
    } else {
      out.Append("size", size);
    }
    if (f.max && *f.max > 0) {
      out.Append("max", static_cast<int32_t>(*f.max));
    }
  }
  if (f.storage_engine) {
    out.Append("storageEngine", *f.storage_engine);
  }
  if (f.index_defaults) {
    out.Append("indexOptionDefaults", *f.index_defaults);
  }
  if (f.change_images) {
    out.Append("changeStreamPreAndPostImages", *f.change_images);
  }
  if (f.validator) {
    out.Append("validator", *f.validator);
  }
  if (f.validation_level) {
    out.Append("validationLevel", *f.validation_level);
  } else if (f.validator) {
    out.Append("validationLevel", "strict");
  }
  if (f.validation_action) {
    out.Append("validationAction", *f.validation_action);
  } else if (f.validator) {
    out.Append("validationAction", "error");
  }
  if (f.view_on) {
    out.Append("viewOn", *f.view_on).AppendArray("pipeline", f.pipeline.view);
  }
  if (f.collation) {
    out.Append("collation", *f.collation);
  }
  return out.Finish();
}

Status RunCreate(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("create", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  i.call.summary.ns = ns;
  CreateFields f;
  RETURN_IF_ERROR(request::ReadFields<C>("create", i.body(), true, kCreateRows, &f));
  if (f.collation && f.collation->empty()) {
    return {kBadValue, "'collation' cannot be an empty document."};
  }
  if (f.timeseries) {
    return {kInvalidOptions, "Time-series collections are not supported"};
  }
  if (!f.clustered_index.missing()) {
    return {kInvalidOptions, "Clustered collections are not supported"};
  }
  if (!f.auto_index_id) {
    return {kInvalidOptions,
            "The autoIndexId option is not supported: collections have an _id "
            "index"};
  }
  if (name.find('$') != std::string_view::npos) {
    return {kInvalidNamespace, "Invalid collection name: " + std::string(name)};
  }
  if (name.starts_with("system.") && name != "system.js" && name != "system.profile") {
    return {kInvalidNamespace, "Cannot create system collection: " + ns};
  }
  RETURN_IF_ERROR(CheckCapped(f));
  RETURN_IF_ERROR(CheckValidation(f, i.database()));
  RETURN_IF_ERROR(CheckView(f));
  bson::Document options = StoredOptions(f);
  return engine::CreateCollection(i.operation, ns, options);
}

Status RunDrop(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("drop", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  i.call.summary.ns = ns;
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
  RETURN_IF_ERROR(request::CheckDatabaseName(i.database()));
  bson::Element flag = i.body().front();
  if (flag.value().nullish()) {
    return request::MissingField("dropDatabase", "dropDatabase");
  }
  if (!flag.value().is_number()) {
    return request::WrongType("dropDatabase", flag, "[int, decimal, double, long]");
  }
  if (bson::ClampedInt64(flag.value()) != 1) {
    return {5255100, "have to pass 1 as db parameter"};
  }
  if (i.database() == "admin" || i.database() == "local" || i.database() == "config") {
    return {kIllegalOperation,
            "Dropping the '" + std::string(i.database()) + "' database is prohibited."};
  }
  return engine::DropDatabase(i.operation, i.database());
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

// CollectionUUIDMismatch unless the collection exists and has that UUID.
Status CheckUuid(Invocation& i, const std::string& ns, const bson::Element& wanted) {
  ASSIGN_OR_RETURN(std::string_view bytes, UuidOf(wanted));
  std::string actual;
  for (const auto& [name, info] : i.engine.catalog().snapshot()->collections) {
    std::string_view uuid(reinterpret_cast<const char*>(info->uuid.data()), info->uuid.size());
    if (uuid == bytes && !info->is_view()) {
      actual = name;
    }
  }
  if (actual == ns) {
    return Status::Ok();
  }
  size_t dot = ns.find('.');
  bool here = actual.starts_with(ns.substr(0, dot + 1));
  bson::Builder extra;
  extra.Append("db", ns.substr(0, dot))
      .Append("collectionUUID", wanted.value())
      .Append("expectedCollection", ns.substr(dot + 1));
  if (here) {
    extra.Append("actualCollection", actual.substr(dot + 1));
  } else {
    extra.AppendNull("actualCollection");
  }
  return Status(kCollectionUUIDMismatch, "Collection UUID does not match that specified")
      .WithExtra(std::string(extra.Finish().bytes()));
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
  RETURN_IF_ERROR(CheckUuid(i, to, given));
  return true;
}

bool IsReserved(std::string_view ns) {
  std::string_view name = ns.substr(ns.find('.') + 1);
  return name.starts_with("system.") || name.find('$') != std::string_view::npos ||
         ns == "local.oplog.rs";
}

Result<std::string> FullNamespace(std::string_view full) {
  size_t dot = full.find('.');
  if (dot == std::string_view::npos) {
    return Status(kInvalidNamespace, "Invalid namespace specified '" + std::string(full) + "'");
  }
  return request::Namespace(full.substr(0, dot), full.substr(dot + 1));
}

Status RunRename(Invocation& i) {
  bson::Element first = i.body().front();
  if (first.type() != bson::Type::kString) {
    return request::WrongType("renameCollection", first, "string");
  }
  RenameFields f;
  RETURN_IF_ERROR(
      request::ReadFields<RenameFields>("renameCollection", i.body(), true, kRenameRows, &f));
  ASSIGN_OR_RETURN(std::string from, FullNamespace(first.value().AsString()));
  ASSIGN_OR_RETURN(std::string to, FullNamespace(f.to));
  if (IsReserved(from) || IsReserved(to)) {
    return {kIllegalOperation, std::string("error with ") +
                                   (IsReserved(from) ? "source" : "target") +
                                   " namespace: Illegal name " + (IsReserved(from) ? from : to)};
  }
  if (!f.uuid.missing()) {
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
  ASSIGN_OR_RETURN(auto match, expr::match::Filter::Parse(filter, &context));
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
  out.Append("name", info.name).Append("type", info.is_view() ? "view" : "collection");
  if (name_only) {
    return out.Finish();
  }
  out.Append("options", info.options).BeginDocument("info");
  out.Append("readOnly", info.is_view());
  if (!info.is_view()) {
    out.Append("uuid",
               bson::Value::Binary({reinterpret_cast<const char*>(info.uuid.data()), 16}, 4));
  }
  out.End();
  if (!info.is_view() && !info.indexes.empty()) {
    out.Append("idIndex", info.indexes.front()->spec);
  }
  return out.Finish();
}

bson::Document SystemViewsEntry(bool name_only) {
  bson::Builder out;
  out.Append("name", "system.views").Append("type", "collection");
  if (!name_only) {
    out.BeginDocument("options").End().BeginDocument("info").Append("readOnly", false).End();
  }
  return out.Finish();
}

Status RunListCollections(Invocation& i) {
  RETURN_IF_ERROR(request::CheckDatabaseName(i.database()));
  ListCollectionsFields f;
  RETURN_IF_ERROR(
      request::ReadFields<L>("listCollections", i.body(), true, kListCollectionsRows, &f));
  ASSIGN_OR_RETURN(auto batch_size, ReadBatchSize(f.cursor));
  std::vector<bson::Document> all;
  bool has_views = false;
  for (const auto& info : i.engine.catalog().snapshot()->InDatabase(i.database())) {
    if (f.authorized && !May(i, Action::find, auth::Collection(i.database(), info->name))) {
      continue;
    }
    all.push_back(CollectionEntry(*info, f.name_only));
    has_views = has_views || info->is_view();
  }
  if (has_views) {
    all.push_back(SystemViewsEntry(f.name_only));
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
  bool every = May(i, Action::listDatabases, auth::Cluster());
  if (!every && f.authorized && !*f.authorized) {
    return Unauthorized(i);
  }
  every = every && !f.authorized.value_or(false);
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
    bool empty = true;
    for (const auto& info : snapshot->InDatabase(name)) {
      if (info->is_view()) {
        continue;
      }
      bytes += static_cast<int64_t>(
          i.engine.store().ApproximateSize(store::TableRange(info->table->id)));
      empty = empty && info->state->documents == 0;
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
      {{"create", "", kChange | kInTransaction | kStableApi, "makes a collection or a view"},
       RunCreate,
       OnCollection(Action::createCollection)},
      {{"drop", "", kChange | kStableApi, "removes a collection or a view"},
       RunDrop,
       OnCollection(Action::dropCollection)},
      {{"dropDatabase", "", kChange | kStableApi, "removes a database"},
       RunDropDatabase,
       OnDatabase(Action::dropDatabase)},
      {{"renameCollection", "", kChange | kAdminOnly, "renames a collection"},
       RunRename,
       Checked(CheckRenameAccess)},
      {{"collMod", "", kChange | kStableApi, "changes options of a collection or an index"},
       RunCollMod,
       OnCollection(Action::collMod)},
      {{"listCollections", "", kRead | kStableApi, "lists collections and views"},
       RunListCollections,
       Checked(CheckListAccess)},
      {{"listDatabases", "", kRead | kAdminOnly | kStableApi, "lists databases"},
       RunListDatabases,
       kLoggedIn},
  };
  return kRows;
}

}  // namespace quire::command
