// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_cache.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "command/authorise.h"
#include "command/command.h"
#include "request/crud.h"

namespace quire::command {

namespace {

// The collection a command is about (null when there is none). These commands read their fields
// leniently, as MongoDB's do.
Result<store::CollectionPtr> TargetOf(Invocation& i) {
  bson::Value name = i.body().front().value();
  const bool text = name.is_string() || name.type() == bson::Type::kSymbol;
  if (!text || name.AsString().empty() || name.AsString().find('\0') != std::string_view::npos) {
    return Status(kInvalidNamespace, "collection name has invalid type or is empty");
  }
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name.AsString()));
  i.call.summary.ns = ns;
  ASSIGN_OR_RETURN(store::CollectionPtr collection, i.operation.Find(ns));
  if (collection != nullptr && collection->is_view() && !collection->is_oplog) {
    return Status(kCommandNotSupportedOnView, "Namespace " + ns + " is a view, not a collection");
  }
  return collection;
}

bson::View DocumentAt(Invocation& i, std::string_view name) {
  bson::Value value = i.body()[name];
  return value.is_document() || value.is_array() ? value.AsDocument() : bson::View();
}

bool NamesShape(Invocation& i) { return i.body()["query"].is_document(); }

Result<std::string> HashOf(Invocation& i, const store::CollectionPtr& collection) {
  return plan::QueryHashOf(collection, DocumentAt(i, "query"), DocumentAt(i, "sort"),
                           DocumentAt(i, "projection"), DocumentAt(i, "collation"));
}

Status RunClear(Invocation& i) {
  ASSIGN_OR_RETURN(store::CollectionPtr collection, TargetOf(i));
  if (collection == nullptr) {
    return Status::Ok();
  }
  plan::PlanMemory& memory = plan::PlanMemory::Of(*collection);
  if (!NamesShape(i)) {
    memory.Clear();
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(std::string hash, HashOf(i, collection));
  memory.ForgetShape(hash);
  return Status::Ok();
}

Status RunListFilters(Invocation& i) {
  ASSIGN_OR_RETURN(store::CollectionPtr collection, TargetOf(i));
  i.reply().BeginArray("filters");
  if (collection != nullptr) {
    for (const plan::IndexFilter& filter : plan::PlanMemory::Of(*collection).ListFilters()) {
      i.reply().PushDocument();
      i.reply()
          .Append("query", filter.query)
          .Append("sort", filter.sort)
          .Append("projection", filter.projection);
      if (!filter.collation.empty()) {
        i.reply().Append("collation", filter.collation);
      }
      i.reply().AppendArray("indexes", filter.indexes).End();
    }
  }
  i.reply().End();
  return Status::Ok();
}

// The fields of planCacheSetFilter are what they have to be.
Status CheckFilterFields(Invocation& i) {
  if (!i.body().Has("query")) {
    return {kBadValue, "required field query missing"};
  }
  for (std::string_view name : {"query", "sort", "projection", "collation"}) {
    bson::Value value = i.body()[name];
    if (!value.missing() && !value.is_document() && !value.is_array()) {
      return {kBadValue, "optional field " + std::string(name) + " must be an object"};
    }
  }
  bson::Value collation = i.body()["collation"];
  if (!collation.missing() && collation.AsDocument().empty()) {
    return {kBadValue, "optional field collation must not be an empty object"};
  }
  bson::Value indexes = i.body()["indexes"];
  if (indexes.missing()) {
    return {kBadValue, "required field indexes missing"};
  }
  if (!indexes.is_array()) {
    return {kBadValue, "required field indexes must be an array"};
  }
  if (indexes.AsArray().empty()) {
    return {kBadValue, "required field indexes must contain at least one index"};
  }
  for (const bson::Element& index : indexes.AsArray()) {
    bson::Value value = index.value();
    if (!value.is_string() && !value.is_document()) {
      return {kBadValue, "each item in indexes must be an object or string"};
    }
    if (value.is_document() && value.AsDocument().empty()) {
      return {kBadValue, "index specification cannot be empty"};
    }
  }
  return Status::Ok();
}

Status RunSetFilter(Invocation& i) {
  ASSIGN_OR_RETURN(store::CollectionPtr collection, TargetOf(i));
  RETURN_IF_ERROR(CheckFilterFields(i));
  if (collection == nullptr) {
    return {kBadValue, "no such collection"};
  }
  ASSIGN_OR_RETURN(std::string hash, HashOf(i, collection));
  plan::IndexFilter filter;
  filter.query = bson::Document(DocumentAt(i, "query"));
  filter.sort = bson::Document(DocumentAt(i, "sort"));
  filter.projection = bson::Document(DocumentAt(i, "projection"));
  filter.collation = bson::Document(DocumentAt(i, "collation"));
  filter.indexes = bson::Document(i.body()["indexes"].AsArray());
  return plan::PlanMemory::Of(*collection).SetFilter(hash, std::move(filter));
}

Status RunClearFilters(Invocation& i) {
  ASSIGN_OR_RETURN(store::CollectionPtr collection, TargetOf(i));
  if (collection == nullptr) {
    return Status::Ok();
  }
  plan::PlanMemory& memory = plan::PlanMemory::Of(*collection);
  if (!NamesShape(i)) {
    memory.ClearFilters();
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(std::string hash, HashOf(i, collection));
  memory.ClearFilter(hash);
  return Status::Ok();
}

}  // namespace

std::span<const Row> PlanCacheRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  static constexpr Row kRows[] = {
      {{"planCacheClear", "", kRead | kToShards, "forgets remembered plans"},
       RunClear,
       OnCollection(Action::planCacheWrite)},
      {{"planCacheListFilters", "", kRead | kToShards, "lists the index filters"},
       RunListFilters,
       OnCollection(Action::planCacheIndexFilter)},
      {{"planCacheSetFilter", "", kRead | kToShards, "sets which indexes a query shape may use"},
       RunSetFilter,
       OnCollection(Action::planCacheIndexFilter)},
      {{"planCacheClearFilters", "", kRead | kToShards, "removes index filters"},
       RunClearFilters,
       OnCollection(Action::planCacheIndexFilter)},
  };
  return kRows;
}

}  // namespace quire::command
