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
#include "request/bulk_write_reply.h"
#include "request/crud.h"
#include "request/write_reply.h"
#include "run/write_concern.h"

namespace quire::command {

namespace {

// Appends what the reply tells of a write: nothing of one that the client does not want to know
// about. Errors of single documents end a multi-document transaction.
void Tell(Invocation& i, const request::WriteReply& result, bool update = false) {
  if (run::IsUnacknowledged(i.call.generic.write_concern)) {
    request::WriteReply().AppendTo(&i.reply(), update);
    return;
  }
  if (!result.errors.empty() && i.operation.in_transaction) {
    i.operation.session->AbortQuietly();
  }
  result.AppendTo(&i.reply(), update);
}

// Only the server itself writes to system.profile and to its log; what cannot be created cannot be
// written.
Status CheckWritten(std::string_view ns) {
  const std::string_view collection = ns.substr(ns.find('.') + 1);
  return collection == "system.profile" || ns == "local.oplog.rs"
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
  Tell(i, result);
  return Status::Ok();
}

Result<request::UpdateRequest> ParseUpdate(Invocation& i) {
  return request::UpdateRequest::Parse(i.body(), i.call.request->sequences);
}

// $$CLUSTER_TIME is the same in all statements of an update, not in those of a bulkWrite; a
// timestamp of $currentDate is each one's own, and only pipelines name the variable.
void FixClusterTime(Invocation& i, const request::UpdateStatement& statement) {
  if (statement.u.is_array() && !i.operation.cluster_time) {
    i.operation.cluster_time = i.engine.clock().Now();
  }
}

Status RunUpdate(Invocation& i, const request::UpdateRequest& request) {
  for (const request::UpdateStatement& statement : request.updates) {
    FixClusterTime(i, statement);
  }
  ASSIGN_OR_RETURN(std::string ns, WrittenNamespace(i, request.collection));
  ASSIGN_OR_RETURN(auto result, engine::Update(i.operation, ns, request, &i.call.summary));
  Tell(i, result, /*update=*/true);
  return Status::Ok();
}

Result<request::DeleteRequest> ParseDelete(Invocation& i) {
  return request::DeleteRequest::Parse(i.body(), i.call.request->sequences);
}

Status RunDelete(Invocation& i, const request::DeleteRequest& request) {
  ASSIGN_OR_RETURN(std::string ns, WrittenNamespace(i, request.collection));
  ASSIGN_OR_RETURN(auto result, engine::Delete(i.operation, ns, request, &i.call.summary));
  Tell(i, result);
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

Status RunBulkWrite(Invocation& i, const request::BulkWriteRequest& request) {
  i.call.summary.ns = "admin.$cmd.bulkWrite";
  for (const request::BulkTarget& target : request.targets) {
    RETURN_IF_ERROR(CheckWritten(target.ns));
  }
  ASSIGN_OR_RETURN(auto result, engine::BulkWrite(i.operation, request, &i.call.summary));
  std::vector<bson::Document> batch;
  for (const request::BulkItem& item : result.items) {
    if (!item.status.ok() || !request.errors_only) {
      batch.push_back(item.Write());
    }
  }
  if (i.operation.in_transaction && !result.items.back().status.ok()) {
    i.operation.session->AbortQuietly();
  }
  RETURN_IF_ERROR(AppendDocuments(i, "admin.$cmd.bulkWrite", std::move(batch), request.batch_size));
  result.AppendTo(&i.reply());
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
