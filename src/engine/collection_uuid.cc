// SPDX-License-Identifier: Apache-2.0
#include "engine/collection_uuid.h"

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::engine {

namespace {

std::string_view BytesOf(const store::Uuid& uuid) {
  return {reinterpret_cast<const char*>(uuid.data()), uuid.size()};
}

}  // namespace

Status CheckCollectionUuid(const Operation& operation, const std::string& ns,
                           const bson::Value& uuid) {
  if (uuid.missing()) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(store::CollectionPtr info, operation.Find(ns));
  if (info != nullptr && !info->is_view() && BytesOf(info->uuid) == uuid.AsBinary()) {
    return Status::Ok();
  }
  size_t dot = ns.find('.');
  std::string database = ns.substr(0, dot);
  bson::Builder extra;
  extra.Append("db", database)
      .Append("collectionUUID", uuid)
      .Append("expectedCollection", ns.substr(dot + 1));
  store::CollectionPtr actual;
  for (const auto& other : operation.engine.catalog().snapshot()->InDatabase(database)) {
    if (!other->is_view() && BytesOf(other->uuid) == uuid.AsBinary()) {
      actual = other;
    }
  }
  if (actual != nullptr) {
    extra.Append("actualCollection", actual->name);
  } else {
    extra.AppendNull("actualCollection");
  }
  return Status(kCollectionUUIDMismatch, "Collection UUID does not match that specified")
      .WithExtra(extra.Finish().bytes());
}

}  // namespace quire::engine
