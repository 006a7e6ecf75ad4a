// SPDX-License-Identifier: Apache-2.0
//
// bulkWrite over shards, operation by operation: each has an answer of its own.
#include "request/bulk_write.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "command/command.h"
#include "request/bulk_write_reply.h"
#include "router/core.h"
#include "router/data/forward.h"
#include "router/data/write.h"
#include "router/rows.h"

namespace quire::router {

namespace {

using request::BulkItem;
using request::BulkOperation;

// The names of an operation's fields as a statement has them.
std::string_view StatementField(std::string_view name) {
  if (name == "filter") {
    return "q";
  }
  if (name == "updateMods") {
    return "u";
  }
  if (name == "constants") {
    return "c";
  }
  return name;
}

bson::Document StatementOf(bson::View operation, BulkOperation::Kind kind) {
  if (kind == BulkOperation::Kind::kInsert) {
    const bson::Value document = operation["document"];
    return document.is_document() ? bson::Document(document.AsDocument()) : bson::Document();
  }
  bson::Builder out;
  bool multi = false;
  bool first = true;
  for (const bson::Element& field : operation) {
    if (first) {
      first = false;
    } else if (field.name() == "multi" && kind == BulkOperation::Kind::kDelete) {
      multi = field.type() == bson::Type::kBool && field.value().AsBool();
    } else {
      out.Append(StatementField(field.name()), field.value());
    }
  }
  if (kind == BulkOperation::Kind::kDelete) {
    out.Append("limit", multi ? 0 : 1);
  }
  return out.Finish();
}

// What stands beside the statements.
bson::Document CommandOf(bson::View body, const std::string& ns, BulkOperation::Kind kind) {
  bson::Builder out;
  const std::string collection = ns.substr(ns.find('.') + 1);
  out.Append(kind == BulkOperation::Kind::kInsert   ? "insert"
             : kind == BulkOperation::Kind::kUpdate ? "update"
                                                    : "delete",
             collection);
  for (std::string_view name :
       {"let", "writeConcern", "txnNumber", "autocommit", "comment", "bypassDocumentValidation"}) {
    const bool not_for_deletes = name == "bypassDocumentValidation" || name == "let";
    const bson::Element field = body.Find(name);
    if (field.present() && !(not_for_deletes && kind != BulkOperation::Kind::kUpdate)) {
      out.Append(field);
    }
  }
  return out.Finish();
}

std::string_view ArrayOf(BulkOperation::Kind kind) {
  return kind == BulkOperation::Kind::kInsert   ? "documents"
         : kind == BulkOperation::Kind::kUpdate ? "updates"
                                                : "deletes";
}

Task<Status> RouteBulkWrite(Routed& request) {
  const bson::Document whole = Whole(*request.call().request);
  request::Request kept;
  kept.body = whole;
  kept.database = request.database;
  CO_ASSIGN_OR_RETURN(const auto bulk, request::BulkWriteRequest::Parse(kept));
  const bson::View operations = whole["ops"].AsArray();
  request::BulkWriteReply reply;
  int32_t index = 0;
  for (const bson::Element& element : operations) {
    const BulkOperation& operation = bulk.operations[static_cast<size_t>(index)];
    const std::string& ns = bulk.targets[operation.target].ns;
    const bson::Document command = CommandOf(whole, ns, operation.kind);
    bson::Document statement = StatementOf(element.value().AsDocument(), operation.kind);
    Result<request::WriteReply> written = co_await RunStatement(
        request, ns, ArrayOf(operation.kind), command, std::move(statement), index);
    CO_RETURN_IF_ERROR(written.status());
    BulkItem item;
    item.index = index;
    item.kind = operation.kind;
    item.status = written->FirstError();
    item.n = written->n;
    item.modified = written->modified;
    if (!written->upserted.empty()) {
      item.upserted = written->upserted.front().id;
    }
    reply.retried.insert(reply.retried.end(), written->retried.begin(), written->retried.end());
    if (!written->write_concern_error.empty()) {
      request.call().write_concern_error = written->write_concern_error;
    }
    const bool failed = !item.status.ok();
    reply.items.push_back(std::move(item));
    if (failed && bulk.ordered) {
      break;
    }
    ++index;
  }
  std::vector<bson::Document> batch;
  for (const BulkItem& item : reply.items) {
    if (!item.status.ok() || !bulk.errors_only) {
      batch.push_back(item.Write());
    }
  }
  CO_RETURN_IF_ERROR(command::AppendDocuments(request.invocation, "admin.$cmd.bulkWrite",
                                              std::move(batch), bulk.batch_size));
  reply.AppendTo(&request.call().reply);
  co_return Status::Ok();
}

}  // namespace

std::span<const RoutineRow> BulkWriteRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"bulkWrite", RouteBulkWrite},
  };
  return kRows;
}

}  // namespace quire::router
