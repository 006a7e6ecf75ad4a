// SPDX-License-Identifier: Apache-2.0
//
// The gates about the arguments that every command takes.
#include "auth/key_file.h"
#include "auth/scram.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "bson/repeated.h"
#include "request/crud.h"
#include "request/fields.h"
#include "request/route.h"
#include "run/backend.h"
#include "run/dispatcher.h"
#include "run/gates.h"

namespace quire::run {

using request::Call;

namespace {

// A router or another member of the cluster works for its own users, and says for whom.
bool IsMember(const request::Identity* caller) {
  return caller != nullptr && caller->user == auth::kMemberUser &&
         caller->database == auth::kMemberDatabase;
}

// Whoever has logged in, or is named by a member.
std::string_view OwnerOfSession(const Call& call) {
  return IsMember(call.client.identity.get()) && !call.generic.session_owner.empty()
             ? call.generic.session_owner
             : std::string_view(call.identity->digest);
}

// Makes the user that a member says the request is run for its identity: what is their own
// (operations, sessions, cursors) is theirs here, too. What may be done stays decided by the login.
// {$audit: {$impersonatedUser: {user, db}, $impersonatedRoles: [{_id, role, db}...]}}, much as
// MongoDB's routers send it; the roles are only there for requests that may ask for them.
Status TakeIdentity(Running& running) {
  Call& call = running.call;
  if (!running.dispatcher.backend().access_control()) {
    return Status::Ok();
  }
  const bson::Element given = call.body.Find("$audit");
  if (!given.present() || given.value().nullish()) {
    return Status::Ok();
  }
  if (!IsMember(call.client.identity.get())) {
    return {kUnauthorized, "Unauthorized use of impersonation metadata."};
  }
  const bson::Value user = given.type() == bson::Type::kDocument
                               ? given.value().AsDocument()["$impersonatedUser"]
                               : bson::Value();
  if (!user.is_document() || !user.AsDocument()["user"].is_string() ||
      !user.AsDocument()["db"].is_string()) {
    return request::WrongType(call.command.name, given, "object");
  }
  const std::string name(user.AsDocument()["user"].AsString());
  const std::string database(user.AsDocument()["db"].AsString());
  const bson::Value roles = given.value().AsDocument()["$impersonatedRoles"];
  call.identity = std::make_shared<request::Identity>(request::Identity{
      name, database, auth::UserDigest(name, database),
      roles.is_array() ? std::make_shared<const bson::Document>(roles.AsArray()) : nullptr});
  return Status::Ok();
}

}  // namespace

Status RefuseRepeatedFields(Running& running) {
  const Call& call = running.call;
  if (auto name = bson::RepeatedName(call.body)) {
    return request::DuplicateField(call.command.name, *name);
  }
  return Status::Ok();
}

Status RefuseDatabaseName(Running& running) {
  const Call& call = running.call;
  // Users who are known elsewhere are of a database that nothing else is in.
  constexpr std::string_view kExternal = "$external";
  if (call.database == kExternal || call.command.Is(request::kAnyDatabaseName)) {
    return Status::Ok();
  }
  return request::CheckDatabaseName(call.database);
}

Status ReadArguments(Running& running) {
  Call& call = running.call;
  ASSIGN_OR_RETURN(call.generic, request::ReadGeneric(call.command.name, call.body));
  RETURN_IF_ERROR(TakeIdentity(running));
  if (!call.generic.lsid.empty() && call.identity != nullptr) {
    call.session_key = request::SessionKey(call.generic.lsid, OwnerOfSession(call));
    call.generic.lsid = call.session_key;
  }
  return Status::Ok();
}

Status AnswerHelp(Running& running) {
  Call& call = running.call;
  const bool known =
      !call.command.Is(request::kTestOnly) || running.dispatcher.fail_points().enabled();
  if (call.generic.help && known) {
    call.reply.Append("help", "help for: " + std::string(call.command.name) + " " +
                                  std::string(call.command.help));
    running.done = true;
  }
  return Status::Ok();
}

Status CheckDatabase(Running& running) {
  const Call& call = running.call;
  if (call.database == "admin") {
    return Status::Ok();
  }
  return {kUnauthorized,
          std::string(call.command.name) + " may only be run against the admin database."};
}

Status CheckAllowedInTransaction(Running& running) {
  const Call& call = running.call;
  if (call.generic.in_transaction() && !call.command.Is(request::kInTransaction)) {
    return {kOperationNotSupportedInTransaction,
            "Cannot run '" + std::string(call.command.name) + "' in a multi-document transaction."};
  }
  return Status::Ok();
}

Status CheckConcerns(Running& running) {
  const Call& call = running.call;
  const std::string_view level = call.generic.read_concern_level;
  const bool takes_level =
      level.empty() || level == "local" ||
      call.command.Is(level == "snapshot" ? request::kSnapshotRead : request::kReadConcern);
  if (!takes_level && !call.generic.in_transaction()) {
    return {kInvalidOptions,
            "Command does not support readConcern { level: \"" + std::string(level) + "\" }"};
  }
  if (call.generic.write_concern.present && !call.command.Is(request::kWriteConcern)) {
    return {kInvalidOptions, "Command does not support writeConcern"};
  }
  return Status::Ok();
}

Status CheckStableApi(Running& running) {
  const request::Api& api = running.call.generic.api;
  const request::CommandInfo& command = running.call.command;
  if (!api.version && running.dispatcher.require_api_version.load(std::memory_order_relaxed) &&
      !running.call.client.remote().empty()) {
    return {
        498870,
        "The apiVersion parameter is required, please configure your MongoClient's API version"};
  }
  const bool version_2 = api.version == "2";
  const std::string_view version = version_2 ? "2" : "1";
  if (api.strict && !command.Is(version_2 ? request::kStableApi2 : request::kStableApi)) {
    return {kAPIStrictError, "Provided apiStrict:true, but the command " +
                                 std::string(command.name) + " is not in API Version " +
                                 std::string(version)};
  }
  const bool newest = version_2 || !command.Is(request::kStableApi2);
  if (api.deprecation_errors && newest && command.Is(request::kDeprecated)) {
    return {kAPIDeprecationError, "command " + std::string(command.name) +
                                      " is deprecated in API Version " + std::string(version)};
  }
  return Status::Ok();
}

Status SetTimeLimit(Running& running) {
  const Call& call = running.call;
  if (call.generic.max_time_ms > 0 && !call.command.Is(request::kOwnTimeLimit)) {
    running.op.SetDeadline(OpContext::Clock::now() +
                           std::chrono::milliseconds(call.generic.max_time_ms));
  }
  return Status::Ok();
}

Status RegisterOperation(Running& running) {
  running.Register();
  return Status::Ok();
}

Status CheckTestCommand(Running& running) {
  if (running.dispatcher.fail_points().enabled()) {
    return Status::Ok();
  }
  return {kCommandNotFound, "no such command: '" + std::string(running.call.command.name) + "'"};
}

Status CheckTestVersion(Running& running) {
  if (running.call.generic.api.version == "2" &&
      !running.dispatcher.fail_points().accepts_version_2()) {
    return {kAPIVersionError, "API version must be \"1\""};
  }
  return Status::Ok();
}

Status CheckMemory(Running& running) {
  if (running.dispatcher.short_of_memory.load(std::memory_order_relaxed) &&
      !running.call.command.Is(request::kFreesMemory)) {
    return {kExceededMemoryLimit,
            "The server is short of memory; the operation can be tried again"};
  }
  return Status::Ok();
}

}  // namespace quire::run
