// SPDX-License-Identifier: Apache-2.0
#include "engine/write/out_collection.h"

#include <vector>

#include "base/error_codes.h"
#include "base/try.h"
#include "engine/collection_uuid.h"
#include "engine/schema/schema.h"
#include "request/crud.h"

namespace quire::engine {

namespace {

Status CheckTarget(const store::CollectionInfo& target, bool timeseries) {
  if (timeseries && !target.options.view().Has("timeseries")) {
    return {7268700, "Cannot create a time-series collection in the place of '" + target.ns() +
                         "', which is none"};
  }
  if (target.is_view()) {
    return {kCommandNotSupportedOnView,
            "Namespace " + target.ns() + " is a view, not a collection"};
  }
  if (target.capped) {
    return {17152, "namespace '" + target.ns() + "' is capped so it can't be used for $out"};
  }
  return Status::Ok();
}

}  // namespace

Status MakeOutCollection(const Operation& operation, const std::string& target,
                         const std::string& temporary, bson::View timeseries) {
  const store::CollectionPtr found = operation.engine.catalog().Find(target);
  bson::Document options;
  std::vector<bson::View> specs;
  if (found != nullptr) {
    RETURN_IF_ERROR(CheckTarget(*found, !timeseries.empty()));
    options = found->options;
    for (const auto& index : found->indexes) {
      if (!index->is_id) {
        specs.push_back(index->spec);
      }
    }
  } else if (!timeseries.empty()) {
    return {kInvalidOptions, "Time-series collections are not supported"};
  } else {
    RETURN_IF_ERROR(request::CheckDatabaseName(target.substr(0, target.find('.'))));
  }
  RETURN_IF_ERROR(CreateCollection(operation, temporary, options));
  return specs.empty() ? Status::Ok() : CreateIndexes(operation, temporary, specs).status();
}

Status PutInPlace(const Operation& operation, const std::string& temporary,
                  const std::string& target, const bson::Value& uuid) {
  RETURN_IF_ERROR(CheckCollectionUuid(operation, temporary, uuid));
  return operation.engine.catalog().Rename(temporary, target, true, operation.durability);
}

}  // namespace quire::engine
