// SPDX-License-Identifier: Apache-2.0
#include "base/error_codes.h"
#include "base/try.h"
#include "command/access.h"
#include "command/command.h"
#include "command/write_concern.h"
#include "request/fields.h"

namespace quire::command {

namespace {

Status RequireTransaction(const Invocation& i) {
  if (i.call.generic.lsid.empty() || !i.call.generic.txn_number) {
    return {kCommandFailed, std::string(i.call.command.name) + " must be run within a transaction"};
  }
  if (!i.call.generic.in_transaction()) {
    return {50768, std::string(i.call.command.name) +
                       " needs autocommit: false and the transaction's number"};
  }
  return Status::Ok();
}

Status RunCommit(Invocation& i) {
  RETURN_IF_ERROR(RequireTransaction(i));
  RETURN_IF_ERROR(i.operation.session->Commit(i.operation.durability));
  i.engine.clock().Tick();
  AppendWriteConcernError(i.call.generic.write_concern, &i.reply());
  return Status::Ok();
}

Status RunAbort(Invocation& i) {
  RETURN_IF_ERROR(RequireTransaction(i));
  return i.operation.session->Abort();
}

// Calls `visit` with the 16 bytes of each {id: UUID} of the command's array.
template <typename F>
Status ForEachSession(Invocation& i, F visit) {
  bson::Element list = i.body().front();
  if (list.type() != bson::Type::kArray) {
    return request::WrongType(i.call.command.name, list, "array");
  }
  for (const bson::Element& e : list.value().AsArray()) {
    if (e.type() != bson::Type::kDocument) {
      return {kTypeMismatch, "BSON field '" + std::string(i.call.command.name) + "." +
                                 std::string(e.name()) + "' is the wrong type '" +
                                 std::string(bson::TypeName(e.type())) +
                                 "', expected type 'object'"};
    }
    bson::Element id = e.value().AsDocument().Find("id");
    if (!id.present()) {
      return request::MissingField(i.call.command.name, "id");
    }
    bson::Value uuid = id.value();
    if (uuid.type() != bson::Type::kBinary || uuid.AsBinary().size() != 16) {
      return request::WrongType(i.call.command.name, id, "binData");
    }
    visit(uuid.AsBinary());
  }
  return Status::Ok();
}

Status RunStartSession(Invocation& i) {
  store::Uuid uuid = store::GenerateUuid();
  std::string_view id(reinterpret_cast<const char*>(uuid.data()), uuid.size());
  i.engine.sessions().Get(id);
  i.reply()
      .BeginDocument("id")
      .Append("id", bson::Value::Binary(id, 4))
      .End()
      .Append("timeoutMinutes", static_cast<int32_t>(i.engine.options().session_timeout.count()));
  return Status::Ok();
}

void EndOne(Invocation& i, std::string_view lsid) {
  i.commands.operations().KillSession(lsid, kInterrupted);
  i.engine.cursors().KillSession(lsid);
  i.engine.sessions().End(lsid);
}

Status RunEndSessions(Invocation& i) {
  return ForEachSession(i, [&](std::string_view lsid) {
    if (lsid != i.call.generic.lsid) {
      EndOne(i, lsid);
    }
  });
}

Status RunRefreshSessions(Invocation& i) {
  return ForEachSession(i, [&](std::string_view lsid) { i.engine.sessions().Get(lsid); });
}

Status RunKillAllSessions(Invocation& i) {
  for (const auto& session : i.engine.sessions().All()) {
    if (session->lsid != i.call.generic.lsid) {
      EndOne(i, session->lsid);
    }
  }
  return Status::Ok();
}

Status RunKillSessions(Invocation& i) {
  bson::Element list = i.body().front();
  if (list.type() == bson::Type::kArray && list.value().AsArray().empty()) {
    return RunKillAllSessions(i);
  }
  return RunEndSessions(i);
}

}  // namespace

std::span<const Row> TransactionRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  constexpr uint32_t kEnd = kAdminOnly | kInTransaction | kWriteConcern;
  static constexpr Row kRows[] = {
      {{"commitTransaction", "", kEnd | kStableApi, "commits a transaction"}, RunCommit, kLoggedIn},
      {{"abortTransaction", "", kEnd | kStableApi, "aborts a transaction"}, RunAbort, kLoggedIn},
      {{"startSession", "", 0, "begins a session"}, RunStartSession, kLoggedIn},
      {{"endSessions", "", kStableApi, "ends sessions"}, RunEndSessions, kLoggedIn},
      {{"refreshSessions", "", kStableApi, "keeps sessions from timing out"},
       RunRefreshSessions,
       kLoggedIn},
      {{"killSessions", "", 0, "ends sessions and what they run"}, RunKillSessions, kLoggedIn},
      {{"killAllSessions", "", kAdminOnly, "ends all sessions"},
       RunKillAllSessions,
       OnCluster(Action::killAnySession)},
      {{"killAllSessionsByPattern", "", kAdminOnly, "ends sessions by user"},
       RunKillAllSessions,
       OnCluster(Action::killAnySession)},
  };
  return kRows;
}

}  // namespace quire::command
