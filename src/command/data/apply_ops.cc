// SPDX-License-Identifier: Apache-2.0
//
// applyOps: operations in the form of the oplog, run one after another (mongorestore
// --oplogReplay).
#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/repeated.h"
#include "command/command.h"
#include "command/diagnostic.h"
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
  bson::Value ui;     // of the collection that the operation is on, or makes
  bson::View fields;  // all of it, for errors
};

// What the command says about all of its operations.
struct Options {
  bool always_upsert = true;
  bool bypass_validation = false;
};

Status NoSuchValue(std::string_view field, std::string_view value) {
  return {kBadValue, "Enumeration value '" + std::string(value) + "' for field '" +
                         std::string(field) + "' is not a valid value."};
}

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
  const std::string which(e.name());
  if (op.AsString().empty()) {
    return Status(kIllegalOperation, "\"op\" field value cannot be empty: " + which);
  }
  bson::Value ns = fields["ns"];
  if (ns.missing()) {
    return Status(kIllegalOperation, "op does not contain required \"ns\" field: " + which);
  }
  if (!ns.is_string()) {
    return Status(kIllegalOperation, "\"ns\" field is not a string: " + which);
  }
  if (ns.AsString().empty() && op.AsString() != "n") {
    return Status(kIllegalOperation,
                  "\"ns\" field value cannot be empty when op type is not 'n': " + which);
  }
  if (op.AsString().size() != 1 ||
      std::string_view("iudcn").find(op.AsString()) == std::string::npos) {
    return NoSuchValue("OplogEntryBase.op", op.AsString());
  }
  if (!fields["o"].is_document()) {
    return request::MissingField("OplogEntryBase", "o");
  }
  bson::Value o2 = fields["o2"];
  return Entry{op.AsString()[0],
               std::string(ns.AsString()),
               fields["o"].AsDocument(),
               o2.is_document() ? o2.AsDocument() : bson::View(),
               fields["ui"],
               fields};
}

Result<bson::Document> IdOf(bson::View document, const Entry& entry, std::string_view kind) {
  bson::Value id = document["_id"];
  if (id.missing()) {
    return Status(kNoSuchKey, "Failed to apply " + std::string(kind) +
                                  " due to missing _id: " + bson::ToJson(entry.fields));
  }
  bson::Builder out;
  out.Append("_id", id);
  return out.Finish();
}

// Changes the document `filter` finds, or makes one; how many there were.
Result<int64_t> Replace(Invocation& i, const std::string& ns, bson::View filter,
                        const bson::Value& change, const Options& options, bool upsert = false) {
  request::UpdateRequest update;
  update.bypass_validation = options.bypass_validation;
  update.keep_empty_timestamps = true;
  request::UpdateStatement& statement = update.updates.emplace_back();
  statement.q = filter;
  statement.u = change;
  statement.upsert = upsert;
  ASSIGN_OR_RETURN(request::WriteReply result,
                   engine::Update(i.operation, ns, update, &i.call.summary));
  RETURN_IF_ERROR(result.FirstError());
  return result.n;
}

Status ApplyInsert(Invocation& i, const Entry& entry, const Options& options) {
  ASSIGN_OR_RETURN(bson::Document id, IdOf(entry.o, entry, "insert"));
  request::InsertRequest insert;
  insert.bypass_validation = options.bypass_validation;
  insert.keep_empty_timestamps = true;
  insert.documents.push_back(entry.o);
  ASSIGN_OR_RETURN(request::WriteReply result, engine::Insert(i.operation, entry.ns, insert));
  if (result.errors.empty()) {
    return Status::Ok();
  }
  if (result.errors.front().status.code() != kDuplicateKey) {
    return result.errors.front().status;
  }
  ASSIGN_OR_RETURN(int64_t replaced, Replace(i, entry.ns, id, bson::Value(entry.o), options));
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

Result<int64_t> ApplyDiff(Invocation& i, const Entry& entry, const bson::Value& id, bson::View diff,
                          const Options& options, bool upsert) {
  while (true) {
    RETURN_IF_ERROR(i.op().CheckInterrupt());
    ASSIGN_OR_RETURN(std::optional<bson::Document> before, LoadOwn(i.engine, entry.ns, id));
    if (!before) {
      if (!upsert) {
        return 0;
      }
      const bson::Document seed = bson::Builder().Append("_id", id).Finish();
      ASSIGN_OR_RETURN(bson::Document made, expr::update::Patch(seed, diff));
      return Replace(i, entry.ns, seed, bson::Value(made.view()), options, true);
    }
    ASSIGN_OR_RETURN(bson::Document after, expr::update::Patch(*before, diff));
    bson::Document filter = Unchanged(id, *before);
    ASSIGN_OR_RETURN(int64_t n, Replace(i, entry.ns, filter, bson::Value(after.view()), options));
    if (n > 0) {
      return n;
    }
  }
}

// Whether there was a document to change, or one was made.
Result<bool> ApplyUpdate(Invocation& i, const Entry& entry, const Options& options) {
  ASSIGN_OR_RETURN(bson::Document filter, IdOf(entry.o2, entry, "update"));
  const bool upsert = options.always_upsert || Truthy(entry.fields["b"]);
  bson::Value diff = entry.o["diff"];
  int64_t n = 0;
  if (diff.is_document() && entry.o.Has("$v")) {
    ASSIGN_OR_RETURN(n, ApplyDiff(i, entry, filter["_id"], diff.AsDocument(), options, upsert));
  } else {
    ASSIGN_OR_RETURN(n, Replace(i, entry.ns, filter, bson::Value(entry.o), options, upsert));
  }
  return n > 0;
}

Status ApplyDelete(Invocation& i, const Entry& entry) {
  ASSIGN_OR_RETURN(bson::Document filter, IdOf(entry.o, entry, "delete"));
  request::DeleteRequest request;
  request::DeleteStatement& statement = request.deletes.emplace_back();
  statement.q = filter;
  statement.limit = 1;
  ASSIGN_OR_RETURN(request::WriteReply result,
                   engine::Delete(i.operation, entry.ns, request, &i.call.summary));
  return result.FirstError();
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

Status ApplyOps(Invocation& i, bson::View ops, const Options& options, int depth, int32_t* applied,
                bson::Builder* results);

Result<Options> ReadOptions(bson::View body);

Status ApplyCommand(Invocation& i, const Entry& entry, int depth) {
  constexpr std::string_view kAllowed[] = {
      "create",      "drop",          "dropDatabase", "renameCollection", "createIndexes",
      "dropIndexes", "deleteIndexes", "collMod",      "convertToCapped",
  };
  std::string_view name = entry.o.empty() ? "" : entry.o.front().name();
  const std::string_view database = std::string_view(entry.ns).substr(0, entry.ns.find('.'));
  if (name == "applyOps" && entry.o.front().value().is_array()) {
    int32_t applied = 0;
    bson::Builder ignored;
    ASSIGN_OR_RETURN(const Options options, ReadOptions(entry.o));
    return ApplyOps(i, entry.o.front().value().AsArray(), options, depth + 1, &applied, &ignored);
  }
  if (std::find(std::begin(kAllowed), std::end(kAllowed), name) == std::end(kAllowed)) {
    return NoSuchValue("commandString", name);
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

// Whether the operation found what it is about. Errors: what ends the command.
Result<bool> ApplyOne(Invocation& i, const Entry& entry, const Options& options, int depth) {
  if (entry.op == 'c') {
    RETURN_IF_ERROR(ApplyCommand(i, entry, depth));
    return true;
  }
  RETURN_IF_ERROR(CheckUi(entry.ui));
  const auto collection = i.engine.catalog().Find(entry.ns);
  if (!entry.ui.missing() && (collection == nullptr ||
                              entry.ui.AsBinary() != std::string_view(reinterpret_cast<const char*>(
                                                                          collection->uuid.data()),
                                                                      collection->uuid.size()))) {
    return false;
  }
  if (collection == nullptr) {
    if (entry.op == 'd') {
      return true;  // what is to be gone is gone
    }
    return Status(kNamespaceNotFound,
                  "cannot apply insert or update operation on a non-existent namespace " +
                      entry.ns + ": " + bson::ToJson(entry.fields));
  }
  if (entry.op == 'u') {
    return ApplyUpdate(i, entry, options);
  }
  RETURN_IF_ERROR(entry.op == 'i' ? ApplyInsert(i, entry, options) : ApplyDelete(i, entry));
  return true;
}

bool DropsDatabase(const bson::Element& e) {
  const bson::View fields = e.value().AsDocument();
  const bson::Value o = fields["o"];
  return fields["op"].AsString() == "c" && o.is_document() && !o.AsDocument().empty() &&
         o.AsDocument().front().name() == "dropDatabase";
}

// The form of all operations, and of those inside of them.
Status CheckOps(bson::View ops, int depth) {
  bool drops_database = false;
  for (const bson::Element& e : ops) {
    ASSIGN_OR_RETURN(const Entry entry, ReadEntry(e));
    drops_database = drops_database || DropsDatabase(e);
    if (entry.op != 'c' || entry.o.empty() || entry.o.front().name() != "applyOps" ||
        !entry.o.front().value().is_array()) {
      continue;
    }
    if (depth >= kDeepest) {
      return {kFailedToParse, "Too many nested applyOps"};
    }
    RETURN_IF_ERROR(CheckOps(entry.o.front().value().AsArray(), depth + 1));
  }
  if (drops_database && ops.Count() != 1) {
    return {6275900, "dropDatabase in an applyOps must be the only entry"};
  }
  return Status::Ok();
}

// Stops at the first error; goes on after an operation that did not find what it is about.
Status ApplyOps(Invocation& i, bson::View ops, const Options& options, int depth, int32_t* applied,
                bson::Builder* results) {
  bool all = true;
  for (const bson::Element& e : ops) {
    ASSIGN_OR_RETURN(Entry entry, ReadEntry(e));
    if (entry.op == 'n') {
      continue;
    }
    ++*applied;
    Result<bool> found = ApplyOne(i, entry, options, depth);
    results->Push(found.ok() && *found);
    RETURN_IF_ERROR(found.status());
    all = all && *found;
  }
  return all ? Status::Ok() : Status(kUnknownError, "applyOps had one or more errors applying ops");
}

Result<Options> ReadOptions(bson::View body) {
  if (body.Has("prepare")) {
    return Status(kBadValue, "applyOps command can't have 'prepare' field");
  }
  if (body.Has("partialTxn")) {
    return Status(31056, "applyOps command can't have 'partialTxn' field.");
  }
  if (const bson::Element count = body.Find("count"); count.present()) {
    return count.value().is_number() ? Status(31240, "applyOps command can't have 'count' field.")
                                     : request::WrongType("applyOps", count, "long");
  }
  if (body.Has("preCondition")) {
    return Status(6711600, "applyOps command no longer supports the 'preCondition' option");
  }
  Options options;
  const bson::Element upsert = body.Find("alwaysUpsert");
  if (upsert.present() && !upsert.value().nullish()) {
    if (upsert.type() != bson::Type::kBool) {
      return request::WrongType("applyOps", upsert, "bool");
    }
    options.always_upsert = upsert.value().AsBool();
  }
  options.bypass_validation = request::Truthy(body["bypassDocumentValidation"]);
  return options;
}

// The modes by which a secondary applies operations change nothing here: what they leave out are
// checks of a secondary's own.
Status CheckMode(bson::View body) {
  constexpr std::string_view kField = "oplogApplicationMode";
  constexpr std::string_view kModes[] = {"InitialSync", "Recovering", "Secondary", "ApplyOps"};
  const bson::Element mode = body.Find(kField);
  if (!mode.present()) {
    return Status::Ok();
  }
  if (!mode.value().is_string()) {
    return request::WrongType("applyOps", mode, "string");
  }
  if (std::find(std::begin(kModes), std::end(kModes), mode.value().AsString()) ==
      std::end(kModes)) {
    return {kFailedToParse, "Could not parse " + std::string(kField) +
                                " :: caused by :: Invalid oplog application mode provided: " +
                                std::string(mode.value().AsString())};
  }
  return Status::Ok();
}

Status RunApplyOps(Invocation& i) {
  bson::Element ops = i.body().front();
  if (ops.type() != bson::Type::kArray) {
    return request::WrongType("applyOps", ops, "array");
  }
  RETURN_IF_ERROR(CheckOps(ops.value().AsArray(), 0));
  RETURN_IF_ERROR(CheckMode(i.body()));
  ASSIGN_OR_RETURN(const Options options, ReadOptions(i.body()));
  int32_t applied = 0;
  bson::Builder outcome;
  outcome.BeginArray("results");
  Status status = ApplyOps(i, ops.value().AsArray(), options, 0, &applied, &outcome);
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
Status StateOps(bson::View ops, bool bypass_validation, int depth, auth::Needs* needs) {
  for (const bson::Element& e : ops) {
    ASSIGN_OR_RETURN(Entry entry, ReadEntry(e));
    const auth::Resource target = auth::OfNamespace(entry.ns);
    if (bypass_validation && (entry.op == 'i' || entry.op == 'u')) {
      needs->Add(Action::bypassDocumentValidation, target);
    }
    if (entry.op == 'i') {
      // Also where it replaces a document: the role restore has no more.
      needs->Add(Action::insert, target);
    } else if (entry.op == 'u') {
      needs->Add(Action::update, target);
      needs->Add(Action::insert, target);
    } else if (entry.op == 'd') {
      needs->Add(Action::remove, target);
    } else if (entry.op == 'c' && !entry.o.empty() && entry.o.front().name() == "applyOps" &&
               entry.o.front().value().is_array() && depth < kDeepest) {
      RETURN_IF_ERROR(StateOps(entry.o.front().value().AsArray(),
                               request::Truthy(entry.o["bypassDocumentValidation"]), depth + 1,
                               needs));
    }
  }
  return Status::Ok();
}

Status StateApplyOps(Invocation& i, auth::Needs* needs) {
  bson::Element ops = i.body().front();
  needs->Add(Action::applyOps, auth::Cluster());
  return ops.type() == bson::Type::kArray
             ? StateOps(ops.value().AsArray(),
                        request::Truthy(i.body()["bypassDocumentValidation"]), 0, needs)
             : request::WrongType("applyOps", ops, "array");
}

}  // namespace

std::span<const Row> ApplyOpsRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  static constexpr Row kRows[] = {
      {{"applyOps", "", kWrite | kWriteConcern | kToPrimary,
        "runs operations as the oplog has them"},
       RunApplyOps,
       Stated(StateApplyOps)},
  };
  return kRows;
}

}  // namespace quire::command
