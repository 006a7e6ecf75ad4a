// SPDX-License-Identifier: Apache-2.0
#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "engine/read/read.h"
#include "engine/schema/schema.h"
#include "engine/statistics.h"
#include "engine/write/write.h"

namespace quire::engine {

namespace {

bson::Document CappedOptions(const store::CollectionInfo& collection, int64_t bytes) {
  bson::Builder options;
  options.Append("capped", true);
  AppendInteger(&options, "size", bytes);
  for (const bson::Element& e : collection.options.view()) {
    if (e.name() != "capped" && e.name() != "size" && e.name() != "max" &&
        e.name() != "clusteredIndex" && e.name() != "expireAfterSeconds") {
      options.Append(e);
    }
  }
  return options.Finish();
}

// Inserts every document of `from` into `to`, oldest first, in batches.
Status CopyDocuments(const Operation& operation, const store::CollectionPtr& from,
                     const std::string& to) {
  constexpr size_t kBatch = 1000;
  plan::QuerySpec spec;
  spec.collection = from;
  ASSIGN_OR_RETURN(auto query, PlannedQuery::Make(operation, std::move(spec), nullptr));
  std::vector<bson::Document> batch;
  bool more = true;
  while (more) {
    batch.clear();
    exec::Row row;
    while (batch.size() < kBatch) {
      RETURN_IF_ERROR(operation.op.CheckInterrupt());
      ASSIGN_OR_RETURN(more, query->Next(operation.op, &row));
      if (!more) {
        break;
      }
      batch.emplace_back(row.document);
    }
    if (batch.empty()) {
      break;
    }
    request::InsertRequest insert;
    insert.bypass_validation = true;
    for (const bson::Document& document : batch) {
      insert.documents.push_back(document.view());
    }
    ASSIGN_OR_RETURN(request::WriteReply result, Insert(operation, to, insert));
    RETURN_IF_ERROR(result.FirstError());
  }
  return Status::Ok();
}

}  // namespace

Status ConvertToCapped(const Operation& operation, const std::string& ns, int64_t bytes) {
  store::CollectionPtr collection = operation.engine.catalog().Find(ns);
  if (collection == nullptr) {
    return {kNamespaceNotFound, "source collection " + ns + " does not exist"};
  }
  if (collection->is_oplog) {
    return {kIllegalOperation, "can't convert the live oplog: " + ns};
  }
  if (collection->is_view()) {
    return {kCommandNotSupportedOnView, "cannot convert a view to a capped collection"};
  }
  std::string temporary = collection->database + ".tmp00000.convertToCapped." + collection->name;
  constexpr size_t kMostNameBytes = 255;
  if (temporary.size() > kMostNameBytes) {
    return {kInvalidNamespace, "The name of the temporary collection is too long: " + temporary};
  }
  bson::Document options = CappedOptions(*collection, bytes);
  RETURN_IF_ERROR(CreateCollection(operation, temporary, options));
  Status copied = CopyDocuments(operation, collection, temporary);
  if (copied.ok()) {
    copied = operation.engine.catalog().Rename(temporary, ns, true, operation.durability);
  }
  if (!copied.ok()) {
    CurrentOpScope of_none(nullptr);  // also when the operation was ended
    RETURN_IF_ERROR(operation.engine.catalog().Drop(temporary, operation.durability));
  }
  return copied;
}

Status CloneAsCapped(const Operation& operation, const std::string& from, const std::string& to,
                     int64_t bytes) {
  store::CollectionPtr source = operation.engine.catalog().Find(from);
  if (source == nullptr) {
    return {kNamespaceNotFound, "source collection " + from + " does not exist"};
  }
  if (source->is_oplog) {
    return {kIllegalOperation, "The oplog can only be read on its own"};
  }
  if (source->is_view()) {
    return {kCommandNotSupportedOnView, "cloneCollectionAsCapped not supported for views: " + from};
  }
  RETURN_IF_ERROR(CheckNewName(to));
  store::CollectionPtr target = operation.engine.catalog().Find(to);
  if (target != nullptr) {
    return target->is_view() ? Status(kCommandNotSupportedOnView, "the target is a view: " + to)
                             : Status(kNamespaceExists,
                                      "cloneCollectionAsCapped failed - destination collection " +
                                          to + " already exists.");
  }
  bson::Builder options;
  options.Append("capped", true);
  AppendInteger(&options, "size", bytes);
  bson::Document capped = options.Finish();
  RETURN_IF_ERROR(CreateCollection(operation, to, capped));
  Status copied = CopyDocuments(operation, source, to);
  if (!copied.ok()) {
    CurrentOpScope of_none(nullptr);
    RETURN_IF_ERROR(operation.engine.catalog().Drop(to, operation.durability));
  }
  return copied;
}

}  // namespace quire::engine
