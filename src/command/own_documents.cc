// SPDX-License-Identifier: Apache-2.0
#include "command/own_documents.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "engine/read/read.h"
#include "engine/write/write.h"

namespace quire::command {
namespace {

bson::Document IdFilter(const bson::Value& id) {
  bson::Builder out;
  out.Append("_id", id);
  return out.Finish();
}

}  // namespace

Result<std::optional<bson::Document>> LoadOwn(engine::Engine& engine, std::string_view ns,
                                              const bson::Value& id) {
  bson::Document filter = IdFilter(id);
  ASSIGN_OR_RETURN(std::vector<bson::Document> found, LoadOwnAll(engine, ns, filter.view(), {}));
  std::optional<bson::Document> out;
  if (!found.empty()) {
    out = std::move(found.front());
  }
  return out;
}

Result<std::vector<bson::Document>> LoadOwnAll(engine::Engine& engine, std::string_view ns,
                                               bson::View filter, bson::View sort) {
  OpContext op;
  engine::Operation operation{engine, op};
  request::FindRequest find;
  find.filter = filter;
  find.sort = sort;
  ASSIGN_OR_RETURN(std::shared_ptr<run::Cursor> cursor,
                   engine::Find(operation, std::string(ns), find));
  std::vector<bson::Document> out;
  exec::Row row;
  while (true) {
    ASSIGN_OR_RETURN(bool more, cursor->source->Next(op, &row));
    if (!more) {
      return out;
    }
    out.emplace_back(row.document);
  }
}

Status SaveOwn(engine::Engine& engine, std::string_view ns, bson::View document) {
  OpContext op;
  engine::Operation operation{engine, op};
  operation.durability = engine::Durability::kDisk;
  bson::Document filter = IdFilter(document["_id"]);
  request::UpdateRequest update;
  request::UpdateStatement& statement = update.updates.emplace_back();
  statement.q = filter.view();
  statement.u = bson::Value(document);
  statement.upsert = true;
  request::OpSummary summary;
  ASSIGN_OR_RETURN(request::WriteReply result,
                   engine::Update(operation, std::string(ns), update, &summary));
  return result.FirstError();
}

Status AddOwn(engine::Engine& engine, std::string_view ns, bson::View document) {
  OpContext op;
  engine::Operation operation{engine, op};
  operation.durability = engine::Durability::kDisk;
  request::InsertRequest insert;
  insert.documents.push_back(document);
  ASSIGN_OR_RETURN(request::WriteReply result, engine::Insert(operation, std::string(ns), insert));
  return result.FirstError();
}

Result<int64_t> RemoveOwn(engine::Engine& engine, std::string_view ns, bson::View filter) {
  OpContext op;
  engine::Operation operation{engine, op};
  operation.durability = engine::Durability::kDisk;
  request::DeleteRequest remove;
  remove.deletes.emplace_back().q = filter;
  request::OpSummary summary;
  ASSIGN_OR_RETURN(request::WriteReply result,
                   engine::Delete(operation, std::string(ns), remove, &summary));
  RETURN_IF_ERROR(result.FirstError());
  return result.n;
}

}  // namespace quire::command
