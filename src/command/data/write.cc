// SPDX-License-Identifier: Apache-2.0
#include "engine/write/write.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/authorise.h"
#include "command/command.h"
#include "command/parsed_row.h"
#include "engine/schema/schema.h"
#include "engine/write/bulk_write.h"
#include "request/crud.h"
#include "run/write_concern.h"

namespace quire::command {

namespace {

// Errors of single documents; in a multi-document transaction they end it.
void AppendErrors(Invocation& i, const engine::WriteResult& result) {
  if (result.errors.empty()) {
    return;
  }
  if (i.operation.in_transaction) {
    i.operation.session->AbortQuietly();
  }
  bson::Builder* reply = &i.reply();
  reply->BeginArray("writeErrors");
  for (const engine::WriteError& error : result.errors) {
    reply->PushDocument().Append("index", error.index).Append("code", error.status.code());
    if (!error.status.extra().empty()) {
      reply->AppendFields(bson::View(error.status.extra().data()));
    }
    reply->Append("errmsg", error.status.message()).End();
  }
  reply->End();
}

void AppendRetried(Invocation& i, const std::vector<int32_t>& retried) {
  if (retried.empty()) {
    return;
  }
  i.reply().BeginArray("retriedStmtIds");
  for (int32_t statement : retried) {
    i.reply().Push(statement);
  }
  i.reply().End();
}

// What the reply tells of a write: nothing of one that the client does not want to know about.
engine::WriteResult Told(const Invocation& i, engine::WriteResult result) {
  return run::IsUnacknowledged(i.call.generic.write_concern) ? engine::WriteResult()
                                                             : std::move(result);
}

// Only the server itself writes to system.profile; what cannot be created cannot be written.
Status CheckWritten(std::string_view ns) {
  const std::string_view collection = ns.substr(ns.find('.') + 1);
  return collection == "system.profile"
             ? Status(kInvalidNamespace, "cannot write to " + std::string(ns))
             : engine::CheckNewName(ns);
}

// The namespace a client writes to.
Result<std::string> WrittenNamespace(Invocation& i, std::string_view collection) {
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), collection));
  i.call.summary.ns = ns;
  RETURN_IF_ERROR(CheckWritten(ns));
  return ns;
}

// Writes that are not validated need a privilege of their own.
void StateBypass(bool bypass, const auth::Resource& target, auth::Needs* needs) {
  if (bypass) {
    needs->Add(Action::bypassDocumentValidation, target);
  }
}

Result<request::InsertRequest> ParseInsert(Invocation& i) {
  return request::InsertRequest::Parse(*i.call.request);
}

Status StateInsert(Invocation& i, const request::InsertRequest& request, auth::Needs* needs) {
  const auth::Resource target = auth::Collection(i.database(), request.collection);
  needs->Add(Action::insert, target);
  StateBypass(request.bypass_validation, target, needs);
  return Status::Ok();
}

Status RunInsert(Invocation& i, const request::InsertRequest& request) {
  ASSIGN_OR_RETURN(std::string ns, WrittenNamespace(i, request.collection));
  ASSIGN_OR_RETURN(auto result, engine::Insert(i.operation, ns, request));
  i.call.summary.inserted = result.n;
  result = Told(i, std::move(result));
  AppendCount(&i.reply(), "n", result.n);
  AppendErrors(i, result);
  AppendRetried(i, result.retried);
  return Status::Ok();
}

Result<request::UpdateRequest> ParseUpdate(Invocation& i) {
  return request::UpdateRequest::Parse(i.body(), i.call.request->sequences);
}

Status RunUpdate(Invocation& i, const request::UpdateRequest& request) {
  ASSIGN_OR_RETURN(std::string ns, WrittenNamespace(i, request.collection));
  ASSIGN_OR_RETURN(auto result, engine::Update(i.operation, ns, request, &i.call.summary));
  result = Told(i, std::move(result));
  AppendCount(&i.reply(), "n", result.n);
  AppendCount(&i.reply(), "nModified", result.modified);
  if (!result.upserted.empty()) {
    i.reply().BeginArray("upserted");
    for (const engine::Upserted& upserted : result.upserted) {
      i.reply()
          .PushDocument()
          .Append("index", upserted.index)
          .Append("_id", upserted.id.value())
          .End();
    }
    i.reply().End();
  }
  AppendErrors(i, result);
  AppendRetried(i, result.retried);
  return Status::Ok();
}

Result<request::DeleteRequest> ParseDelete(Invocation& i) {
  return request::DeleteRequest::Parse(i.body(), i.call.request->sequences);
}

Status RunDelete(Invocation& i, const request::DeleteRequest& request) {
  ASSIGN_OR_RETURN(std::string ns, WrittenNamespace(i, request.collection));
  ASSIGN_OR_RETURN(auto result, engine::Delete(i.operation, ns, request, &i.call.summary));
  result = Told(i, std::move(result));
  AppendCount(&i.reply(), "n", result.n);
  AppendErrors(i, result);
  AppendRetried(i, result.retried);
  return Status::Ok();
}

Result<request::FindAndModifyRequest> ParseFindAndModify(Invocation& i) {
  return request::FindAndModifyRequest::Parse(i.body());
}

Status RunFindAndModify(Invocation& i, const request::FindAndModifyRequest& request) {
  ASSIGN_OR_RETURN(std::string ns, WrittenNamespace(i, request.collection));
  return engine::FindAndModify(i.operation, ns, request, &i.call.summary, &i.reply());
}

Result<request::BulkWriteRequest> ParseBulkWrite(Invocation& i) {
  return request::BulkWriteRequest::Parse(*i.call.request);
}

Status StateBulkWrite(Invocation& /*i*/, const request::BulkWriteRequest& request,
                      auth::Needs* needs) {
  using Kind = request::BulkOperation::Kind;
  std::vector<auth::ActionSet> actions(request.targets.size());
  for (const request::BulkOperation& operation : request.operations) {
    auto add = [&](Action action) { actions[operation.target].set(static_cast<size_t>(action)); };
    add(operation.kind == Kind::kInsert   ? Action::insert
        : operation.kind == Kind::kUpdate ? Action::update
                                          : Action::remove);
    if (operation.kind == Kind::kUpdate && operation.update.upsert) {
      add(Action::insert);
    }
  }
  for (size_t target = 0; target < actions.size(); ++target) {
    const auth::Resource resource = auth::OfNamespace(request.targets[target].ns);
    for (Action action : {Action::insert, Action::update, Action::remove}) {
      if (actions[target].test(static_cast<size_t>(action))) {
        needs->Add(action, resource);
      }
    }
    StateBypass(request.bypass_validation && actions[target].any(), resource, needs);
  }
  return Status::Ok();
}

bson::Document BulkItemReply(const engine::BulkItem& item) {
  bson::Builder out;
  out.Append("ok", item.status.ok() ? 1.0 : 0.0).Append("idx", item.index);
  if (!item.status.ok()) {
    out.Append("code", static_cast<int32_t>(item.status.code()))
        .Append("errmsg", item.status.message());
    if (!item.status.extra().empty()) {
      out.AppendFields(bson::View(item.status.extra().data()));
    }
  }
  AppendCount(&out, "n", item.n);
  if (item.kind == request::BulkOperation::Kind::kUpdate) {
    AppendCount(&out, "nModified", item.modified);
  }
  if (item.upserted) {
    out.BeginDocument("upserted").Append("_id", item.upserted->value()).End();
  }
  return out.Finish();
}

void AppendBulkCounts(const std::vector<engine::BulkItem>& items, bson::Builder* reply) {
  using Kind = request::BulkOperation::Kind;
  int64_t errors = 0;
  int64_t inserted = 0;
  int64_t matched = 0;
  int64_t modified = 0;
  int64_t upserted = 0;
  int64_t deleted = 0;
  for (const engine::BulkItem& item : items) {
    errors += item.status.ok() ? 0 : 1;
    inserted += item.kind == Kind::kInsert ? item.n : 0;
    deleted += item.kind == Kind::kDelete ? item.n : 0;
    matched += item.kind == Kind::kUpdate && !item.upserted ? item.n : 0;
    modified += item.modified;
    upserted += item.upserted ? 1 : 0;
  }
  AppendCount(reply, "nErrors", errors);
  AppendCount(reply, "nInserted", inserted);
  AppendCount(reply, "nMatched", matched);
  AppendCount(reply, "nModified", modified);
  AppendCount(reply, "nUpserted", upserted);
  AppendCount(reply, "nDeleted", deleted);
}

Status RunBulkWrite(Invocation& i, const request::BulkWriteRequest& request) {
  i.call.summary.ns = "admin.$cmd.bulkWrite";
  for (const request::BulkTarget& target : request.targets) {
    RETURN_IF_ERROR(CheckWritten(target.ns));
  }
  ASSIGN_OR_RETURN(auto result, engine::BulkWrite(i.operation, request, &i.call.summary));
  std::vector<bson::Document> batch;
  for (const engine::BulkItem& item : result.items) {
    if (!item.status.ok() || !request.errors_only) {
      batch.push_back(BulkItemReply(item));
    }
  }
  if (i.operation.in_transaction && !result.items.back().status.ok()) {
    i.operation.session->AbortQuietly();
  }
  RETURN_IF_ERROR(AppendDocuments(i, "admin.$cmd.bulkWrite", std::move(batch), request.batch_size));
  AppendBulkCounts(result.items, &i.reply());
  AppendRetried(i, result.retried);
  return Status::Ok();
}

}  // namespace

Status StateUpdate(Invocation& i, const request::UpdateRequest& request, auth::Needs* needs) {
  const auth::Resource target = auth::Collection(i.database(), request.collection);
  needs->Add(Action::update, target);
  if (std::any_of(request.updates.begin(), request.updates.end(),
                  [](const request::UpdateStatement& statement) { return statement.upsert; })) {
    needs->Add(Action::insert, target);
  }
  StateBypass(request.bypass_validation, target, needs);
  return Status::Ok();
}

Status StateDelete(Invocation& i, const request::DeleteRequest& request, auth::Needs* needs) {
  needs->Add(Action::remove, auth::Collection(i.database(), request.collection));
  return Status::Ok();
}

Status StateFindAndModify(Invocation& i, const request::FindAndModifyRequest& request,
                          auth::Needs* needs) {
  const auth::Resource target = auth::Collection(i.database(), request.collection);
  needs->Add(Action::find, target);
  needs->Add(request.remove ? Action::remove : Action::update, target);
  if (request.upsert) {
    needs->Add(Action::insert, target);
  }
  StateBypass(request.bypass_validation, target, needs);
  return Status::Ok();
}

std::span<const Row> WriteRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  constexpr uint32_t kFlags = kWrite | kInTransaction | kRetryable | kWriteConcern;
  static constexpr Row kRows[] = {
      ParsedRow<ParseInsert, StateInsert, RunInsert>(
          {"insert", "", kFlags | kStableApi | kByKey, "adds documents", OpKind::kInsert}),
      ParsedRow<ParseUpdate, StateUpdate, RunUpdate>({"update", "",
                                                      kFlags | kStableApi | kByStatement | kByKey,
                                                      "changes documents", OpKind::kUpdate}),
      ParsedRow<ParseDelete, StateDelete, RunDelete>(
          {"delete", "", kFlags | kStableApi | kByStatement | kFreesMemory | kByKey,
           "removes documents", OpKind::kRemove}),
      ParsedRow<ParseFindAndModify, StateFindAndModify, RunFindAndModify>(
          {"findAndModify", "findandmodify", kFlags | kStableApi | kByKey,
           "changes one document and returns it"}),
      ParsedRow<ParseBulkWrite, StateBulkWrite, RunBulkWrite>(
          {"bulkWrite", "", kFlags | kAdminOnly | kStableApi | kAdminInTransaction | kByKey,
           "writes to many collections at once"}),
  };
  return kRows;
}

}  // namespace quire::command
