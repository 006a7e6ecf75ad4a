// SPDX-License-Identifier: Apache-2.0
#include "engine/write.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "command/command.h"
#include "request/crud.h"

namespace quire::command {

namespace {

void AppendCount(bson::Builder* reply, std::string_view name, int64_t n) {
  if (n <= INT32_MAX) {
    reply->Append(name, static_cast<int32_t>(n));
  } else {
    reply->Append(name, n);
  }
}

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

Status RunInsert(Invocation& i) {
  ASSIGN_OR_RETURN(auto request, request::InsertRequest::Parse(i.call.request));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), request.collection));
  i.call.summary.ns = ns;
  ASSIGN_OR_RETURN(auto result, engine::Insert(i.operation, ns, request));
  AppendCount(&i.reply(), "n", result.n);
  AppendErrors(i, result);
  return Status::Ok();
}

Status RunUpdate(Invocation& i) {
  ASSIGN_OR_RETURN(auto request, request::UpdateRequest::Parse(i.body(), i.call.request.sequences));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), request.collection));
  i.call.summary.ns = ns;
  ASSIGN_OR_RETURN(auto result, engine::UpdateMany(i.operation, ns, request, &i.call.summary));
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
  return Status::Ok();
}

Status RunDelete(Invocation& i) {
  ASSIGN_OR_RETURN(auto request, request::DeleteRequest::Parse(i.body(), i.call.request.sequences));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), request.collection));
  i.call.summary.ns = ns;
  ASSIGN_OR_RETURN(auto result, engine::DeleteMany(i.operation, ns, request, &i.call.summary));
  AppendCount(&i.reply(), "n", result.n);
  AppendErrors(i, result);
  return Status::Ok();
}

Status RunFindAndModify(Invocation& i) {
  ASSIGN_OR_RETURN(auto request, request::FindAndModifyRequest::Parse(i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), request.collection));
  i.call.summary.ns = ns;
  return engine::FindAndModify(i.operation, ns, request, &i.call.summary, &i.reply());
}

}  // namespace

std::span<const Row> WriteRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  constexpr uint32_t kFlags = kWrite | kInTransaction | kRetryable | kWriteConcern;
  static constexpr Row kRows[] = {
      {{"insert", "", kFlags, "adds documents"}, RunInsert},
      {{"update", "", kFlags, "changes documents"}, RunUpdate},
      {{"delete", "", kFlags, "removes documents"}, RunDelete},
      {{"findAndModify", "findandmodify", kFlags, "changes one document and returns it"},
       RunFindAndModify},
  };
  return kRows;
}

}  // namespace quire::command
