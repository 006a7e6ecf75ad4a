// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "auth/scram.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "bson/repeated.h"
#include "command/authorise.h"
#include "command/command.h"
#include "command/parsed_row.h"
#include "request/fields.h"

namespace quire::command {

namespace {

Status RequireTransaction(const Invocation& i) {
  if (i.call.generic.lsid.empty() || !i.call.generic.txn_number) {
    return {kCommandFailed, std::string(i.call.command.name) + " must be run within a transaction"};
  }
  if (!i.call.generic.in_transaction()) {
    return {
        kNotARetryableWriteCommand,
        std::string(i.call.command.name) + " needs autocommit: false and the transaction's number"};
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
  i.operation.op.may_have_written = true;
  RETURN_IF_ERROR(i.operation.session->Commit(i.operation.durability));
  i.call.operation_time = i.engine.clock().Now();
  AppendConcernOfOne(i);
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

std::string_view OwnDigest(const Invocation& i) {
  return i.call.identity == nullptr ? std::string_view() : i.call.identity->digest;
}

// The key of {id: UUID, uid: digest}; without uid the caller's own session of that id.
Result<std::string> KeyOf(Invocation& i, bson::View session) {
  bson::Element id;
  bson::Element uid;
  for (const bson::Element& e : session) {
    if (e.name() != "id" && e.name() != "uid") {
      return request::UnknownField(i.call.command.name, e.name());
    }
    bson::Element& field = e.name() == "id" ? id : uid;
    if (field.present()) {
      return request::DuplicateField(i.call.command.name, e.name());
    }
    field = e;
  }
  if (!id.present() || id.value().nullish()) {
    return request::MissingField(i.call.command.name, "id");
  }
  if (id.type() != bson::Type::kBinary || id.value().binary_subtype() != 4) {
    return request::WrongType(i.call.command.name, id, "binData");
  }
  if (id.value().AsBinary().size() != request::kSessionIdSize) {
    return Status(kInvalidUUID, "uuid must be a 16-byte binary field with UUID (4) subtype");
  }
  const bool named = i.call.identity != nullptr && uid.present() && !uid.value().nullish();
  if (named && uid.type() != bson::Type::kBinary) {
    return request::WrongType(i.call.command.name, uid, "binData");
  }
  return request::SessionKey(id.value().AsBinary(), named ? uid.value().AsBinary() : OwnDigest(i));
}

// The sessions that the command's array names.
Result<std::vector<std::string>> ParseSessions(Invocation& i) {
  ASSIGN_OR_RETURN(bson::View list, ListOf(i));
  std::vector<std::string> keys;
  for (const bson::Element& e : list) {
    if (e.value().nullish()) {
      continue;
    }
    if (e.type() != bson::Type::kDocument) {
      return WrongElement(i, e);
    }
    ASSIGN_OR_RETURN(std::string key, KeyOf(i, e.value().AsDocument()));
    keys.push_back(std::move(key));
  }
  return keys;
}

// Those of others are out of reach without a privilege.
Status StateSessions(Invocation& i, const std::vector<std::string>& keys, auth::Needs* needs) {
  for (const std::string& key : keys) {
    if (std::string_view(key).substr(request::kSessionIdSize) != OwnDigest(i)) {
      needs->Add(Action::killAnySession, auth::Cluster());
      break;
    }
  }
  return Status::Ok();
}

Status RunStartSession(Invocation& i) {
  store::Uuid uuid = store::GenerateUuid();
  std::string_view id(reinterpret_cast<const char*>(uuid.data()), uuid.size());
  RETURN_IF_ERROR(i.engine.sessions().Get(request::SessionKey(id, OwnDigest(i))).status());
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

Status RunEndSessions(Invocation& i, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (key != i.call.generic.lsid) {
      EndOne(i, key);
    }
  }
  return Status::Ok();
}

Status RunRefreshSessions(Invocation& i, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    RETURN_IF_ERROR(i.engine.sessions().Get(key).status());
  }
  return Status::Ok();
}

// Ends the sessions of one owner, or (nothing given) of everybody.
void EndAll(Invocation& i, std::optional<std::string_view> owner) {
  for (const auto& session : i.engine.sessions().All()) {
    if (session->lsid != i.call.generic.lsid && (!owner || session->owner() == *owner)) {
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

// The digest of the user that {user, db} names.
Result<std::string> OwnerOf(Invocation& i, const bson::Element& e) {
  if (e.type() != bson::Type::kDocument) {
    return WrongElement(i, e);
  }
  UserPattern pattern;
  RETURN_IF_ERROR(request::ReadFields<UserPattern>(i.call.command.name, e.value().AsDocument(),
                                                   false, UserPattern::kFields, &pattern));
  return auth::UserDigest(pattern.user, pattern.db);
}

Status RunKillAllSessions(Invocation& i) {
  ASSIGN_OR_RETURN(bson::View list, ListOf(i));
  std::vector<std::string> owners;
  for (const bson::Element& e : list) {
    if (!e.value().nullish()) {
      ASSIGN_OR_RETURN(std::string owner, OwnerOf(i, e));
      owners.push_back(std::move(owner));
    }
  }
  if (list.empty()) {
    EndAll(i, std::nullopt);
  }
  for (const std::string& owner : owners) {
    EndAll(i, owner);
  }
  return Status::Ok();
}

// What a pattern stands for: one session, those of some owners, or all of them.
struct SessionPattern {
  std::string lsid;
  std::vector<std::string> owners;
};

Result<SessionPattern> ReadPattern(Invocation& i, bson::View pattern) {
  SessionPattern out;
  if (auto name = bson::RepeatedName(pattern)) {
    return request::DuplicateField(i.call.command.name, *name);
  }
  for (const bson::Element& e : pattern) {
    if (e.name() == "lsid") {
      if (e.type() != bson::Type::kDocument) {
        return request::WrongType(i.call.command.name, e, "object");
      }
      ASSIGN_OR_RETURN(out.lsid, KeyOf(i, e.value().AsDocument()));
    } else if (e.name() == "uid") {
      if (e.type() != bson::Type::kBinary) {
        return request::WrongType(i.call.command.name, e, "binData");
      }
      out.owners.emplace_back(e.value().AsBinary());
    } else if (e.name() == "users") {
      if (e.type() != bson::Type::kArray) {
        return request::WrongType(i.call.command.name, e, "array");
      }
      for (const bson::Element& user : e.value().AsArray()) {
        ASSIGN_OR_RETURN(std::string owner, OwnerOf(i, user));
        out.owners.push_back(std::move(owner));
      }
    } else if (e.name() != "roles") {  // nobody runs anything here in another's name
      return request::UnknownField(i.call.command.name, e.name());
    }
  }
  return out;
}

// Naming users or roles is acting in their name.
Status StateKillByPattern(Invocation& i, auth::Needs* needs) {
  needs->Add(Action::killAnySession, auth::Cluster());
  ASSIGN_OR_RETURN(bson::View list, ListOf(i));
  for (const bson::Element& e : list) {
    if (e.type() == bson::Type::kDocument &&
        (e.value().AsDocument().Has("users") || e.value().AsDocument().Has("roles"))) {
      needs->Add(Action::impersonate, auth::Cluster());
    }
  }
  return Status::Ok();
}

Status RunKillByPattern(Invocation& i) {
  ASSIGN_OR_RETURN(bson::View list, ListOf(i));
  std::vector<SessionPattern> patterns;
  for (const bson::Element& e : list) {
    if (e.type() != bson::Type::kDocument) {
      return WrongElement(i, e);
    }
    ASSIGN_OR_RETURN(SessionPattern pattern, ReadPattern(i, e.value().AsDocument()));
    patterns.push_back(std::move(pattern));
  }
  if (list.empty()) {
    EndAll(i, std::nullopt);
  }
  for (const SessionPattern& pattern : patterns) {
    if (!pattern.lsid.empty()) {
      EndOne(i, pattern.lsid);
    }
    for (const std::string& owner : pattern.owners) {
      EndAll(i, owner);
    }
  }
  return Status::Ok();
}

// Without a list: all that the caller has; everybody's where nobody logs in.
Status RunKillSessions(Invocation& i, const std::vector<std::string>& keys) {
  bson::Value list = i.body().front().value();
  if (list.AsArray().empty()) {
    EndAll(i, i.call.identity == nullptr ? std::nullopt : std::optional(OwnDigest(i)));
  }
  return RunEndSessions(i, keys);
}

}  // namespace

std::span<const Row> TransactionRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  constexpr uint32_t kEnd = kAdminOnly | kInTransaction | kWriteConcern | kStableApi |
                            kEndsTransaction | kAdminInTransaction;
  static constexpr Row kRows[] = {
      {{"commitTransaction", "", kEnd | kCommits, "commits a transaction"}, RunCommit, kLoggedIn},
      {{"abortTransaction", "", kEnd, "aborts a transaction"}, RunAbort, kLoggedIn},
      {{"startSession", "", 0, "begins a session"}, RunStartSession, kLoggedIn},
      ParsedRow<ParseSessions, StateSessions, RunEndSessions>(
          {"endSessions", "", kStableApi | kToShards, "ends sessions"}),
      ParsedRow<ParseSessions, StateSessions, RunRefreshSessions>(
          {"refreshSessions", "", kStableApi, "keeps sessions from timing out"}),
      ParsedRow<ParseSessions, StateSessions, RunKillSessions>(
          {"killSessions", "", kToShards, "ends sessions and what they run"}),
      {{"killAllSessions", "", kToShards, "ends all sessions"},
       RunKillAllSessions,
       OnCluster(Action::killAnySession)},
      {{"killAllSessionsByPattern", "", kToShards, "ends sessions by user"},
       RunKillByPattern,
       Stated(StateKillByPattern)},
  };
  return kRows;
}

}  // namespace quire::command
