// SPDX-License-Identifier: Apache-2.0
#include <array>

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

struct EndFields {
  bson::View recovery_token;  // of a sharded cluster: there is one node to ask here
};
constexpr request::FieldRow<EndFields> kEndRows[] = {
    request::Field<&EndFields::recovery_token>("recoveryToken"),
};

Status CheckEndFields(Invocation& i) {
  EndFields f;
  return request::ReadFields<EndFields>(i.call.command.name, i.body(), true, kEndRows, &f);
}

Status RunCommit(Invocation& i) {
  RETURN_IF_ERROR(CheckEndFields(i));
  RETURN_IF_ERROR(RequireTransaction(i));
  RETURN_IF_ERROR(i.operation.session->Commit(i.operation.durability));
  i.call.operation_time = i.engine.clock().Now();
  AppendWriteConcernError(i.call.generic.write_concern, &i.reply());
  return Status::Ok();
}

Status RunAbort(Invocation& i) {
  RETURN_IF_ERROR(CheckEndFields(i));
  RETURN_IF_ERROR(RequireTransaction(i));
  return i.operation.session->Abort();
}

// The array a command's first field must be.
Result<bson::View> ListOf(Invocation& i) {
  bson::Element list = i.body().front();
  if (list.value().nullish()) {
    return request::MissingField(i.call.command.name, i.call.command.name);
  }
  if (list.type() != bson::Type::kArray) {
    return request::WrongType(i.call.command.name, list, "array");
  }
  return list.value().AsArray();
}

Status WrongElement(Invocation& i, const bson::Element& e) {
  return {kTypeMismatch, "BSON field '" + std::string(i.call.command.name) + "." +
                             std::string(e.name()) + "' is the wrong type '" +
                             std::string(bson::TypeName(e.type())) + "', expected type 'object'"};
}

// The 16 bytes of {id: UUID}.
Result<std::string_view> SessionId(Invocation& i, bson::View session) {
  bson::Element id;
  for (const bson::Element& e : session) {
    if (e.name() == "id") {
      id = e;
    } else if (e.name() != "uid") {
      return request::UnknownField(i.call.command.name, e.name());
    }
  }
  if (!id.present() || id.value().nullish()) {
    return request::MissingField(i.call.command.name, "id");
  }
  if (id.type() != bson::Type::kBinary || id.value().binary_subtype() != 4) {
    return request::WrongType(i.call.command.name, id, "binData");
  }
  if (id.value().AsBinary().size() != 16) {
    return Status(kInvalidUUID, "uuid must be a 16-byte binary field with UUID (4) subtype");
  }
  return id.value().AsBinary();
}

// Calls `visit` with the id of each {id: UUID} of the command's array, once all are known to be
// well-formed.
template <typename F>
Status ForEachSession(Invocation& i, F visit) {
  ASSIGN_OR_RETURN(bson::View list, ListOf(i));
  std::vector<std::string_view> ids;
  for (const bson::Element& e : list) {
    if (e.value().nullish()) {
      continue;
    }
    if (e.type() != bson::Type::kDocument) {
      return WrongElement(i, e);
    }
    ASSIGN_OR_RETURN(std::string_view id, SessionId(i, e.value().AsDocument()));
    ids.push_back(id);
  }
  for (std::string_view id : ids) {
    RETURN_IF_ERROR(visit(id));
  }
  return Status::Ok();
}

Status RunStartSession(Invocation& i) {
  store::Uuid uuid = store::GenerateUuid();
  std::string_view id(reinterpret_cast<const char*>(uuid.data()), uuid.size());
  RETURN_IF_ERROR(i.engine.sessions().Get(id).status());
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
    return Status::Ok();
  });
}

Status RunRefreshSessions(Invocation& i) {
  return ForEachSession(
      i, [&](std::string_view lsid) { return i.engine.sessions().Get(lsid).status(); });
}

void EndAll(Invocation& i) {
  for (const auto& session : i.engine.sessions().All()) {
    if (session->lsid != i.call.generic.lsid) {
      EndOne(i, session->lsid);
    }
  }
}

struct UserPattern {
  std::string_view user;
  std::string_view db;
  static constexpr auto kFields = std::to_array<request::FieldRow<UserPattern>>(
      {request::Field<&UserPattern::user>("user", request::Need::kRequired),
       request::Field<&UserPattern::db>("db", request::Need::kRequired)});
};

// Sessions have no owner here: those of named users are none, those of everybody are all.
Status RunKillAllSessions(Invocation& i) {
  ASSIGN_OR_RETURN(bson::View list, ListOf(i));
  for (const bson::Element& e : list) {
    if (e.value().nullish()) {
      continue;
    }
    if (e.type() != bson::Type::kDocument) {
      return WrongElement(i, e);
    }
    UserPattern pattern;
    RETURN_IF_ERROR(request::ReadFields<UserPattern>("killAllSessions", e.value().AsDocument(),
                                                     false, UserPattern::kFields, &pattern));
  }
  if (list.empty()) {
    EndAll(i);
  }
  return Status::Ok();
}

// [{lsid: {id}}]; patterns of users and roles match nobody.
Status RunKillByPattern(Invocation& i) {
  ASSIGN_OR_RETURN(bson::View list, ListOf(i));
  if (list.empty()) {
    EndAll(i);
  }
  for (const bson::Element& e : list) {
    if (e.type() != bson::Type::kDocument) {
      return WrongElement(i, e);
    }
    bson::Value lsid = e.value().AsDocument()["lsid"];
    if (lsid.is_document()) {
      ASSIGN_OR_RETURN(std::string_view id, SessionId(i, lsid.AsDocument()));
      EndOne(i, id);
    }
  }
  return Status::Ok();
}

Status RunKillSessions(Invocation& i) {
  bson::Element list = i.body().front();
  if (list.type() == bson::Type::kArray && list.value().AsArray().empty()) {
    EndAll(i);
    return Status::Ok();
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
      {{"killAllSessions", "", 0, "ends all sessions"},
       RunKillAllSessions,
       OnCluster(Action::killAnySession)},
      {{"killAllSessionsByPattern", "", 0, "ends sessions by user"},
       RunKillByPattern,
       OnCluster(Action::killAnySession)},
  };
  return kRows;
}

}  // namespace quire::command
