// SPDX-License-Identifier: Apache-2.0
#include "base/error_codes.h"
#include "base/try.h"
#include "command/command.h"
#include "engine/schema.h"
#include "request/crud.h"

namespace quire::command {

namespace {

using request::Field;
using request::FieldRow;
using request::Ignored;

struct CreateIndexesFields {
  request::ArrayArgument indexes;
};
constexpr FieldRow<CreateIndexesFields> kCreateIndexesRows[] = {
    Field<&CreateIndexesFields::indexes>("indexes", request::Need::kRequired),
    Ignored<CreateIndexesFields>("ignoreUnknownIndexOptions"),
    Ignored<CreateIndexesFields>("commitQuorum"),
};

Status RunCreateIndexes(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("createIndexes", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  i.call.summary.ns = ns;
  CreateIndexesFields f;
  RETURN_IF_ERROR(request::ReadFields<CreateIndexesFields>("createIndexes", i.body(), true,
                                                           kCreateIndexesRows, &f));
  std::vector<bson::View> specs;
  for (const bson::Element& e : f.indexes.view) {
    if (e.type() != bson::Type::kDocument) {
      return {kTypeMismatch, "BSON field 'createIndexes.indexes." + std::string(e.name()) +
                                 "' is the wrong type '" + std::string(bson::TypeName(e.type())) +
                                 "', expected type 'object'"};
    }
    specs.push_back(e.value().AsDocument());
  }
  if (specs.empty()) {
    return {kBadValue, "Must specify at least one index to create"};
  }
  ASSIGN_OR_RETURN(auto result, engine::CreateIndexes(i.operation, ns, specs));
  i.reply()
      .Append("numIndexesBefore", result.before)
      .Append("numIndexesAfter", result.after)
      .Append("createdCollectionAutomatically", result.created_collection);
  if (result.after > result.before) {
    i.reply().Append("commitQuorum", "votingMembers");
  }
  if (!result.note.empty()) {
    i.reply().Append("note", result.note);
  }
  return Status::Ok();
}

struct ListIndexesFields {
  std::optional<bson::View> cursor;
};
constexpr FieldRow<ListIndexesFields> kListIndexesRows[] = {
    Field<&ListIndexesFields::cursor>("cursor"),
    Ignored<ListIndexesFields>("includeBuildUUIDs"),
    Ignored<ListIndexesFields>("includeIndexBuildInfo"),
};

Status RunListIndexes(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("listIndexes", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  ListIndexesFields f;
  RETURN_IF_ERROR(
      request::ReadFields<ListIndexesFields>("listIndexes", i.body(), true, kListIndexesRows, &f));
  store::CollectionPtr collection = i.engine.catalog().Find(ns);
  if (collection == nullptr) {
    return {kNamespaceNotFound, "ns does not exist: " + ns};
  }
  if (collection->is_view()) {
    return {kCommandNotSupportedOnView, "Namespace " + ns + " is a view, not a collection"};
  }
  std::optional<int64_t> batch_size;
  if (f.cursor) {
    for (const bson::Element& e : *f.cursor) {
      if (e.name() != "batchSize") {
        return request::UnknownField("listIndexes.cursor", e.name());
      }
      RETURN_IF_ERROR(request::ReadField("listIndexes.cursor", e, &batch_size));
      if (*batch_size < 0) {
        return {51024, "BSON field 'batchSize' value must be >= 0, actual value '" +
                           std::to_string(*batch_size) + "'"};
      }
    }
  }
  std::vector<bson::Document> specs;
  for (const auto& index : collection->indexes) {
    specs.push_back(index->spec);
  }
  return AppendDocuments(i, ns, std::move(specs), batch_size);
}

struct DropIndexesFields {
  bson::Value index;
};
constexpr FieldRow<DropIndexesFields> kDropIndexesRows[] = {
    Field<&DropIndexesFields::index>("index", request::Need::kRequired),
};

Status RunDropIndexes(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("dropIndexes", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  i.call.summary.ns = ns;
  DropIndexesFields f;
  RETURN_IF_ERROR(
      request::ReadFields<DropIndexesFields>("dropIndexes", i.body(), true, kDropIndexesRows, &f));
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

}  // namespace

std::span<const Row> IndexRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  static constexpr Row kRows[] = {
      {{"createIndexes", "", kWrite | kWriteConcern | kInTransaction, "makes indexes"},
       RunCreateIndexes},
      {{"listIndexes", "", kRead, "lists the indexes of a collection"}, RunListIndexes},
      {{"dropIndexes", "deleteIndexes", kWrite | kWriteConcern, "removes indexes"}, RunDropIndexes},
  };
  return kRows;
}

}  // namespace quire::command
