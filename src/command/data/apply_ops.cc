// SPDX-License-Identifier: Apache-2.0
//
// applyOps: operations in the form of the oplog, run one after another (mongorestore
// --oplogReplay).
#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/repeated.h"
#include "command/command.h"
#include "command/own_documents.h"
#include "engine/write/write.h"
#include "expr/update/patch.h"
#include "request/crud.h"

namespace quire::command {

namespace {

constexpr int kDeepest = 10;  // applyOps inside applyOps

struct Entry {
  char op;
  std::string ns;
  bson::View o;
  bson::View o2;
  bson::Value ui;  // of the collection that the operation is on, or makes
};

Result<Entry> ReadEntry(const bson::Element& e) {
  if (!e.value().is_document()) {
    return Status(kTypeMismatch, "An operation of applyOps must be an object");
  }
  bson::View fields = e.value().AsDocument();
  if (auto name = bson::RepeatedName(fields)) {
    return request::DuplicateField("applyOps", *name);
  }
  bson::Value op = fields["op"];
  if (op.missing()) {
    return Status(kNoSuchKey, "Missing expected field \"op\"");
  }
  if (!op.is_string()) {
    return Status(kTypeMismatch, "\"op\" has the wrong type: expected string");
  }
  bson::Value ns = fields["ns"];
  if (op.AsString().empty() || !ns.is_string() || ns.AsString().empty()) {
    return Status(kIllegalOperation, "An operation of applyOps needs \"op\" and \"ns\"");
  }
  if (op.AsString().size() != 1 ||
      std::string_view("iudcn").find(op.AsString()) == std::string::npos) {
    return Status(kBadValue, "Unknown type of operation: " + std::string(op.AsString()));
  }
  if (!fields["o"].is_document()) {
    return request::MissingField("OplogEntryBase", "o");
  }
  bson::Value o2 = fields["o2"];
  return Entry{op.AsString()[0], std::string(ns.AsString()), fields["o"].AsDocument(),
               o2.is_document() ? o2.AsDocument() : bson::View(), fields["ui"]};
}

Result<bson::Document> IdOf(bson::View document) {
  bson::Value id = document["_id"];
  if (id.missing()) {
    return Status(kNoSuchKey, "Missing expected field \"_id\"");
  }
  bson::Builder out;
  out.Append("_id", id);
  return out.Finish();
}

// Changes the document `filter` finds, or makes one; how many there were.
Result<int64_t> Replace(Invocation& i, const std::string& ns, bson::View filter,
                        const bson::Value& change, bool upsert = false) {
  request::UpdateRequest update;
  request::UpdateStatement& statement = update.updates.emplace_back();
  statement.q = filter;
  statement.u = change;
  statement.upsert = upsert;
  ASSIGN_OR_RETURN(engine::WriteResult result,
                   engine::Update(i.operation, ns, update, &i.call.summary));
  if (!result.errors.empty()) {
    return result.errors.front().status;
  }
  return result.n;
}

Status ApplyInsert(Invocation& i, const Entry& entry) {
  ASSIGN_OR_RETURN(bson::Document id, IdOf(entry.o));
  request::InsertRequest insert;
  insert.documents.push_back(entry.o);
  ASSIGN_OR_RETURN(engine::WriteResult result, engine::Insert(i.operation, entry.ns, insert));
  if (result.errors.empty()) {
    return Status::Ok();
  }
  if (result.errors.front().status.code() != kDuplicateKey) {
    return result.errors.front().status;
  }
  ASSIGN_OR_RETURN(int64_t replaced, Replace(i, entry.ns, id, bson::Value(entry.o)));
  return replaced > 0 ? Status::Ok() : result.errors.front().status;
}

// {_id, and the whole document as it was read}: what is written was made from it.
bson::Document Unchanged(const bson::Value& id, bson::View document) {
  bson::Builder out;
  out.Append("_id", id).BeginDocument("$expr").BeginArray("$eq").Push("$$ROOT");
  out.PushDocument().Append("$literal", document).End();
  out.End().End();
  return out.Finish();
}

Result<int64_t> ApplyDiff(Invocation& i, const Entry& entry, const bson::Value& id,
                          bson::View diff) {
  while (true) {
    RETURN_IF_ERROR(i.op().CheckInterrupt());
    ASSIGN_OR_RETURN(std::optional<bson::Document> before, LoadOwn(i.engine, entry.ns, id));
    if (!before) {
      const bson::Document seed = bson::Builder().Append("_id", id).Finish();
      ASSIGN_OR_RETURN(bson::Document made, expr::update::Patch(seed, diff));
      return Replace(i, entry.ns, seed, bson::Value(made.view()), true);
    }
    ASSIGN_OR_RETURN(bson::Document after, expr::update::Patch(*before, diff));
    bson::Document filter = Unchanged(id, *before);
    ASSIGN_OR_RETURN(int64_t n, Replace(i, entry.ns, filter, bson::Value(after.view())));
    if (n > 0) {
      return n;
    }
  }
}

Status ApplyUpdate(Invocation& i, const Entry& entry) {
  ASSIGN_OR_RETURN(bson::Document filter, IdOf(entry.o2));
  bson::Value diff = entry.o["diff"];
  int64_t n = 0;
  if (diff.is_document() && entry.o.Has("$v")) {
    ASSIGN_OR_RETURN(n, ApplyDiff(i, entry, filter["_id"], diff.AsDocument()));
  } else {
    ASSIGN_OR_RETURN(n, Replace(i, entry.ns, filter, bson::Value(entry.o), true));
  }
  if (n == 0) {
    return {kUnknownError, "failed to apply update: no document " + bson::ToJson(filter)};
  }
  return Status::Ok();
}

Status ApplyDelete(Invocation& i, const Entry& entry) {
  ASSIGN_OR_RETURN(bson::Document filter, IdOf(entry.o));
  request::DeleteRequest request;
  request::DeleteStatement& statement = request.deletes.emplace_back();
  statement.q = filter;
  statement.limit = 1;
  ASSIGN_OR_RETURN(engine::WriteResult result,
                   engine::Delete(i.operation, entry.ns, request, &i.call.summary));
  return result.errors.empty() ? Status::Ok() : result.errors.front().status;
}

// The oplog has one index by its fields, the command a list of them.
bson::Document CommandOf(bson::View o) {
  bson::Builder out;
  if (o.front().name() != "createIndexes" || o.Has("indexes")) {
    out.AppendFields(o);
    return out.Finish();
  }
  out.Append(o.front()).BeginArray("indexes").PushDocument();
  for (const bson::Element& e : o) {
    if (e.name() != "createIndexes") {
      out.Append(e);
    }
  }
  out.End().End();
  return out.Finish();
}

Status CheckUi(const bson::Value& ui) {
  constexpr uint8_t kUuid = 4;
  if (ui.missing() || (ui.type() == bson::Type::kBinary && ui.binary_subtype() == kUuid &&
                       ui.AsBinary().size() == 16)) {
    return Status::Ok();
  }
  return {kInvalidUUID, "The \"ui\" of an operation must be a UUID"};
}

Status ApplyOps(Invocation& i, bson::View ops, int depth, int32_t* applied, bson::Builder* results);

Status ApplyCommand(Invocation& i, const Entry& entry, int depth) {
  constexpr std::string_view kAllowed[] = {
      "create",      "drop",          "dropDatabase", "renameCollection", "createIndexes",
      "dropIndexes", "deleteIndexes", "collMod",      "convertToCapped",
  };
  std::string_view name = entry.o.empty() ? "" : entry.o.front().name();
  const std::string_view database = std::string_view(entry.ns).substr(0, entry.ns.find('.'));
  if (name == "applyOps" && entry.o.front().value().is_array() && depth < kDeepest) {
    int32_t applied = 0;
    bson::Builder ignored;
    return ApplyOps(i, entry.o.front().value().AsArray(), depth + 1, &applied, &ignored);
  }
  if (std::find(std::begin(kAllowed), std::end(kAllowed), name) == std::end(kAllowed)) {
    return {kIllegalOperation, "applyOps does not run the command " + std::string(name)};
  }
  RETURN_IF_ERROR(CheckUi(entry.ui));
  bson::Document command = CommandOf(entry.o);
  request::Request request;
  request.body = command;
  request.database = database;
  request.new_uuid = entry.ui;
  if (name == "renameCollection") {
    request.database = "admin";
  }
  std::string reply;
  i.commands.Run(i.call.client, request, &reply);
  bson::View answer(reply.data());
  if (answer["ok"].AsDouble() == 1) {
    return Status::Ok();
  }
  return {answer["code"].AsInt32(), std::string(answer["errmsg"].AsString())};
}

Status ApplyOne(Invocation& i, const Entry& entry, int depth) {
  if (entry.op == 'c') {
    return ApplyCommand(i, entry, depth);
  }
  if (i.engine.catalog().Find(entry.ns) == nullptr) {
    return {kNamespaceNotFound, "Failed to apply operation due to missing collection " + entry.ns};
  }
  return entry.op == 'i'   ? ApplyInsert(i, entry)
         : entry.op == 'u' ? ApplyUpdate(i, entry)
                           : ApplyDelete(i, entry);
}

// Stops at the first that fails.
Status ApplyOps(Invocation& i, bson::View ops, int depth, int32_t* applied,
                bson::Builder* results) {
  for (const bson::Element& e : ops) {
    ASSIGN_OR_RETURN(Entry entry, ReadEntry(e));
    if (entry.op == 'n') {
      continue;
    }
    ++*applied;
    Status status = ApplyOne(i, entry, depth);
    results->Push(status.ok());
    RETURN_IF_ERROR(status);
  }
  return Status::Ok();
}

// What earlier versions took.
Status CheckOptions(bson::View body) {
  if (body.Has("prepare")) {
    return {kBadValue, "applyOps does not take the field 'prepare'"};
  }
  if (body.Has("partialTxn")) {
    return {31056, "applyOps does not take the field 'partialTxn'"};
  }
  if (body.Has("count")) {
    return {kTypeMismatch, "applyOps does not take the field 'count'"};
  }
  if (body.Has("preCondition")) {
    return {6711600, "preCondition is no longer supported"};
  }
  bson::Element upsert = body.Find("alwaysUpsert");
  if (upsert.present() && !upsert.value().nullish()) {
    if (upsert.type() != bson::Type::kBool) {
      return request::WrongType("applyOps", upsert, "bool");
    }
    if (upsert.value().AsBool()) {
      return {6711601, "alwaysUpsert is no longer supported"};
    }
  }
  return Status::Ok();
}

Status RunApplyOps(Invocation& i) {
  bson::Element ops = i.body().front();
  RETURN_IF_ERROR(CheckOptions(i.body()));
  if (ops.type() != bson::Type::kArray) {
    return request::WrongType("applyOps", ops, "array");
  }
  for (const bson::Element& e : ops.value().AsArray()) {
    RETURN_IF_ERROR(ReadEntry(e).status());
  }
  int32_t applied = 0;
  bson::Builder outcome;
  outcome.BeginArray("results");
  Status status = ApplyOps(i, ops.value().AsArray(), 0, &applied, &outcome);
  outcome.End().Append("applied", applied);
  bson::Document document = outcome.Finish();
  if (!status.ok()) {
    return status.WithExtra(document.bytes());
  }
  i.reply().Append("applied", applied).Append("results", document["results"]);
  i.call.operation_time = i.engine.clock().Now();
  return Status::Ok();
}

// What the operations need; the commands among them are checked as they are run.
Status StateOps(bson::View ops, int depth, auth::Needs* needs) {
  for (const bson::Element& e : ops) {
    ASSIGN_OR_RETURN(Entry entry, ReadEntry(e));
    const auth::Resource target = auth::OfNamespace(entry.ns);
    if (entry.op == 'i') {
      needs->Add(Action::insert, target);
      needs->Add(Action::update, target);  // of one that is there already
    } else if (entry.op == 'u') {
      needs->Add(Action::update, target);
      needs->Add(Action::insert, target);
    } else if (entry.op == 'd') {
      needs->Add(Action::remove, target);
    } else if (entry.op == 'c' && !entry.o.empty() && entry.o.front().name() == "applyOps" &&
               entry.o.front().value().is_array() && depth < kDeepest) {
      RETURN_IF_ERROR(StateOps(entry.o.front().value().AsArray(), depth + 1, needs));
    }
  }
  return Status::Ok();
}

Status StateApplyOps(Invocation& i, auth::Needs* needs) {
  bson::Element ops = i.body().front();
  needs->Add(Action::applyOps, auth::Cluster());
  return ops.type() == bson::Type::kArray ? StateOps(ops.value().AsArray(), 0, needs)
                                          : request::WrongType("applyOps", ops, "array");
}

}  // namespace

std::span<const Row> ApplyOpsRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  static constexpr Row kRows[] = {
      {{"applyOps", "", kWrite | kWriteConcern, "runs operations as the oplog has them"},
       RunApplyOps,
       Stated(StateApplyOps)},
  };
  return kRows;
}

}  // namespace quire::command
