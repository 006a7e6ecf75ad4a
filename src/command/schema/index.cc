// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "command/authorise.h"
#include "command/command.h"
#include "command/schema/listed_index.h"
#include "engine/schema/schema.h"
#include "request/crud.h"
#include "store/build/index_build.h"

namespace quire::command {

namespace {

using request::Field;
using request::FieldRow;

struct CreateIndexesFields {
  request::ArrayArgument indexes;
  bool ignore_unknown = false;
  bson::Value commit_quorum;
};
constexpr FieldRow<CreateIndexesFields> kCreateIndexesRows[] = {
    Field<&CreateIndexesFields::indexes>("indexes", request::Need::kRequired),
    Field<&CreateIndexesFields::ignore_unknown>("ignoreUnknownIndexOptions"),
    Field<&CreateIndexesFields::commit_quorum>("commitQuorum"),
};

// How many members must be ready to commit the build: here there is one.
Status CheckCommitQuorum(const bson::Value& quorum) {
  constexpr int64_t kMostMembers = 50;
  if (quorum.missing()) {
    return Status::Ok();
  }
  if (quorum.is_string()) {
    std::string_view tag = quorum.AsString();
    if (tag == "majority" || tag == "votingMembers") {
      return Status::Ok();
    }
    return {kUnknownReplWriteConcern, "No write concern mode named '" + std::string(tag) +
                                          "' found in replica set "
                                          "configuration"};
  }
  if (!quorum.is_number()) {
    return {kFailedToParse, "commitQuorum has to be a number or a string: " + bson::ToJson(quorum)};
  }
  int64_t members = bson::ClampedInt64(quorum);
  if (members < 0 || members > kMostMembers) {
    return {kFailedToParse,
            "commitQuorum has to be a non-negative number and not greater than 50: " +
                std::to_string(members)};
  }
  if (members > 1) {
    return {kUnsatisfiableCommitQuorum,
            "Not enough data-bearing voting nodes to satisfy the commit quorum: " +
                std::to_string(members)};
  }
  return Status::Ok();
}

struct CommitQuorumFields {
  request::ArrayArgument index_names;
  bson::Value commit_quorum;
};
constexpr FieldRow<CommitQuorumFields> kCommitQuorumRows[] = {
    Field<&CommitQuorumFields::index_names>("indexNames", request::Need::kRequired),
    Field<&CommitQuorumFields::commit_quorum>("commitQuorum", request::Need::kRequired),
};

// Of a build that is under way. A member builds for itself and commits when it is done: every
// quorum that can be met is met then.
Status RunSetCommitQuorum(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("setIndexCommitQuorum", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  CommitQuorumFields f;
  RETURN_IF_ERROR(request::ReadFields<CommitQuorumFields>("setIndexCommitQuorum", i.body(), true,
                                                          kCommitQuorumRows, &f));
  RETURN_IF_ERROR(CheckCommitQuorum(f.commit_quorum));
  std::vector<std::string_view> names;
  for (const bson::Element& e : f.index_names.view) {
    if (e.type() != bson::Type::kString) {
      return {kTypeMismatch, "BSON field 'setIndexCommitQuorum.indexNames." +
                                 std::string(e.name()) + "' is the wrong type '" +
                                 std::string(bson::TypeName(e.type())) +
                                 "', expected type 'string'"};
    }
    names.push_back(e.value().AsString());
  }
  store::CollectionPtr collection = i.engine.catalog().Find(ns);
  if (collection == nullptr) {
    return {kNamespaceNotFound, "Collection '" + ns + "' was not found"};
  }
  const bool building =
      !names.empty() && std::all_of(names.begin(), names.end(), [&](std::string_view wanted) {
        return std::any_of(collection->building.begin(), collection->building.end(),
                           [&](const auto& index) { return index->name == wanted; });
      });
  return building ? Status::Ok()
                  : Status(kIndexNotFound, "Cannot find an index build on collection '" + ns +
                                               "' with the provided index names");
}

// The specs as the command gives them; `kept` owns those that had to be rewritten.
Status ReadIndexSpecs(const CreateIndexesFields& f, std::vector<bson::Document>* kept,
                      std::vector<bson::View>* specs) {
  for (const bson::Element& e : f.indexes.view) {
    if (e.type() != bson::Type::kDocument) {
      return {kTypeMismatch, "BSON field 'createIndexes.indexes." + std::string(e.name()) +
                                 "' is the wrong type '" + std::string(bson::TypeName(e.type())) +
                                 "', expected type 'object'"};
    }
    bson::View spec = e.value().AsDocument();
    kept->push_back(f.ignore_unknown ? engine::KnownIndexOptions(spec) : bson::Document(spec));
  }
  if (kept->empty()) {
    return {kBadValue, "Must specify at least one index to create"};
  }
  specs->assign(kept->begin(), kept->end());
  return Status::Ok();
}

Status RunCreateIndexes(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("createIndexes", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  i.call.summary.ns = ns;
  CreateIndexesFields f;
  RETURN_IF_ERROR(request::ReadFields<CreateIndexesFields>("createIndexes", i.body(), true,
                                                           kCreateIndexesRows, &f));
  RETURN_IF_ERROR(CheckCommitQuorum(f.commit_quorum));
  std::vector<bson::Document> kept;
  std::vector<bson::View> specs;
  RETURN_IF_ERROR(ReadIndexSpecs(f, &kept, &specs));
  ASSIGN_OR_RETURN(auto result, engine::CreateIndexes(i.operation, ns, specs));
  i.reply()
      .Append("numIndexesBefore", result.before)
      .Append("numIndexesAfter", result.after)
      .Append("createdCollectionAutomatically", result.created_collection);
  if (result.after > result.before) {
    f.commit_quorum.missing() ? i.reply().Append("commitQuorum", "votingMembers")
                              : i.reply().Append("commitQuorum", f.commit_quorum);
  }
  if (!result.note.empty()) {
    i.reply().Append("note", result.note);
  }
  return Status::Ok();
}

struct ListIndexesFields {
  std::optional<bson::View> cursor;
  bool build_uuids = false;
  bool build_info = false;
};
constexpr FieldRow<ListIndexesFields> kListIndexesRows[] = {
    Field<&ListIndexesFields::cursor>("cursor"),
    Field<&ListIndexesFields::build_uuids>("includeBuildUUIDs"),
    Field<&ListIndexesFields::build_info>("includeIndexBuildInfo"),
};

// An index that is being built, with its build's id where that is asked for.
bson::Document DescribeBuild(const store::IndexInfo& index, const ListIndexesFields& f) {
  bson::Value uuid = bson::Value::Binary(
      {reinterpret_cast<const char*>(index.build->uuid.data()), index.build->uuid.size()}, 4);
  bson::Document spec = ListedIndex(index.spec);
  bson::Builder out;
  if (f.build_info) {
    out.BeginDocument("indexBuildInfo").Append("buildUUID", uuid).End();
  } else if (f.build_uuids) {
    out.Append("buildUUID", uuid);
  } else {
    return spec;
  }
  out.Append("spec", spec);
  return out.Finish();
}

// system.views is no stored collection; it is there as long as the database has views.
bool HasViews(Invocation& i) {
  auto in_database = i.engine.catalog().snapshot()->InDatabase(i.database());
  return std::any_of(in_database.begin(), in_database.end(),
                     [](const auto& info) { return info->is_view() && !info->is_oplog; });
}

Result<std::vector<bson::Document>> ListedIndexes(Invocation& i, std::string_view name,
                                                  const std::string& ns,
                                                  const ListIndexesFields& f) {
  auto described = [&](bson::View spec) {
    bson::Document listed = ListedIndex(spec);
    return f.build_info ? bson::Builder().Append("spec", listed).Finish() : listed;
  };
  if (name == "system.views" && HasViews(i)) {
    bson::Builder spec;
    spec.Append("v", 2).BeginDocument("key").Append("_id", 1).End().Append("name", "_id_");
    bson::Document id_index = spec.Finish();
    return std::vector<bson::Document>{described(id_index)};
  }
  store::CollectionPtr collection = i.engine.catalog().Find(ns);
  if (collection == nullptr) {
    return Status(kNamespaceNotFound, "ns does not exist: " + ns);
  }
  if (collection->is_view() && !collection->is_oplog) {
    return Status(kCommandNotSupportedOnView, "Namespace " + ns + " is a view, not a collection");
  }
  std::vector<bson::Document> specs;
  for (const auto& index : collection->indexes) {
    specs.push_back(described(index->spec));
  }
  for (const auto& index : collection->building) {
    specs.push_back(DescribeBuild(*index, f));
  }
  return specs;
}

Status RunListIndexes(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("listIndexes", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  ListIndexesFields f;
  RETURN_IF_ERROR(
      request::ReadFields<ListIndexesFields>("listIndexes", i.body(), true, kListIndexesRows, &f));
  if (f.build_uuids && f.build_info) {
    return {kInvalidOptions,
            "The includeBuildUUIDs flag and includeBuildIndexInfo flag cannot both be set to true"};
  }
  ASSIGN_OR_RETURN(auto specs, ListedIndexes(i, name, ns, f));
  std::optional<int64_t> batch_size;
  if (f.cursor) {
    for (const bson::Element& e : *f.cursor) {
      if (e.name() != "batchSize") {
        return request::UnknownField("listIndexes.cursor", e.name());
      }
      if (e.type() == bson::Type::kNull) {
        continue;
      }
      RETURN_IF_ERROR(request::ReadField("listIndexes.cursor", e, &batch_size));
      if (*batch_size < 0) {
        return {kBadValue, "BSON field 'batchSize' value must be >= 0, actual value '" +
                               std::to_string(*batch_size) + "'"};
      }
    }
  }
  return AppendDocuments(i, ns, std::move(specs), batch_size);
}

Status RunReIndex(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("reIndex", i.body()));
  RETURN_IF_ERROR(request::Namespace(i.database(), name).status());
  return {kIllegalOperation, "reIndex is only allowed on a standalone server"};
}

struct DropIndexesFields {
  bson::Value index;
};
constexpr FieldRow<DropIndexesFields> kDropIndexesRows[] = {
    Field<&DropIndexesFields::index>("index"),
};

Status RunDropIndexes(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("dropIndexes", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  i.call.summary.ns = ns;
  DropIndexesFields f;
  RETURN_IF_ERROR(
      request::ReadFields<DropIndexesFields>("dropIndexes", i.body(), true, kDropIndexesRows, &f));
  if (!i.body().Has("index")) {
    return request::MissingField("dropIndexes", "index");
  }
  ASSIGN_OR_RETURN(int32_t before, engine::DropIndexes(i.operation, ns, f.index));
  i.reply().Append("nIndexesWas", before);
  bool all = f.index.is_string() && f.index.AsString() == "*";
  if (f.index.is_array() && f.index.AsArray().Count() == 1) {
    bson::Value only = f.index.AsArray().front().value();
    all = only.is_string() && only.AsString() == "*";
  }
  if (all) {
    i.reply().Append("msg", "non-_id indexes dropped for collection");
  }
  return Status::Ok();
}

// Search indexes need a search process: refused as by a server without one.
Status RefuseSearchIndex(Invocation& i) {
  ASSIGN_OR_RETURN(auto collection, request::CollectionName(i.call.command.name, i.body()));
  RETURN_IF_ERROR(request::Namespace(i.database(), collection).status());
  return {kSearchNotEnabled, "The command " + std::string(i.call.command.name) +
                                 " requires additional configuration: this server has no Atlas "
                                 "Search"};
}

}  // namespace

std::span<const Row> IndexRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  static constexpr Row kRows[] = {
      {{"createIndexes", "", kWrite | kWriteConcern | kInTransaction | kStableApi | kToPrimary,
        "makes indexes"},
       RunCreateIndexes,
       OnCollection(Action::createIndex)},
      {{"listIndexes", "", kRead | kStableApi | kToPrimary, "lists the indexes of a collection"},
       RunListIndexes,
       OnCollection(Action::listIndexes)},
      {{"dropIndexes", "deleteIndexes", kWrite | kWriteConcern | kStableApi | kToPrimary,
        "removes indexes"},
       RunDropIndexes,
       OnCollection(Action::dropIndex)},
      {{"setIndexCommitQuorum", "", kWrite | kWriteConcern | kToPrimary,
        "how many members must be ready to commit a build"},
       RunSetCommitQuorum,
       OnCollection(Action::createIndex)},
      {{"reIndex", "", kWrite | kToPrimary,
        "refused: only for a server that is no member of a set"},
       RunReIndex,
       OnCollection(Action::reIndex)},
      {{"createSearchIndexes", "", 0, "refused: there is no search"},
       RefuseSearchIndex,
       OnCollection(Action::createSearchIndexes)},
      {{"dropSearchIndex", "", 0, "refused: there is no search"},
       RefuseSearchIndex,
       OnCollection(Action::dropSearchIndex)},
      {{"updateSearchIndex", "", 0, "refused: there is no search"},
       RefuseSearchIndex,
       OnCollection(Action::updateSearchIndex)},
      {{"listSearchIndexes", "", 0, "refused: there is no search"},
       RefuseSearchIndex,
       OnCollection(Action::listSearchIndexes)},
  };
  return kRows;
}

}  // namespace quire::command
