// SPDX-License-Identifier: Apache-2.0
//
// Users: making, changing, removing and showing them.
#include <algorithm>
#include <array>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/auth/login.h"
#include "command/diagnostic.h"
#include "command/own_documents.h"
#include "command/parsed_row.h"
#include "command/stored_version.h"
#include "expr/match/match.h"
#include "request/fields.h"

namespace quire::command {
namespace {

struct UserRequest {
  std::optional<std::string_view> password;
  request::ArrayArgument roles;
  std::optional<bson::View> custom_data;
  request::ArrayArgument mechanisms;
  request::ArrayArgument restrictions;
  bool digest_password = true;
};
using U = UserRequest;
constexpr auto kUserRows = std::to_array<request::FieldRow<U>>(
    {request::Field<&U::password>("pwd"), request::Field<&U::custom_data>("customData"),
     request::Field<&U::roles>("roles"), request::Field<&U::digest_password>("digestPassword"),
     request::Field<&U::restrictions>("authenticationRestrictions"),
     request::Field<&U::mechanisms>("mechanisms")});

constexpr std::string_view kRestrictions = "authenticationRestrictions";

std::string IdOf(std::string_view user, std::string_view database) {
  return std::string(database) + "." + std::string(user);
}

Status NotFound(std::string_view user, std::string_view database) {
  return {kUserNotFound,
          "User '" + std::string(user) + "@" + std::string(database) + "' not found"};
}

Result<std::string_view> NameOf(Invocation& i) {
  bson::Element name = i.body().front();
  if (name.type() != bson::Type::kString) {
    return request::WrongType(i.call.command.name, name, "string");
  }
  if (name.value().AsString().empty()) {
    return Status(kBadValue, "Username must be non-empty");
  }
  if (name.value().AsString().find('\0') != std::string_view::npos) {
    return Status(kBadValue, "Username cannot contain NULL characters");
  }
  return name.value().AsString();
}

Result<std::vector<auth::Mechanism>> ReadMechanisms(const UserRequest& asked) {
  std::vector<auth::Mechanism> out;
  if (!asked.mechanisms.present) {
    if (asked.digest_password) {
      out.push_back(auth::Mechanism::kScramSha256);
    }
    out.push_back(auth::Mechanism::kScramSha1);
    return out;
  }
  for (const bson::Element& e : asked.mechanisms.view) {
    if (e.type() != bson::Type::kString) {
      return Status(kBadValue, "mechanisms field must be an array of strings");
    }
    std::optional<auth::Mechanism> mechanism = auth::FindMechanism(e.value().AsString());
    if (!mechanism) {
      return Status(kBadValue,
                    "Unknown auth mechanism '" + std::string(e.value().AsString()) + "'");
    }
    out.push_back(*mechanism);
  }
  if (out.empty()) {
    return Status(kBadValue, "mechanisms field must not be empty");
  }
  return out;
}

// The sub-document "credentials".
Result<bson::Document> MakeCredentials(std::string_view user, const UserRequest& asked) {
  if (asked.password->empty()) {
    return Status(50687, "Password cannot be empty");
  }
  ASSIGN_OR_RETURN(std::vector<auth::Mechanism> mechanisms, ReadMechanisms(asked));
  bson::Builder out;
  for (auth::Mechanism mechanism : {auth::Mechanism::kScramSha1, auth::Mechanism::kScramSha256}) {
    if (std::find(mechanisms.begin(), mechanisms.end(), mechanism) == mechanisms.end()) {
      continue;
    }
    if (mechanism == auth::Mechanism::kScramSha256 && !asked.digest_password) {
      return Status(kBadValue, "Use of SCRAM-SHA-256 requires undigested passwords");
    }
    ASSIGN_OR_RETURN(
        auth::Credential credential,
        auth::MakeCredential(mechanism, user, *asked.password, !asked.digest_password));
    out.Append(auth::MechanismName(mechanism), auth::CredentialDocument(credential));
  }
  return out.Finish();
}

// A role is given and taken by who may do so in the role's own database.
void StateRoles(const std::vector<auth::RoleName>& roles, Action action, auth::Needs* needs) {
  for (const auth::RoleName& name : roles) {
    needs->Add(action, auth::Database(name.database));
  }
}

void Changed(Invocation& i) { i.commands.accounts_version.fetch_add(1); }

// createUser and updateUser, parsed.
struct ParsedUser {
  std::string_view user;
  UserRequest asked;
  std::vector<auth::RoleName> roles;
  auth::Restrictions restrictions;
};

Result<ParsedUser> ParseUser(Invocation& i) {
  ParsedUser out;
  ASSIGN_OR_RETURN(out.user, NameOf(i));
  RETURN_IF_ERROR(
      request::ReadFields<UserRequest>(i.call.command.name, i.body(), true, kUserRows, &out.asked));
  if (out.asked.roles.present) {
    ASSIGN_OR_RETURN(out.roles, ReadRoleNames(std::string(i.call.command.name) + ".roles",
                                              out.asked.roles.view, i.database()));
  }
  ASSIGN_OR_RETURN(out.restrictions, auth::Restrictions::Parse(out.asked.restrictions.view));
  return out;
}

void StateRestrictions(Invocation& i, const UserRequest& asked, auth::Needs* needs) {
  if (asked.restrictions.present) {
    needs->Add(Action::setAuthenticationRestriction, auth::Database(i.database()));
  }
}

Status StateCreateUser(Invocation& i, const ParsedUser& request, auth::Needs* needs) {
  needs->Add(Action::createUser, auth::Database(i.database()));
  StateRoles(request.roles, Action::grantRole, needs);
  StateRestrictions(i, request.asked, needs);
  return Status::Ok();
}

Status RunCreateUser(Invocation& i, const ParsedUser& request) {
  ASSIGN_OR_RETURN(const AccountLock alone, LockAccounts());
  std::string_view user = request.user;
  const UserRequest& asked = request.asked;
  const std::vector<auth::RoleName>& roles = request.roles;
  if (!asked.roles.present) {
    return request::MissingField("createUser", "roles");
  }
  if (i.database() == "local") {
    return {kBadValue, "Cannot create users in the local database"};
  }
  bool external = i.database() == "$external";
  if (!external && !asked.password) {
    return {kBadValue,
            "Must provide a 'pwd' field for all user documents, except those with '$external' as "
            "the user's source db"};
  }
  if (external && asked.password) {
    return {kBadValue, "Cannot set the password for users defined on the '$external' database"};
  }
  RETURN_IF_ERROR(CheckRolesExist(i.engine, roles));
  store::Uuid uuid = store::GenerateUuid();
  bson::Builder out;
  out.Append("_id", IdOf(user, i.database()))
      .Append("userId",
              bson::Value::Binary({reinterpret_cast<const char*>(uuid.data()), uuid.size()}, 4))
      .Append("user", user)
      .Append("db", i.database());
  if (external) {
    out.BeginDocument("credentials").Append("external", true).End();
  } else {
    ASSIGN_OR_RETURN(bson::Document credentials, MakeCredentials(user, asked));
    out.Append("credentials", credentials);
  }
  if (asked.custom_data) {
    out.Append("customData", *asked.custom_data);
  }
  if (!request.restrictions.empty()) {
    AppendRestrictions(kRestrictions, request.restrictions, &out);
  }
  AppendRoleNames("roles", roles, &out);
  bson::Document document = out.Finish();
  RETURN_IF_ERROR(KeepAuthSchema(i.engine));
  Status added = AddOwn(i.engine, kUsers, document.view());
  if (added.code() == kDuplicateKey) {
    return {51003,
            "User \"" + std::string(user) + "@" + std::string(i.database()) + "\" already exists"};
  }
  Changed(i);
  return added;
}

// The stored user that the command's first field names.
Result<bson::Document> LoadNamed(Invocation& i) {
  ASSIGN_OR_RETURN(std::string_view user, NameOf(i));
  std::string id = IdOf(user, i.database());
  ASSIGN_OR_RETURN(std::optional<bson::Document> stored,
                   LoadOwn(i.engine, kUsers, bson::Value(std::string_view(id))));
  if (!stored) {
    return NotFound(user, i.database());
  }
  return *std::move(stored);
}

// The user with some fields set to others, those that `changes` names; restrictions that are none
// leave no field.
Status Replace(Invocation& i, bson::View stored, bson::View changes) {
  bson::Builder out;
  auto append = [&](const bson::Element& e) {
    if (e.name() != kRestrictions || !e.value().is_array() || !e.value().AsArray().empty()) {
      out.Append(e);
    }
  };
  for (const bson::Element& e : stored) {
    bson::Element changed = changes.Find(e.name());
    append(changed.present() ? changed : e);
  }
  for (const bson::Element& e : changes) {
    if (!stored.Has(e.name())) {
      append(e);
    }
  }
  bson::Document document = out.Finish();
  RETURN_IF_ERROR(SaveOwn(i.engine, kUsers, document.view()));
  Changed(i);
  return Status::Ok();
}

// New credentials when a password is given, fewer of the old ones when only mechanisms are.
Status ChangeCredentials(const UserRequest& asked, std::string_view user, bson::View stored,
                         bson::Builder* changes) {
  if (asked.password) {
    ASSIGN_OR_RETURN(bson::Document credentials, MakeCredentials(user, asked));
    changes->Append("credentials", credentials);
    return Status::Ok();
  }
  if (!asked.mechanisms.present) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(std::vector<auth::Mechanism> kept, ReadMechanisms(asked));
  changes->BeginDocument("credentials");
  for (auth::Mechanism mechanism : kept) {
    std::optional<auth::Credential> credential = CredentialOf(stored, mechanism);
    if (!credential) {
      return {kBadValue,
              "mechanisms field must be a subset of previously set mechanisms when no password is "
              "given"};
    }
    changes->Append(auth::MechanismName(mechanism), auth::CredentialDocument(*credential));
  }
  changes->End();
  return Status::Ok();
}

// Everybody may change what is theirs with the actions named so.
Status StateUpdateUser(Invocation& i, const ParsedUser& request, auth::Needs* needs) {
  const bool own = needs->IsCaller(request.user, i.database());
  const auth::Resource here = auth::Database(i.database());
  auto change = [&](Action any, Action of_own) {
    if (own) {
      needs->AddEither({{{any, here}}, {{of_own, here}}});
    } else {
      needs->Add(any, here);
    }
  };
  if (request.asked.password || request.asked.mechanisms.present) {
    change(Action::changePassword, Action::changeOwnPassword);
  }
  if (request.asked.custom_data) {
    change(Action::changeCustomData, Action::changeOwnCustomData);
  }
  if (request.asked.roles.present) {  // it takes away whatever the user had, wherever
    needs->Add(Action::revokeRole, auth::Database(""));
    StateRoles(request.roles, Action::grantRole, needs);
  }
  StateRestrictions(i, request.asked, needs);
  return Status::Ok();
}

Status RunUpdateUser(Invocation& i, const ParsedUser& request) {
  ASSIGN_OR_RETURN(const AccountLock alone, LockAccounts());
  std::string_view user = request.user;
  const UserRequest& asked = request.asked;
  if (!asked.password && !asked.custom_data && !asked.roles.present && !asked.mechanisms.present &&
      !asked.restrictions.present) {
    return {kBadValue, "Must specify at least one field to update in updateUser"};
  }
  ASSIGN_OR_RETURN(bson::Document stored, LoadNamed(i));
  bson::Builder changes;
  RETURN_IF_ERROR(ChangeCredentials(asked, user, stored.view(), &changes));
  if (asked.custom_data) {
    changes.Append("customData", *asked.custom_data);
  }
  if (asked.restrictions.present) {
    AppendRestrictions(kRestrictions, request.restrictions, &changes);
  }
  if (asked.roles.present) {
    RETURN_IF_ERROR(CheckRolesExist(i.engine, request.roles));
    AppendRoleNames("roles", request.roles, &changes);
  }
  bson::Document document = changes.Finish();
  return Replace(i, stored.view(), document.view());
}

Status RunDropUser(Invocation& i) {
  ASSIGN_OR_RETURN(const AccountLock alone, LockAccounts());
  ASSIGN_OR_RETURN(std::string_view user, NameOf(i));
  RETURN_IF_ERROR(request::ReadFields<UserRequest>("dropUser", i.body(), true, {}, nullptr));
  bson::Builder filter;
  filter.Append("_id", IdOf(user, i.database()));
  bson::Document document = filter.Finish();
  ASSIGN_OR_RETURN(int64_t removed, RemoveOwn(i.engine, kUsers, document.view()));
  Changed(i);
  return removed == 0 ? NotFound(user, i.database()) : Status::Ok();
}

Status RunDropAllUsers(Invocation& i) {
  ASSIGN_OR_RETURN(const AccountLock alone, LockAccounts());
  RETURN_IF_ERROR(
      request::ReadFields<UserRequest>("dropAllUsersFromDatabase", i.body(), true, {}, nullptr));
  bson::Builder filter;
  filter.Append("db", i.database());
  bson::Document document = filter.Finish();
  ASSIGN_OR_RETURN(int64_t removed, RemoveOwn(i.engine, kUsers, document.view()));
  Changed(i);
  i.reply().Append("n", static_cast<int32_t>(removed));
  return Status::Ok();
}

struct GrantRequest {
  request::ArrayArgument roles;
  static constexpr auto kFields = std::to_array<request::FieldRow<GrantRequest>>(
      {request::Field<&GrantRequest::roles>("roles", request::Need::kRequired)});
};

Result<std::vector<auth::RoleName>> ReadGrant(Invocation& i) {
  GrantRequest asked;
  RETURN_IF_ERROR(request::ReadFields<GrantRequest>(i.call.command.name, i.body(), true,
                                                    GrantRequest::kFields, &asked));
  if (asked.roles.view.empty()) {
    return Status(kBadValue, std::string(i.call.command.name) +
                                 " command requires a non-empty \"roles\" array");
  }
  return ReadRoleNames(i.call.command.name, asked.roles.view, i.database());
}

using RoleNames = std::vector<auth::RoleName>;

Status StateGrant(Invocation& /*i*/, const RoleNames& roles, auth::Needs* needs) {
  StateRoles(roles, Action::grantRole, needs);
  return Status::Ok();
}

Status StateRevoke(Invocation& /*i*/, const RoleNames& roles, auth::Needs* needs) {
  StateRoles(roles, Action::revokeRole, needs);
  return Status::Ok();
}

Status SetRoles(Invocation& i, bson::View stored, const std::vector<auth::RoleName>& roles) {
  bson::Builder changes;
  AppendRoleNames("roles", roles, &changes);
  bson::Document document = changes.Finish();
  return Replace(i, stored, document.view());
}

Status RunGrantRoles(Invocation& i, const RoleNames& granted) {
  ASSIGN_OR_RETURN(const AccountLock alone, LockAccounts());
  ASSIGN_OR_RETURN(bson::Document stored, LoadNamed(i));
  RETURN_IF_ERROR(CheckRolesExist(i.engine, granted));
  std::vector<auth::RoleName> roles = StoredRoleNames(stored.view());
  AddRoles(granted, &roles);
  return SetRoles(i, stored.view(), roles);
}

Status RunRevokeRoles(Invocation& i, const RoleNames& revoked) {
  ASSIGN_OR_RETURN(const AccountLock alone, LockAccounts());
  ASSIGN_OR_RETURN(bson::Document stored, LoadNamed(i));
  RETURN_IF_ERROR(CheckRolesExist(i.engine, revoked));
  std::vector<auth::RoleName> roles = StoredRoleNames(stored.view());
  TakeAway(revoked, &roles);
  return SetRoles(i, stored.view(), roles);
}

struct InfoRequest {
  bool credentials = false;
  bool custom_data = true;
  bool privileges = false;
  bool restrictions = false;
  bson::View filter;
};
using I = InfoRequest;
constexpr auto kInfoRows = std::to_array<request::FieldRow<I>>(
    {request::Field<&I::credentials>("showCredentials"),
     request::Field<&I::custom_data>("showCustomData"),
     request::Field<&I::privileges>("showPrivileges"),
     request::Field<&I::restrictions>("showAuthenticationRestrictions"),
     request::Field<&I::filter>("filter")});

struct UserName {
  std::string user;
  std::string database;
};

// Which users are asked for.
struct UserSelection {
  enum class Kind { kNamed, kOfDatabase, kAll };
  Kind kind = Kind::kNamed;
  std::vector<UserName> names;
  InfoRequest asked;
};

// One user: a name, or {user, db}.
Result<UserName> ReadUserName(Invocation& i, const bson::Element& e) {
  if (e.type() == bson::Type::kString) {
    return UserName{std::string(e.value().AsString()), std::string(i.database())};
  }
  if (e.type() != bson::Type::kDocument) {
    return Status(kBadValue, "UserName must be either a string or an object");
  }
  bson::Value user = e.value().AsDocument()["user"];
  bson::Value db = e.value().AsDocument()["db"];
  if (!user.is_string() || !db.is_string()) {
    return Status(kBadValue, std::string("UserName must contain a '") +
                                 (user.is_string() ? "db" : "user") + "' field of type string");
  }
  return UserName{std::string(user.AsString()), std::string(db.AsString())};
}

Result<UserSelection> ParseUsersInfo(Invocation& i) {
  UserSelection out;
  RETURN_IF_ERROR(
      request::ReadFields<InfoRequest>("usersInfo", i.body(), true, kInfoRows, &out.asked));
  bson::Element which = i.body().front();
  if (which.value().is_number()) {
    out.kind = UserSelection::Kind::kOfDatabase;
    return out;
  }
  if (which.type() == bson::Type::kDocument && which.value().AsDocument().Has("forAllDBs")) {
    out.kind = UserSelection::Kind::kAll;
    return out;
  }
  if (which.type() != bson::Type::kArray) {
    ASSIGN_OR_RETURN(UserName name, ReadUserName(i, which));
    out.names.push_back(std::move(name));
    return out;
  }
  if (which.value().AsArray().empty()) {
    return Status(kBadValue, "$and/$or/$nor must be a nonempty array");
  }
  for (const bson::Element& e : which.value().AsArray()) {
    ASSIGN_OR_RETURN(UserName name, ReadUserName(i, e));
    out.names.push_back(std::move(name));
  }
  return out;
}

// Everybody sees themselves; others by viewUser on their database, or on all of them.
Status StateUsersInfo(Invocation& i, const UserSelection& selection, auth::Needs* needs) {
  if (selection.kind == UserSelection::Kind::kAll) {
    needs->Add(Action::viewUser, auth::Database(""));
  } else if (selection.kind == UserSelection::Kind::kOfDatabase) {
    needs->Add(Action::viewUser, auth::Database(i.database()));
  }
  for (const UserName& name : selection.names) {
    if (!needs->IsCaller(name.user, name.database)) {
      needs->Add(Action::viewUser, auth::Database(name.database));
    }
  }
  return Status::Ok();
}

bson::Document InfoFilter(Invocation& i, const UserSelection& selection) {
  bson::Builder filter;
  if (selection.kind == UserSelection::Kind::kOfDatabase) {
    filter.Append("db", i.database());
  } else if (selection.kind == UserSelection::Kind::kNamed) {
    filter.BeginDocument("_id").BeginArray("$in");
    for (const UserName& name : selection.names) {
      filter.Push(IdOf(name.user, name.database));
    }
    filter.End().End();
  }
  return filter.Finish();
}

Status AppendUser(Invocation& i, bson::View stored, const InfoRequest& asked) {
  bson::Builder& out = i.reply();
  out.PushDocument();
  for (const bson::Element& e : stored) {
    if ((e.name() == "credentials" && !asked.credentials) ||
        (e.name() == "customData" && !asked.custom_data) || e.name() == kRestrictions) {
      continue;
    }
    out.Append(e);
  }
  out.BeginArray("mechanisms");
  for (auth::Mechanism mechanism : {auth::Mechanism::kScramSha1, auth::Mechanism::kScramSha256}) {
    if (CredentialOf(stored, mechanism)) {
      out.Push(auth::MechanismName(mechanism));
    }
  }
  if (stored["db"].AsString() == "$external") {
    out.Push("external");
  }
  out.End();
  ResolvedRoles resolved;
  if (asked.restrictions || asked.privileges) {
    ASSIGN_OR_RETURN(auth::Restrictions own, auth::Restrictions::Stored(stored));
    AppendRestrictions(kRestrictions, own, &out);
  }
  if (asked.restrictions || asked.privileges) {
    ASSIGN_OR_RETURN(resolved, ResolveRoles(i.engine, StoredRoleNames(stored)));
  }
  if (asked.privileges) {
    AppendRoleNames("inheritedRoles", resolved.roles, &out);
    out.BeginArray("inheritedPrivileges");
    for (const auth::Privilege& privilege : resolved.privileges.all()) {
      auth::AppendPrivilege(privilege, &out);
    }
    out.End();
  }
  if (asked.restrictions || asked.privileges) {
    AppendRestrictions("inheritedAuthenticationRestrictions", resolved.restrictions, &out);
  }
  out.End();
  return Status::Ok();
}

Status RunUsersInfo(Invocation& i, const UserSelection& selection) {
  const InfoRequest& asked = selection.asked;
  bson::Document filter = InfoFilter(i, selection);
  bson::Builder sort;
  sort.Append("user", 1).Append("db", 1);
  bson::Document order = sort.Finish();
  ASSIGN_OR_RETURN(std::vector<bson::Document> users,
                   LoadOwnAll(i.engine, kUsers, filter.view(), order.view()));
  expr::Context context;
  RETURN_IF_ERROR(engine::FillContext(i.operation, bson::View(), &context));
  std::unique_ptr<expr::match::Filter> wanted;
  if (!asked.filter.empty()) {
    ASSIGN_OR_RETURN(wanted, expr::match::Filter::Parse(asked.filter, &context));
  }
  i.reply().BeginArray("users");
  for (const bson::Document& user : users) {
    if (wanted != nullptr) {
      ASSIGN_OR_RETURN(bool matches, wanted->Matches(user.view()));
      if (!matches) {
        continue;
      }
    }
    RETURN_IF_ERROR(AppendUser(i, user.view(), asked));
  }
  i.reply().End();
  return Status::Ok();
}

}  // namespace

std::span<const Row> UserRows() {
  using request::kWrite;
  using request::kWriteConcern;
  constexpr uint32_t kChange = kWrite | kWriteConcern;
  static constexpr Row kRows[] = {
      ParsedRow<ParseUser, StateCreateUser, RunCreateUser>(
          {"createUser", "", kChange | request::kToPrimary, "makes a user"}),
      ParsedRow<ParseUser, StateUpdateUser, RunUpdateUser>(
          {"updateUser", "", kChange | request::kToPrimary, "changes a user"}),
      {{"dropUser", "", kChange | request::kToPrimary, "removes a user"},
       RunDropUser,
       OnDatabase(Action::dropUser)},
      {{"dropAllUsersFromDatabase", "", kChange | request::kToPrimary,
        "removes a database's users"},
       RunDropAllUsers,
       OnDatabase(Action::dropUser)},
      ParsedRow<ReadGrant, StateGrant, RunGrantRoles>(
          {"grantRolesToUser", "", kChange | request::kToPrimary, "gives a user more roles"}),
      ParsedRow<ReadGrant, StateRevoke, RunRevokeRoles>(
          {"revokeRolesFromUser", "", kChange | request::kToPrimary, "takes roles from a user"}),
      ParsedRow<ParseUsersInfo, StateUsersInfo, RunUsersInfo>(
          {"usersInfo", "", request::kRead | request::kToPrimary, "shows users"}),
  };
  return kRows;
}

}  // namespace quire::command
