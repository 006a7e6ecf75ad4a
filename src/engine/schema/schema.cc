// SPDX-License-Identifier: Apache-2.0
#include "engine/schema/schema.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <thread>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"
#include "engine/read/view.h"
#include "engine/read/view_graph.h"
#include "engine/schema/index_spec_internal.h"
#include "engine/statistics.h"
#include "pipeline/parse.h"
#include "request/crud.h"

namespace quire::engine {

namespace {

constexpr size_t kMaxIndexes = 64;

std::pair<std::string_view, std::string_view> Split(std::string_view ns) {
  size_t dot = ns.find('.');
  return {ns.substr(0, dot), ns.substr(dot + 1)};
}

Status CreateInTransaction(const Operation& operation, std::string_view database,
                           std::string_view name, bson::View options, bson::View id_index) {
  if (options.Has("viewOn")) {
    return {kOperationNotSupportedInTransaction,
            "Cannot create a view in a multi-document transaction."};
  }
  std::string ns = std::string(database) + "." + std::string(name);
  if (operation.session->Created(ns) != nullptr) {
    return {kNamespaceExists, "Collection already exists. NS: " + ns};
  }
  ASSIGN_OR_RETURN(auto pending, store::PendingCollection::Create(
                                     operation.engine.catalog(), *operation.session->transaction(),
                                     database, name, options, id_index));
  operation.session->AddCreated(std::move(pending));
  return Status::Ok();
}

// Databases whose names differ in the case of letters alone do not go together.
Status CheckDatabaseCase(const store::CatalogSnapshot& snapshot, std::string_view database) {
  auto same_letter = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  for (const std::string& there : snapshot.Databases()) {
    if (there != database &&
        std::equal(there.begin(), there.end(), database.begin(), database.end(), same_letter)) {
      return {kDatabaseDifferCase, "db already exists with different case already have: [" + there +
                                       "] trying to create [" + std::string(database) + "]"};
    }
  }
  return Status::Ok();
}

// NamespaceExists when it is there. Waits for a transaction that is creating it.
Status Create(const Operation& operation, std::string_view database, std::string_view name,
              bson::View options, bson::View id_index) {
  RETURN_IF_ERROR(CheckDatabaseCase(*operation.engine.catalog().snapshot(), database));
  if (operation.in_transaction) {
    return CreateInTransaction(operation, database, name, options, id_index);
  }
  while (true) {
    Status made = operation.engine.catalog()
                      .Create(database, name, options, id_index, operation.durability)
                      .status();
    if (made.code() != kWriteConflict) {
      return made;
    }
    RETURN_IF_ERROR(operation.op.CheckInterruptNow());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

bson::Document IdIndexSpec(const expr::Collator* collator, const bson::Value& clustered) {
  bson::Builder spec;
  if (clustered.is_document()) {
    spec.AppendFields(clustered.AsDocument()).Append("clustered", true);
  } else {
    spec.Append("v", 2).BeginDocument("key").Append("_id", 1).End().Append("name", "_id_");
  }
  if (collator != nullptr) {
    spec.Append("collation", collator->spec());
  }
  return spec.Finish();
}

Status CreateImplicitly(const Operation& operation, const std::string& ns) {
  auto [database, name] = Split(ns);
  RETURN_IF_ERROR(CheckNewName(ns));
  bson::Document id_index = IdIndexSpec(nullptr, bson::Value());
  Status made = Create(operation, database, name, bson::View(), id_index);
  return made.code() == kNamespaceExists ? Status::Ok() : made;
}

namespace {

// The same options in whatever order.
bool SameOptions(bson::View a, bson::View b) {
  if (a.Count() != b.Count()) {
    return false;
  }
  for (const bson::Element& e : a) {
    bson::Value other = b[e.name()];
    if (other.missing() || bson::Compare(e.value(), other) != 0) {
      return false;
    }
  }
  return true;
}

// A view over a view must compare strings as that one does, and views must not lead in a circle.
Status CheckViewSource(const Operation& operation, const std::string& ns, const std::string& source,
                       const expr::Collator* collator) {
  store::CollectionPtr info = operation.engine.catalog().Find(source);
  if (info != nullptr && info->is_view() && !SameCollation(info->collator.get(), collator)) {
    return {kOptionNotSupportedOnView,
            "View " + ns + " has conflicting collation with view " + source};
  }
  if (source == ns) {
    return {kGraphContainsCycle, "View cycle detected: " + ns + " => " + ns};
  }
  return ResolveView(operation, source).status();
}

}  // namespace

Status CheckValidatable(std::string_view ns) {
  auto [database, name] = Split(ns);
  bool internal = database == "admin" || database == "local" || database == "config";
  if (internal || name.starts_with("system.")) {
    return {
        kInvalidOptions,
        "Document validators are not allowed on the server's own collections: " + std::string(ns)};
  }
  return Status::Ok();
}

Status CheckNewName(std::string_view ns) {
  constexpr std::string_view kOwn[] = {"system.js",    "system.profile", "system.replset",
                                       "system.roles", "system.users",   "system.version",
                                       "system.views"};
  auto [database, name] = Split(ns);
  RETURN_IF_ERROR(request::CheckDatabaseName(database));
  if (ns.size() > request::kLongestNamespace) {
    return {kInvalidNamespace,
            "Fully qualified namespace is too long. Namespace: " + std::string(ns) + " Max: 255"};
  }
  if (name.find('$') != std::string_view::npos) {
    return {kInvalidNamespace, "Invalid collection name: " + std::string(name)};
  }
  if (name.starts_with("system.") && ns != "admin.system.keys" &&
      std::find(std::begin(kOwn), std::end(kOwn), name) == std::end(kOwn)) {
    return {kInvalidNamespace, "Invalid system namespace: " + std::string(ns)};
  }
  if (name.find(".system.") != std::string_view::npos) {
    return {kBadValue, "Invalid namespace: " + std::string(ns)};
  }
  return Status::Ok();
}

Status CheckViewOn(std::string_view database, std::string_view view_on) {
  if (view_on.empty()) {
    return {kBadValue, "'viewOn' cannot be empty"};
  }
  if (view_on.front() == '.' || view_on.front() == '$' ||
      view_on.find('\0') != std::string_view::npos) {
    return {kInvalidNamespace, "Invalid namespace for 'viewOn': " + std::string(database) + "." +
                                   std::string(view_on)};
  }
  return Status::Ok();
}

Result<bson::Document> ViewPipeline(bson::View stages) {
  constexpr size_t kMostBytes = size_t{16} * 1000 * 1000;
  bson::Builder out;
  size_t bytes = 0;
  out.BeginArray("pipeline");
  for (const bson::Element& stage : stages) {
    if (stage.type() == bson::Type::kDocument) {
      bytes += stage.value().AsDocument().size();
      out.Push(stage.value());
    } else if (!stage.value().nullish()) {
      return Status(kTypeMismatch, "Each element of the 'pipeline' array must be an object");
    }
  }
  if (bytes > kMostBytes) {
    return Status(kViewPipelineMaxSizeExceeded,
                  "View pipeline exceeds maximum size; maximum size is 16000000");
  }
  out.End();
  bson::Document list = out.Finish();
  return bson::Document(list["pipeline"].AsArray());
}

Status CheckChangeImages(bson::View images) {
  constexpr std::string_view kWhere = "changeStreamPreAndPostImages";
  for (const bson::Element& e : images) {
    if (e.name() != "enabled") {
      return request::UnknownField(kWhere, e.name());
    }
    if (!e.value().nullish() && e.type() != bson::Type::kBool) {
      return request::WrongType(kWhere, e, "bool");
    }
  }
  return images["enabled"].nullish() ? request::MissingField(kWhere, "enabled") : Status::Ok();
}

Status CheckViewPipeline(const Operation& operation, const std::string& ns,
                         const std::string& source, bson::View pipeline) {
  auto [database, name] = Split(ns);
  pipeline::PipelineOptions options;
  options.ns = {std::string(database), std::string(name)};
  options.place = pipeline::PipelinePlace::kView;
  expr::Context context;
  RETURN_IF_ERROR(FillContext(operation, bson::View(), &context));
  ASSIGN_OR_RETURN(pipeline::Stages stages, pipeline::ParsePipeline(pipeline, options, &context));
  return CheckNewView(operation, ns, source, stages);
}

namespace {

// Two collections never have the same uuid.
Status CheckUnusedUuid(const Operation& operation, const bson::Value& uuid) {
  if (uuid.missing()) {
    return Status::Ok();
  }
  for (const store::CollectionPtr& info : operation.engine.catalog().snapshot()->All()) {
    const std::string_view own(reinterpret_cast<const char*>(info->uuid.data()), info->uuid.size());
    if (uuid.AsBinary() == own) {
      return {kNamespaceExists, "There is a collection with that UUID already: " + info->ns()};
    }
  }
  return Status::Ok();
}

}  // namespace

Status CreateCollection(const Operation& operation, const std::string& ns, bson::View options) {
  auto [database, name] = Split(ns);
  std::shared_ptr<const expr::Collator> collator;
  if (bson::Value collation = options["collation"]; collation.is_document()) {
    ASSIGN_OR_RETURN(collator, expr::Collator::Parse(collation.AsDocument()));
  }
  bson::Builder stored;
  for (const bson::Element& e : options) {
    if (e.name() == "collation") {
      if (collator != nullptr) {
        stored.Append("collation", collator->spec());
      }
    } else {
      stored.Append(e);
    }
  }
  bson::Document kept = stored.Finish();
  RETURN_IF_ERROR(store::CheckDefinitionRoom(kept.bytes().size()));
  if (bson::Value view_on = options["viewOn"]; view_on.is_string()) {
    std::string source = std::string(database) + "." + std::string(view_on.AsString());
    RETURN_IF_ERROR(CheckViewSource(operation, ns, source, collator.get()));
    bson::Value pipeline = options["pipeline"];
    RETURN_IF_ERROR(CheckViewPipeline(operation, ns, source,
                                      pipeline.is_array() ? pipeline.AsArray() : bson::View()));
  }
  const bson::Value uuid = options[store::kUuidOption];
  RETURN_IF_ERROR(CheckUnusedUuid(operation, uuid));
  bson::Document id_index = IdIndexSpec(collator.get(), options["clusteredIndex"]);
  Status made = Create(operation, database, name, kept, id_index);
  if (made.code() != kNamespaceExists || operation.in_transaction || !uuid.missing()) {
    return made;
  }
  // What is there as it was wanted is as good as made.
  ASSIGN_OR_RETURN(store::CollectionPtr there, operation.Find(ns));
  bool same = there != nullptr && SameOptions(there->options, kept);
  return same ? Status::Ok() : made;
}

Status DropCollection(const Operation& operation, const std::string& ns, int64_t* indexes) {
  if (auto [database, name] = Split(ns); name == "system.views") {
    *indexes = 1;
    return operation.engine.catalog().DropViews(database, operation.durability);
  }
  store::CollectionPtr collection = operation.engine.catalog().Find(ns);
  *indexes = collection ? CountIndexes(*collection) : 0;
  return operation.engine.catalog().Drop(ns, operation.durability);
}

Status DropDatabase(const Operation& operation, std::string_view database) {
  return operation.engine.catalog().DropDatabase(database, operation.durability);
}

Status RenameCollection(const Operation& operation, const std::string& from, const std::string& to,
                        bool drop_target) {
  store::CollectionPtr source = operation.engine.catalog().Find(from);
  if (source != nullptr && source->is_view()) {
    return {kCommandNotSupportedOnView, "cannot rename view: " + from};
  }
  if (from == to) {
    return {kIllegalOperation, "Can't rename a collection to itself"};
  }
  RETURN_IF_ERROR(CheckDatabaseCase(*operation.engine.catalog().snapshot(), Split(to).first));
  if (store::CollectionPtr target = operation.engine.catalog().Find(to);
      source != nullptr && target != nullptr && target->is_view()) {
    return {kNamespaceExists, "a view already exists with that name: " + to};
  }
  return operation.engine.catalog().Rename(from, to, drop_target, operation.durability);
}

namespace {

Status CreateIndexesInTransaction(const Operation& operation, const std::string& ns,
                                  const std::vector<store::NewIndex>& indexes) {
  store::PendingCollection* pending = operation.session->Created(ns);
  if (pending == nullptr) {
    return {kOperationNotSupportedInTransaction,
            "Cannot create new indexes on existing collection " + ns +
                " in a multi-document transaction."};
  }
  store::Transaction& txn = *operation.session->transaction();
  if (txn.PendingDocuments(*pending->info()->state) != 0) {
    return {kOperationNotSupportedInTransaction,
            "Cannot create new indexes on non-empty collection " + ns +
                " in a multi-document transaction."};
  }
  return pending->AddIndexes(txn, indexes);
}

// {clustered: true} may name the clustered index that is there; createIndexes makes none.
Status CheckClusteredOption(const store::CollectionInfo* collection, bson::View spec) {
  bson::Value clustered = spec["clustered"];
  bool asked = clustered.is_number() ? !bson::IsZero(clustered)
                                     : clustered.type() == bson::Type::kBool && clustered.AsBool();
  if (!asked) {
    return Status::Ok();
  }
  if (collection == nullptr) {
    return {6100900, "The 'clustered' option cannot create a collection with createIndexes"};
  }
  if (!collection->clustered ||
      bson::CompareDocuments(spec["key"].AsDocument(), collection->indexes.front()->key_pattern) !=
          0) {
    return {6243700, "The 'clustered' option is for the key of a clustered collection alone"};
  }
  return Status::Ok();
}

Result<CreatedIndexes> TryCreateIndexes(const Operation& operation, const std::string& ns,
                                        const std::vector<bson::View>& specs) {
  CreatedIndexes result;
  ASSIGN_OR_RETURN(store::CollectionPtr collection, operation.Find(ns));
  if (collection != nullptr && collection->is_oplog) {
    return Status(kCannotCreateIndex, "cannot have an index on the oplog");
  }
  if (collection != nullptr && collection->is_view()) {
    return Status(kCommandNotSupportedOnView, "Cannot create indexes on a view");
  }
  const expr::Collator* collator = collection ? collection->collator.get() : nullptr;
  std::vector<bson::Document> wanted;
  for (bson::View spec : specs) {
    RETURN_IF_ERROR(operation.op.CheckInterrupt());
    ASSIGN_OR_RETURN(bson::Document normal, NormaliseIndexSpec(spec, collator));
    RETURN_IF_ERROR(CheckClusteredOption(collection.get(), spec));
    if (normal.view().Has("hidden") && Split(ns).second.starts_with("system.")) {
      return Status(kBadValue, "Can't hide index on system collection");
    }
    wanted.push_back(std::move(normal));
  }
  if (collection == nullptr) {  // nothing is created when they cannot be
    store::CollectionInfo none;
    std::vector<bson::Document> copies;
    for (const bson::Document& spec : wanted) {
      copies.emplace_back(spec.view());
    }
    RETURN_IF_ERROR(MissingIndexes(none, std::move(copies)).status());
  }
  while (collection == nullptr) {  // once more when another drops it at once
    RETURN_IF_ERROR(operation.op.CheckInterruptNow());
    RETURN_IF_ERROR(CreateImplicitly(operation, ns));
    result.created_collection = true;
    ASSIGN_OR_RETURN(collection, operation.Find(ns));
  }
  result.before = static_cast<int32_t>(CountIndexes(*collection));
  ASSIGN_OR_RETURN(std::vector<store::NewIndex> fresh,
                   MissingIndexes(*collection, std::move(wanted)));
  if (collection->indexes.size() + fresh.size() > kMaxIndexes) {
    return Status(kCannotCreateIndex, "add index fails, too many indexes for " + ns);
  }
  if (fresh.empty()) {
    result.after = result.before;
    result.note = "all indexes already exist";
    return result;
  }
  for (const store::NewIndex& index : fresh) {
    RETURN_IF_ERROR(store::CheckDefinitionRoom(index.spec.bytes().size()));
  }
  RETURN_IF_ERROR(operation.in_transaction ? CreateIndexesInTransaction(operation, ns, fresh)
                                           : operation.engine.catalog().CreateIndexes(
                                                 operation.op, ns, fresh, operation.durability));
  result.after = result.before + static_cast<int32_t>(fresh.size());
  if (fresh.size() < specs.size()) {
    result.note = "index already exists";
  }
  return result;
}

}  // namespace

Result<CreatedIndexes> CreateIndexes(const Operation& operation, const std::string& ns,
                                     const std::vector<bson::View>& specs) {
  constexpr auto kPause = std::chrono::milliseconds(5);
  while (true) {
    Result<CreatedIndexes> created = TryCreateIndexes(operation, ns, specs);
    if (created.status().code() != kBackgroundOperationInProgressForNamespace &&
        !IsGone(created.status(), operation)) {
      return created;
    }
    RETURN_IF_ERROR(operation.op.CheckInterruptNow());
    std::this_thread::sleep_for(kPause);
  }
}

namespace {

Result<std::vector<std::string>> IndexesByPattern(const store::CollectionInfo& collection,
                                                  bson::View pattern) {
  std::vector<std::string> names;
  for (const auto* list : {&collection.indexes, &collection.building}) {
    for (const auto& index : *list) {
      if (bson::CompareDocuments(index->key_pattern, pattern) == 0) {
        names.push_back(index->name);
      }
    }
  }
  if (names.empty()) {
    return Status(kIndexNotFound, "can't find index with key: " + bson::ToJson(pattern));
  }
  if (names.size() > 1) {
    return Status(kAmbiguousIndexKeyPattern,
                  std::to_string(names.size()) + " indexes found for key: " +
                      bson::ToJson(pattern) + ", identify by name instead.");
  }
  return names;
}

// "*" or ["*"].
bool IsStar(const bson::Value& index) {
  if (index.is_array()) {
    return index.AsArray().Count() == 1 && IsStar(index.AsArray().front().value());
  }
  return index.is_string() && index.AsString() == "*";
}

Result<std::vector<std::string>> NamedIndexes(const store::CollectionInfo& collection,
                                              const bson::Value& index) {
  std::vector<std::string> names;
  if (index.is_document()) {
    return IndexesByPattern(collection, index.AsDocument());
  }
  if (IsStar(index)) {
    for (const auto& there : collection.indexes) {
      if (!there->is_id) {
        names.push_back(there->name);
      }
    }
    for (const auto& unfinished : collection.building) {
      names.push_back(unfinished->name);
    }
    return names;
  }
  if (index.is_string()) {
    names.emplace_back(index.AsString());
  } else if (index.is_array()) {
    for (const bson::Element& e : index.AsArray()) {
      if (!e.value().is_string()) {
        return Status(kTypeMismatch, "dropIndexes " + collection.ns() +
                                         " failed to drop multiple indexes: index name must be a "
                                         "string");
      }
      names.emplace_back(e.value().AsString());
    }
  } else {
    return Status(kTypeMismatch, "BSON field 'dropIndexes.index' is the wrong type '" +
                                     std::string(bson::TypeName(index.missing() ? bson::Type::kNull
                                                                                : index.type())) +
                                     "', expected types '[string, object, array]'");
  }
  return names;
}

}  // namespace

Result<std::vector<std::string>> IndexesToDrop(const store::CollectionInfo& collection,
                                               const bson::Value& index) {
  ASSIGN_OR_RETURN(auto names, NamedIndexes(collection, index));
  for (const std::string& name : names) {
    const store::IndexInfo* info = collection.FindIndex(name);
    bool building = std::any_of(collection.building.begin(), collection.building.end(),
                                [&](const auto& unfinished) { return unfinished->name == name; });
    if (building) {
      continue;
    }
    if (info == nullptr) {
      return Status(kIndexNotFound, "index not found with name [" + name + "]");
    }
    if (info->is_id && collection.clustered) {
      return Status(5979800, "It is illegal to drop the clusteredIndex");
    }
    if (info->is_id) {
      return Status(kInvalidOptions, "cannot drop _id index");
    }
  }
  return names;
}

Result<int32_t> DropIndexes(const Operation& operation, const std::string& ns,
                            const bson::Value& index) {
  store::CollectionPtr collection = operation.engine.catalog().Find(ns);
  if (collection == nullptr) {
    return Status(kNamespaceNotFound, "ns not found " + ns);
  }
  if (collection->is_view() && !collection->is_oplog) {
    return Status(kCommandNotSupportedOnView, "Cannot drop indexes on view " + ns);
  }
  auto before = static_cast<int32_t>(CountIndexes(*collection));
  ASSIGN_OR_RETURN(auto names, IndexesToDrop(*collection, index));
  if (!names.empty()) {
    RETURN_IF_ERROR(operation.engine.catalog().DropIndexes(ns, names, operation.durability));
  }
  return before;
}

}  // namespace quire::engine
