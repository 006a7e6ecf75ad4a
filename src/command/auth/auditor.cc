// SPDX-License-Identifier: Apache-2.0
#include "command/auth/auditor.h"

#include <algorithm>
#include <chrono>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/auth/login.h"
#include "run/redact.h"

namespace quire::command {
namespace {

// The call this thread runs: whose doing a change of the catalog is.
thread_local const request::Call* running = nullptr;
// Who had logged in when it began.
thread_local const request::Attachment* login_before = nullptr;
// Whether it had said what it is by then.
thread_local bool metadata_before = false;

// Names that clients give are told of up to here.
constexpr size_t kLongestName = 256;
// Arguments of a command that was refused, or not: six times as long as JSON where they are control
// characters.
constexpr size_t kMostArguments = 2048;

std::chrono::seconds Now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

// The user that the first message of a SCRAM login names, "n,,n=USER,r=...".
std::string UserOf(const bson::Value& payload) {
  std::string text;
  if (payload.type() == bson::Type::kBinary) {
    text = payload.AsBinary();
  } else if (payload.is_string()) {
    text = auth::FromBase64(payload.AsString()).value_or("");
  }
  size_t begin = text.find(",n=");
  if (begin == std::string::npos) {
    return "";
  }
  std::string name = text.substr(begin + 3, text.find(',', begin + 3) - begin - 3);
  return name.substr(0, kLongestName);
}

bson::Document OfLogin(const std::string& user, const std::string& database,
                       const std::string& mechanism) {
  return bson::Builder()
      .Append("user", user)
      .Append("db", database)
      .Append("mechanism", mechanism)
      .Finish();
}

audit::Who WhoIs(const request::Client& client) {
  audit::Who who{client.id(), client.local(), client.remote(), {}, {}};
  if (auto login = std::static_pointer_cast<const Login>(client.login)) {
    who.users.emplace_back(login->user, login->database);
    for (const auth::RoleName& role : login->roles) {
      who.roles.emplace_back(role.role, role.database);
    }
  }
  return who;
}

audit::Who WhoRuns() { return running == nullptr ? audit::Who() : WhoIs(running->client); }

// Fields of an account command as events have them.
enum Fields : unsigned char {
  kUser = 1,       // {user, db} of the first field
  kRole = 2,       // {role, db} of it
  kDb = 4,         // {db}
  kRoles = 8,      // roles: [{role, db}]
  kCustom = 16,    // customData, when given
  kPassword = 32,  // passwordChanged
  kPrivileges = 64,
  kMessage = 128,  // {msg} of the first field
};

struct Account {
  std::string_view command;
  std::string_view type;
  unsigned fields;
};
constexpr Account kAccounts[] = {
    {"createUser", "createUser", kUser | kCustom | kRoles},
    {"updateUser", "updateUser", kUser | kPassword | kCustom | kRoles},
    {"dropUser", "dropUser", kUser},
    {"dropAllUsersFromDatabase", "dropAllUsersFromDatabase", kDb},
    {"grantRolesToUser", "grantRolesToUser", kUser | kRoles},
    {"revokeRolesFromUser", "revokeRolesFromUser", kUser | kRoles},
    {"createRole", "createRole", kRole | kRoles | kPrivileges},
    {"updateRole", "updateRole", kRole | kRoles | kPrivileges},
    {"dropRole", "dropRole", kRole},
    {"dropAllRolesFromDatabase", "dropAllRolesFromDatabase", kDb},
    {"grantRolesToRole", "grantRolesToRole", kRole | kRoles},
    {"revokeRolesFromRole", "revokeRolesFromRole", kRole | kRoles},
    {"grantPrivilegesToRole", "grantPrivilegesToRole", kRole | kPrivileges},
    {"revokePrivilegesFromRole", "revokePrivilegesFromRole", kRole | kPrivileges},
    {"logApplicationMessage", "applicationMessage", kMessage},
};

// Commands beside these that are not run while their events cannot be written.
constexpr std::string_view kOthers[] = {"authenticate",     "collMod",         "convertToCapped",
                                        "create",           "createIndexes",   "drop",
                                        "dropDatabase",     "dropIndexes",     "logout",
                                        "renameCollection", "replSetInitiate", "replSetReconfig",
                                        "saslStart",        "saslContinue"};

const Account* AccountOf(std::string_view command) {
  for (const Account& row : kAccounts) {
    if (row.command == command) {
      return &row;
    }
  }
  return nullptr;
}

bson::Document ParamOf(const Account& row, const request::Call& call) {
  bson::View body = call.body;
  bson::Builder out;
  auto append = [&](unsigned field, std::string_view name) {
    if (row.fields & field) {
      out.Append(name, body.front().value());
    }
  };
  append(kUser, "user");
  append(kRole, "role");
  append(kMessage, "msg");
  if ((row.fields & kMessage) == 0) {
    out.Append("db", call.database);
  }
  if (row.fields & kPassword) {
    out.Append("passwordChanged", body.Has("pwd"));
  }
  if ((row.fields & kCustom) && body.Has("customData")) {
    out.Append("customData", body["customData"]);
  }
  if (bson::Value roles = body["roles"]; (row.fields & kRoles) && roles.is_array()) {
    auto names = ReadRoleNames("roles", roles.AsArray(), call.database);
    if (names.ok()) {
      AppendRoleNames("roles", *names, &out);
    }
  }
  if ((row.fields & kPrivileges) && body["privileges"].is_array()) {
    out.Append("privileges", body["privileges"]);
  }
  return out.Finish();
}

// Commands by which users and roles can be written as documents.
struct DirectWrite {
  std::string_view command;
  std::string_view operation;
  std::string_view statements;  // the list of them; "": the command itself is one
  std::string_view document;    // which field of a statement is told; "": all of it
};
constexpr DirectWrite kDirectWrites[] = {
    {"insert", "insert", "documents", ""},
    {"update", "update", "updates", "q"},
    {"delete", "remove", "deletes", "q"},
    {"findAndModify", "update", "", "query"},
};

bool IsAccountCollection(std::string_view name) {
  return name == "system.users" || name == "system.roles" || name == "system.version";
}

void AppendWithoutCredentials(std::string_view name, const bson::Value& value, bson::Builder* out) {
  out->BeginDocument(name);
  if (value.is_document()) {
    for (const bson::Element& field : value.AsDocument()) {
      if (!field.name().starts_with("credentials")) {
        out->Append(field);
      }
    }
  }
  out->End();
}

bson::Document OfMetadata(const request::Client& client) {
  bson::Builder out;
  audit::AppendEndpoint("localEndpoint", client.local(), &out);
  return out.Append("clientMetadata", client.metadata).Finish();
}

// The arguments that are short enough, and whether that is not all.
void AppendArguments(bson::View command, bson::Builder* out) {
  size_t bytes = 0;
  bool whole = true;
  out->BeginDocument("args");
  for (const bson::Element& field : command) {
    const size_t needed = field.name().size() + field.value().EncodedSize();
    if (needed > kMostArguments - bytes) {
      whole = false;
    } else {
      bytes += needed;
      out->Append(field);
    }
  }
  out->End();
  if (!whole) {
    out->Append("truncated", true);
  }
}

// What authCheck tells of a command.
bson::Document CheckOf(const request::Call& call) {
  std::string ns(call.database.substr(0, kLongestName));
  if (bson::Value target = call.body.front().value(); target.is_string()) {
    ns.append(".").append(target.AsString().substr(0, kLongestName));
  }
  bson::Builder out;
  out.Append("command", call.command.name).Append("ns", ns);
  if (call.client.login != nullptr) {
    AppendArguments(run::ShownCommand(call.body).view(), &out);
  }
  return out.Finish();
}

bson::Document OfCollection(const store::CollectionInfo& info) {
  bson::Builder out;
  out.Append("ns", info.ns());
  if (info.is_view()) {
    out.Append("viewOn", info.database + "." + info.view_on);
    out.Append("pipeline", info.options["pipeline"]);
  }
  return out.Finish();
}

bson::Document OfIndex(const store::CollectionInfo& info, const store::IndexInfo& index,
                       std::string_view state) {
  bson::Builder out;
  out.Append("ns", info.ns()).Append("indexName", index.name);
  if (!state.empty()) {
    out.Append("indexSpec", index.spec).Append("indexBuildState", state);
  }
  return out.Finish();
}

bool Has(const std::vector<std::shared_ptr<const store::IndexInfo>>& indexes,
         std::string_view name) {
  return std::any_of(indexes.begin(), indexes.end(),
                     [&](const auto& index) { return index->name == name; });
}

bool IsEmpty(const store::CatalogSnapshot& snapshot, std::string_view database) {
  return snapshot.InDatabase(database).empty();
}

// What changed of the indexes of a collection: type, parameters and result of each event.
struct Change {
  std::string_view type;
  bson::Document param;
  int result = 0;
};
std::vector<Change> IndexChanges(const store::CollectionInfo* before,
                                 const store::CollectionInfo& after) {
  std::vector<Change> out;
  for (const auto& index : after.building) {
    if (before == nullptr || !Has(before->building, index->name)) {
      out.push_back({"createIndex", OfIndex(after, *index, "IndexBuildStarted")});
    }
  }
  for (const auto& index : after.indexes) {
    if (!index->is_id && (before == nullptr || !Has(before->indexes, index->name))) {
      out.push_back({"createIndex", OfIndex(after, *index, "IndexBuildSucceeded")});
    }
  }
  if (before == nullptr) {
    return out;
  }
  for (const auto& index : before->building) {
    if (!Has(after.indexes, index->name) && !Has(after.building, index->name)) {
      out.push_back(
          {"createIndex", OfIndex(after, *index, "IndexBuildAborted"), kIndexBuildAborted});
    }
  }
  for (const auto& index : before->indexes) {
    if (!Has(after.indexes, index->name)) {
      out.push_back({"dropIndex", OfIndex(after, *index, "")});
    }
  }
  return out;
}

}  // namespace

Auditor::Attribution::Attribution(const request::Call* call) : before_(running) { running = call; }
Auditor::Attribution::~Attribution() { running = before_; }

void Auditor::Tell(std::string_view type, const audit::Who& who, const bson::Document& param,
                   int result) {
  bson::Document event = audit::Event(type, who, param.view(), result);
  log_->Write(event.view());
}

void Auditor::NoteAttempt(const request::Call& call) {
  bson::View step = call.body;
  std::string_view database = call.database;
  if (bson::Value begun = step["speculativeAuthenticate"]; begun.is_document()) {
    step = begun.AsDocument();
    bson::Value given = step["db"];
    database = given.is_string() ? given.AsString() : std::string_view("admin");
  }
  if (step.empty() ||
      (step.front().name() != "saslStart" && step.front().name() != "authenticate")) {
    return;
  }
  Attempt attempt;
  bson::Value mechanism = step["mechanism"];
  bson::Value user = step["user"];
  attempt.database = database.substr(0, kLongestName);
  attempt.mechanism = mechanism.is_string() ? mechanism.AsString().substr(0, kLongestName) : "";
  attempt.user = user.is_string() ? std::string(user.AsString().substr(0, kLongestName))
                                  : UserOf(step["payload"]);
  MutexLock lock(mutex_);
  attempts_[call.client.id()] = std::move(attempt);
}

Auditor::Attempt Auditor::TakeAttempt(const request::Client& client) {
  MutexLock lock(mutex_);
  auto at = attempts_.find(client.id());
  Attempt out = at == attempts_.end() ? Attempt() : std::move(at->second);
  if (at != attempts_.end()) {
    attempts_.erase(at);
  }
  return out;
}

void Auditor::TellOfCheck(const request::Call& call, bool refused) {
  TellOfUntold(strangers_.TakeUntold(Now()));
  if (call.client.login != nullptr || strangers_.Take(call.client.origin(), Now())) {
    Tell("authCheck", WhoIs(call.client), CheckOf(call), refused ? kUnauthorized : 0);
  }
}

void Auditor::TellOfUntold(int64_t count) {
  if (count > 0) {
    Tell("auditLost", {},
         bson::Builder().Append("events", count).Append("reason", "not logged in").Finish(), 0);
  }
}

void Auditor::TellOfLogin(const request::Call& call, const Status& status) {
  auto login = std::static_pointer_cast<const Login>(call.client.login);
  const bool logged_in = login != nullptr && login.get() != login_before;
  const bool failed = !status.ok() && call.command.Is(request::kLogsIn);
  if (!logged_in && !failed) {
    return;
  }
  Attempt attempt = TakeAttempt(call.client);
  if (logged_in) {
    attempt.user = login->user;
    attempt.database = login->database;
  }
  Tell("authenticate", WhoIs(call.client),
       OfLogin(attempt.user, attempt.database, attempt.mechanism), status.code());
}

// Users and roles written as the documents they are. What credentials say is not told.
void Auditor::TellOfDirectWrites(const request::Call& call) {
  for (const DirectWrite& row : kDirectWrites) {
    bson::Value target = call.body.front().value();
    if (row.command != call.command.name || call.database != "admin" || !target.is_string() ||
        !IsAccountCollection(target.AsString())) {
      continue;
    }
    const std::string ns = "admin." + std::string(target.AsString());
    auto tell = [&](bson::View statement) {
      bson::Value document =
          row.document.empty() ? bson::Value(statement) : statement[row.document];
      bson::Builder param;
      AppendWithoutCredentials("document", document, &param);
      param.Append("ns", ns).Append("operation", row.operation);
      Tell("directAuthMutation", WhoIs(call.client), param.Finish(), 0);
    };
    if (row.statements.empty()) {
      tell(call.body);
      continue;
    }
    if (bson::Value list = call.body[row.statements]; list.is_array()) {
      for (const bson::Element& statement : list.AsArray()) {
        if (statement.value().is_document()) {
          tell(statement.value().AsDocument());
        }
      }
    }
    for (const auto& sequence : call.request->sequences) {
      if (sequence.name == row.statements) {
        for (bson::View statement : sequence.documents) {
          tell(statement);
        }
      }
    }
  }
}

void Auditor::TellOfLogout(const request::Client& client, const std::string& reason) {
  auto login = std::static_pointer_cast<const Login>(client.login);
  if (login == nullptr) {
    return;
  }
  bson::Builder param;
  param.Append("reason", reason).BeginArray("initialUsers");
  param.PushDocument().Append("user", login->user).Append("db", login->database).End().End();
  param.BeginArray("updatedUsers").End();
  Tell("logout", WhoIs(client), param.Finish(), 0);
}

Status Auditor::Begin(const request::Call& call) {
  const std::string_view name = call.command.name;
  const bool handshake = (call.command.flags & request::kHandshake) != 0;
  if (handshake) {
    login_before = call.client.login.get();
    metadata_before = call.client.has_metadata;
    NoteAttempt(call);
  }
  if (name == "logout") {
    TellOfLogout(call.client, "Explicit logout from " + std::string(call.database));
  }
  bool audited = AccountOf(name) != nullptr ||
                 std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers);
  // As JSON a command may be longer: text of control characters is six times as long.
  return audited ? log_->Check(8 * call.body.size()) : Status::Ok();
}

void Auditor::End(const request::Call& call, const Status& status, bool guarded) {
  const bool refused = status.code() == kUnauthorized;
  if ((call.command.flags & request::kHandshake) != 0) {
    if (call.client.has_metadata && !metadata_before) {
      Tell("clientMetadata", WhoIs(call.client), OfMetadata(call.client), 0);
    }
    TellOfLogin(call, status);
  } else if (guarded && (refused || authorization_success.load(std::memory_order_relaxed))) {
    TellOfCheck(call, refused);
  }
  const Account* row = AccountOf(call.command.name);
  if (row != nullptr && status.ok()) {
    Tell(row->type, WhoIs(call.client), ParamOf(*row, call), 0);
  }
  if (status.ok()) {
    TellOfDirectWrites(call);
  }
  bson::Value target = call.body.front().value();
  if (call.command.name == "drop" && status.code() == kNamespaceNotFound && target.is_string()) {
    std::string ns = std::string(call.database) + "." + std::string(target.AsString());
    Tell("dropCollection", WhoIs(call.client), bson::Builder().Append("ns", ns).Finish(),
         kNamespaceNotFound);
  }
}

void Auditor::Disconnected(const request::Client& client) {
  TellOfUntold(strangers_.TakeUntold(Now()));
  Attempt attempt = TakeAttempt(client);
  if (!attempt.mechanism.empty()) {
    Tell("authenticate", WhoIs(client), OfLogin(attempt.user, attempt.database, attempt.mechanism),
         kAuthenticationAbandoned);
  }
  TellOfLogout(client, "Implicit logout due to client connection closure");
}

void Auditor::CatalogChanged(const store::CatalogSnapshot& before,
                             const store::CatalogSnapshot& after,
                             const std::vector<std::string>& removed,
                             const std::vector<std::shared_ptr<store::CollectionInfo>>& added) {
  const audit::Who who = WhoRuns();
  std::vector<std::string> gone = removed;
  for (const auto& info : added) {
    auto old = std::find_if(gone.begin(), gone.end(), [&](const std::string& ns) {
      store::CollectionPtr was = before.Find(ns);
      return was != nullptr && was->uuid == info->uuid;
    });
    store::CollectionPtr same = before.Find(info->ns());
    if (old != gone.end()) {
      bson::Document param = bson::Builder().Append("old", *old).Append("new", info->ns()).Finish();
      Tell("renameCollection", who, param, 0);
      gone.erase(old);
      continue;
    }
    if (same == nullptr) {
      if (IsEmpty(before, info->database)) {
        bson::Document param = bson::Builder().Append("ns", info->database).Finish();
        Tell("createDatabase", who, param, 0);
      }
      Tell("createCollection", who, OfCollection(*info), 0);
    }
    for (const Change& change : IndexChanges(same.get(), *info)) {
      Tell(change.type, who, change.param, change.result);
    }
  }
  std::string emptied;
  for (const std::string& ns : gone) {
    store::CollectionPtr was = before.Find(ns);
    if (was != nullptr) {
      Tell("dropCollection", who, OfCollection(*was), 0);
      emptied = was->database;
    }
  }
  if (!emptied.empty() && IsEmpty(after, emptied)) {
    bson::Document param = bson::Builder().Append("ns", emptied).Finish();
    Tell("dropDatabase", who, param, 0);
  }
}

void Auditor::SetReconfigured(bson::View before, bson::View after) {
  bson::Builder param;
  if (!before.empty()) {
    param.Append("old", before);
  }
  Tell("replSetReconfig", WhoRuns(), param.Append("new", after).Finish(), 0);
}

void Auditor::Started(bson::View options) {
  bson::Builder param;
  param.Append("startupOptions", options).BeginArray("initialClusterServerParameters").End();
  Tell("startup", {}, param.Finish(), 0);
}

void Auditor::Stopping() {
  TellOfUntold(strangers_.TakeRest());
  Tell("shutdown", {}, bson::Document(), 0);
}

Status Auditor::Rotate() {
  std::string old;
  RETURN_IF_ERROR(log_->Rotate(&old));
  bson::Document param = bson::Builder().Append("pathname", old).Finish();
  Tell("rotateLog", WhoRuns(), param, 0);
  return Status::Ok();
}

}  // namespace quire::command
