// SPDX-License-Identifier: Apache-2.0
//
// bulkWrite over shards: inserts in runs, everything else operation by operation, as each has an
// answer of its own.
#include "request/bulk_write.h"

#include <algorithm>
#include <map>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/command.h"
#include "engine/write/write_unit.h"
#include "request/bulk_write_reply.h"
#include "router/core.h"
#include "router/data/forward.h"
#include "router/data/one_write.h"
#include "router/data/write.h"
#include "router/data/write_outcome.h"
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
       {"ordered", "let", "writeConcern", "txnNumber", "autocommit", "comment",
        "bypassDocumentValidation", "bypassEmptyTsReplacement"}) {
    const bool inserts = kind == BulkOperation::Kind::kInsert;
    const bool removes = kind == BulkOperation::Kind::kDelete;
    const bool left_out =
        (name == "let" && inserts) || (name == "bypassDocumentValidation" && removes);
    if (const bson::Element field = body.Find(name); field.present() && !left_out) {
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

// What changes many documents cannot be done at most once.
Status CheckRetryable(Routed& request, const request::BulkWriteRequest& bulk) {
  const bool many =
      std::any_of(bulk.operations.begin(), bulk.operations.end(), [](const BulkOperation& op) {
        return (op.kind == BulkOperation::Kind::kUpdate && op.update.multi) ||
               (op.kind == BulkOperation::Kind::kDelete && op.remove.limit == 0);
      });
  return many && IsRetryable(request)
             ? Status(kInvalidOptions, "Cannot use retryable writes with multi=true")
             : Status::Ok();
}

// The operation at `at` and the inserts into the same collection that follow it.
StatementRun RunFrom(const request::BulkWriteRequest& bulk, bson::View whole,
                     const std::vector<bson::View>& operations, size_t at) {
  const BulkOperation& first = bulk.operations[at];
  StatementRun run;
  run.ns = bulk.targets[first.target].ns;
  run.array = ArrayOf(first.kind);
  run.command = CommandOf(whole, run.ns, first.kind);
  run.ordered = bulk.ordered;
  for (size_t i = at; i < operations.size(); ++i) {
    const BulkOperation& operation = bulk.operations[i];
    const bool joins = operation.kind == BulkOperation::Kind::kInsert &&
                       first.kind == BulkOperation::Kind::kInsert &&
                       operation.target == first.target;
    if (i > at && !joins) {
      break;
    }
    run.statements.emplace_back(static_cast<int32_t>(i), StatementOf(operations[i], first.kind));
  }
  return run;
}

// The errors of a run's statements by their places in the bulk.
using Failed = std::map<int32_t, const Status*>;

BulkItem ItemOf(const BulkOperation& operation, int32_t index, const request::WriteReply& written,
                const Failed& failed) {
  BulkItem item;
  item.index = index;
  item.kind = operation.kind;
  if (operation.kind != BulkOperation::Kind::kInsert) {
    item.status = written.FirstError();
    item.n = written.n;
    item.modified = written.modified;
    if (!written.upserted.empty()) {
      item.upserted = written.upserted.front().id;
    }
    return item;
  }
  if (const auto error = failed.find(index); error != failed.end()) {
    item.status = *error->second;
  }
  item.n = item.status.ok() ? 1 : 0;
  return item;
}

// Adds what the run has brought. Whether the rest is run, too.
bool AddItems(const request::BulkWriteRequest& bulk, const StatementRun& run,
              const Result<request::WriteReply>& written, request::BulkWriteReply* reply) {
  Failed failures;
  if (written.ok()) {
    for (const request::WriteError& error : written->errors) {
      failures.emplace(error.index, &error.status);
    }
  }
  for (const auto& [index, statement] : run.statements) {
    BulkItem item;
    if (written.ok()) {
      item = ItemOf(bulk.operations[static_cast<size_t>(index)], index, *written, failures);
    } else {
      item.index = index;
      item.kind = bulk.operations[static_cast<size_t>(index)].kind;
      item.status = written.status();
    }
    const bool failed = !item.status.ok();
    reply->items.push_back(std::move(item));
    if (failed && bulk.ordered) {
      return false;
    }
  }
  return true;
}

Task<Status> RouteBulkWrite(Routed& request) {
  const bson::Document whole = Whole(*request.call().request);
  request::Request kept;
  kept.body = whole;
  kept.database = request.database;
  CO_ASSIGN_OR_RETURN(const auto bulk, request::BulkWriteRequest::Parse(kept));
  CO_RETURN_IF_ERROR(CheckRetryable(request, bulk));
  std::vector<bson::View> operations;
  for (const bson::Element& element : whole["ops"].AsArray()) {
    operations.push_back(element.value().AsDocument());
  }
  request::BulkWriteReply reply;
  std::vector<bson::Document> concern_errors;
  for (size_t at = 0; at < operations.size();) {
    const StatementRun run = RunFrom(bulk, whole, operations, at);
    Result<request::WriteReply> written = co_await RunStatements(request, run);
    if (!written.ok() &&
        (request.call().generic.in_transaction() || !engine::IsDocumentError(written.status()))) {
      co_return written.status();
    }
    if (written.ok()) {
      reply.retried.insert(reply.retried.end(), written->retried.begin(), written->retried.end());
      if (!written->write_concern_error.empty()) {
        concern_errors.push_back(written->write_concern_error);
      }
    }
    if (!AddItems(bulk, run, written, &reply)) {
      break;
    }
    at += run.statements.size();
  }
  request.call().write_concern_error = MergeConcernErrors(concern_errors);
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
