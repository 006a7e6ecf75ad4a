// SPDX-License-Identifier: Apache-2.0
#include "command/auth/login.h"

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"
#include "bson/repeated.h"
#include "command/own_documents.h"
#include "request/fields.h"

namespace quire::command {
namespace {

Result<auth::RoleName> ReadRoleName(std::string_view where, const bson::Element& e,
                                    std::string_view database) {
  if (e.type() == bson::Type::kString) {
    return auth::RoleName{std::string(e.value().AsString()), std::string(database)};
  }
  if (e.type() != bson::Type::kDocument) {
    return request::WrongType(where, e, "[string, object]");
  }
  std::optional<std::string_view> role;
  std::optional<std::string_view> db;
  if (auto name = bson::RepeatedName(e.value().AsDocument())) {
    return request::DuplicateField(where, *name);
  }
  for (const bson::Element& field : e.value().AsDocument()) {
    if (field.name() != "role" && field.name() != "db") {
      return request::UnknownField(where, field.name());
    }
    RETURN_IF_ERROR(request::ReadField(where, field, field.name() == "role" ? &role : &db));
  }
  if (!role || !db) {
    return request::MissingField(where, role ? "db" : "role");
  }
  return auth::RoleName{std::string(*role), std::string(*db)};
}

// Makes it the client's login. AuthenticationFailed when the user has too many connections.
Status TakeLogin(Invocation& i, std::shared_ptr<Login> login) {
  auto before = std::static_pointer_cast<Login>(i.call.client.login);
  const bool same = before != nullptr && before->user == login->user &&
                    before->database == login->database && before->place != nullptr;
  login->place = same ? before->place
                      : i.commands.login_guard().TakePlace(login->database + "." + login->user);
  if (login->place == nullptr) {
    log::Warning("ACCESS", "Login refused because the user has too many open connections",
                 {{"user", login->user}, {"db", login->database}});
    return {kAuthenticationFailed, "The user has too many open connections."};
  }
  SetLogin(i.call.client, std::move(login));
  return Status::Ok();
}

// As $$USER_ROLES shows them; null: none.
std::shared_ptr<const bson::Document> ShownRoles(const Login& login) {
  if (login.roles.empty()) {
    return nullptr;
  }
  bson::Builder out;
  for (const auth::RoleName& name : login.roles) {
    const std::string id = name.database + "." + name.role;
    out.PushDocument().Append("_id", id).Append("role", name.role).Append("db", name.database);
    out.End();
  }
  return std::make_shared<const bson::Document>(out.Finish());
}

}  // namespace

Result<std::optional<bson::Document>> LoadRole(engine::Engine& engine, const auth::RoleName& name) {
  std::string id = name.database + "." + name.role;
  return LoadOwn(engine, kRoles, bson::Value(std::string_view(id)));
}

Result<ResolvedRoles> ResolveRoles(engine::Engine& engine,
                                   const std::vector<auth::RoleName>& roles) {
  ResolvedRoles out;
  auth::RoleNameSet seen;
  std::vector<auth::RoleName> open = roles;
  while (!open.empty()) {
    RETURN_IF_ERROR(CheckCurrentOp());
    auth::RoleName name = std::move(open.back());
    open.pop_back();
    if (!seen.insert(name).second) {
      continue;
    }
    out.roles.push_back(name);
    if (auth::AddBuiltInRole(name, &out.privileges)) {
      continue;
    }
    ASSIGN_OR_RETURN(std::optional<bson::Document> stored, LoadRole(engine, name));
    if (!stored) {
      continue;
    }
    if (bson::Value list = (*stored)["privileges"]; list.is_array()) {
      for (const bson::Element& e : list.AsArray()) {
        RETURN_IF_ERROR(CheckCurrentOp());
        ASSIGN_OR_RETURN(auth::Privilege privilege, auth::ParsePrivilege(e.value().AsDocument()));
        out.privileges.Add(privilege.resource, privilege.actions);
      }
    }
    ASSIGN_OR_RETURN(auth::Restrictions restrictions, auth::Restrictions::Stored(stored->view()));
    if (!restrictions.empty()) {
      out.restrictions.push_back(std::move(restrictions));
    }
    for (auth::RoleName& inherited : StoredRoleNames(stored->view())) {
      open.push_back(std::move(inherited));
    }
  }
  return out;
}

Result<std::shared_ptr<Login>> LoadLogin(Commands& commands, const request::Client& client,
                                         std::string_view user, std::string_view database) {
  uint64_t version = commands.accounts_version.load();
  if (commands.members.Is(user, database)) {
    return commands.members.Make(version);
  }
  std::string id = std::string(database) + "." + std::string(user);
  ASSIGN_OR_RETURN(std::optional<bson::Document> stored,
                   LoadOwn(commands.engine(), kUsers, bson::Value(std::string_view(id))));
  if (!stored) {
    return std::shared_ptr<Login>();
  }
  auto login = std::make_shared<Login>();
  login->user = user;
  login->database = database;
  login->version = version;
  if (bson::Value user_id = (*stored)["userId"]; user_id.type() == bson::Type::kBinary) {
    login->user_id = user_id.AsBinary();
  }
  ASSIGN_OR_RETURN(ResolvedRoles resolved,
                   ResolveRoles(commands.engine(), StoredRoleNames(stored->view())));
  ASSIGN_OR_RETURN(auth::Restrictions own, auth::Restrictions::Stored(stored->view()));
  resolved.restrictions.push_back(std::move(own));
  for (const auth::Restrictions& restrictions : resolved.restrictions) {
    if (!restrictions.Met(client.remote(), client.local())) {
      log::Info("ACCESS", "Authentication restrictions are not met",
                {{"user", id}, {"remote", client.remote()}, {"local", client.local()}});
      return std::shared_ptr<Login>();
    }
  }
  login->roles = std::move(resolved.roles);
  login->privileges = std::move(resolved.privileges);
  return login;
}

std::shared_ptr<const Login> CurrentLogin(Invocation& i) {
  auto login = std::static_pointer_cast<Login>(i.call.client.login);
  if (login == nullptr || login->version == i.commands.accounts_version.load()) {
    return login;
  }
  auto fresh = LoadLogin(i.commands, i.call.client, login->user, login->database);
  if (!fresh.ok() && !i.op().CheckInterruptNow().ok()) {
    return nullptr;  // the next command reads it
  }
  const bool same = fresh.ok() && *fresh != nullptr && (*fresh)->user_id == login->user_id;
  if (same) {
    (*fresh)->place = login->place;
  }
  SetLogin(i.call.client, same ? *fresh : nullptr);
  return std::static_pointer_cast<Login>(i.call.client.login);
}

void SetLogin(request::Client& client, std::shared_ptr<Login> login) {
  if (login == nullptr) {
    client.identity = nullptr;
  } else {
    client.identity = std::make_shared<request::Identity>(
        request::Identity{login->user, login->database,
                          auth::UserDigest(login->user, login->database), ShownRoles(*login)});
  }
  client.login = std::move(login);
}

Status LogIn(Invocation& i, std::string_view user, std::string_view database) {
  ASSIGN_OR_RETURN(std::shared_ptr<Login> login,
                   LoadLogin(i.commands, i.call.client, user, database));
  if (login == nullptr) {
    return {kAuthenticationFailed, "Authentication failed."};
  }
  RETURN_IF_ERROR(TakeLogin(i, login));
  log::Info("ACCESS", "Authentication succeeded",
            {{"user", login->user}, {"db", login->database}, {"remote", i.call.client.remote()}});
  i.call.client.login_under_way = nullptr;
  return Status::Ok();
}

Status UnknownMechanism(std::string_view name) {
  return {kMechanismUnavailable, "Received authentication for mechanism " + std::string(name) +
                                     " which is unknown or not enabled"};
}

Result<std::vector<auth::RoleName>> ReadRoleNames(std::string_view where, bson::View array,
                                                  std::string_view database) {
  std::vector<auth::RoleName> out;
  auth::RoleNameSet seen;
  for (const bson::Element& e : array) {
    RETURN_IF_ERROR(CheckCurrentOp());
    ASSIGN_OR_RETURN(auth::RoleName name, ReadRoleName(where, e, database));
    if (seen.insert(name).second) {
      out.push_back(std::move(name));
    }
  }
  return out;
}

Result<AccountLock> LockAccounts() {
  static InterruptibleMutex mutex;
  return mutex.Acquire();
}

void TakeAway(const std::vector<auth::RoleName>& taken, std::vector<auth::RoleName>* roles) {
  const auth::RoleNameSet gone(taken.begin(), taken.end());
  std::erase_if(*roles, [&](const auth::RoleName& name) { return gone.contains(name); });
}

void AddRoles(const std::vector<auth::RoleName>& given, std::vector<auth::RoleName>* roles) {
  auth::RoleNameSet there(roles->begin(), roles->end());
  for (const auth::RoleName& name : given) {
    if (there.insert(name).second) {
      roles->push_back(name);
    }
  }
}

Status CheckRolesExist(engine::Engine& engine, const std::vector<auth::RoleName>& roles) {
  for (const auth::RoleName& name : roles) {
    RETURN_IF_ERROR(CheckCurrentOp());
    if (auth::IsBuiltInRole(name)) {
      continue;
    }
    ASSIGN_OR_RETURN(std::optional<bson::Document> stored, LoadRole(engine, name));
    if (!stored) {
      return {kRoleNotFound, "Could not find role: " + name.role + "@" + name.database};
    }
  }
  return Status::Ok();
}

void AppendRoleNames(std::string_view field, const std::vector<auth::RoleName>& roles,
                     bson::Builder* out) {
  out->BeginArray(field);
  for (const auth::RoleName& name : roles) {
    out->PushDocument().Append("role", name.role).Append("db", name.database).End();
  }
  out->End();
}

std::vector<auth::RoleName> StoredRoleNames(bson::View document, std::string_view field) {
  std::vector<auth::RoleName> out;
  bson::Value list = document[field];
  if (!list.is_array()) {
    return out;
  }
  for (const bson::Element& e : list.AsArray()) {
    if (e.type() != bson::Type::kDocument) {
      continue;
    }
    bson::Value role = e.value().AsDocument()["role"];
    bson::Value db = e.value().AsDocument()["db"];
    if (role.is_string() && db.is_string()) {
      out.push_back({std::string(role.AsString()), std::string(db.AsString())});
    }
  }
  return out;
}

std::optional<auth::Credential> CredentialOf(bson::View user, auth::Mechanism mechanism) {
  bson::Value credentials = user["credentials"];
  if (!credentials.is_document()) {
    return std::nullopt;
  }
  bson::Value one = credentials.AsDocument()[auth::MechanismName(mechanism)];
  return one.is_document() ? auth::ReadCredential(one.AsDocument()) : std::nullopt;
}

void AppendRestrictions(std::string_view field, const auth::Restrictions& restrictions,
                        bson::Builder* out) {
  out->BeginArray(field);
  restrictions.AppendTo(out);
  out->End();
}

void AppendRestrictions(std::string_view field, const std::vector<auth::Restrictions>& lists,
                        bson::Builder* out) {
  out->BeginArray(field);
  for (const auth::Restrictions& restrictions : lists) {
    out->PushArray();
    restrictions.AppendTo(out);
    out->End();
  }
  out->End();
}

}  // namespace quire::command
