// SPDX-License-Identifier: Apache-2.0
//
// Users and roles as they are stored, and the login of a connection.
//
// A user is a document of admin.system.users: {_id: "db.name", userId, user, db, credentials,
// customData, authenticationRestrictions, roles: [{role, db}]}; a role one of admin.system.roles:
// {_id: "db.name", role, db, privileges, roles, authenticationRestrictions}. PERSISTED in MongoDB's
// own form.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "auth/privilege.h"
#include "auth/restriction.h"
#include "auth/scram.h"
#include "base/interruptible_mutex.h"
#include "command/auth/login_state.h"
#include "command/command.h"

namespace quire::command {

// The login as stored now; null when the user does not exist, or may not log in over the client's
// connection. Roles that do not exist give nothing.
Result<std::shared_ptr<Login>> LoadLogin(Commands& commands, const request::Client& client,
                                         std::string_view user, std::string_view database);
// Makes the user, who has proven to be that, the client's login. Error: AuthenticationFailed.
Status LogIn(Invocation& invocation, std::string_view user, std::string_view database);
// MechanismUnavailable.
Status UnknownMechanism(std::string_view name);
// The client's login, read again when accounts changed since; null without one, also when the user
// was removed meanwhile (and perhaps made anew), or the operation was to end before it was read.
std::shared_ptr<const Login> CurrentLogin(Invocation& invocation);
// Makes `login` (null: nobody) the one of the client.
void SetLogin(request::Client& client, std::shared_ptr<Login> login);

// What a set of roles gives, with the roles they inherit.
struct ResolvedRoles {
  std::vector<auth::RoleName> roles;
  auth::Privileges privileges;
  std::vector<auth::Restrictions> restrictions;  // each has to be met
};
// Error: why the thread's operation is to end.
Result<ResolvedRoles> ResolveRoles(engine::Engine& engine,
                                   const std::vector<auth::RoleName>& roles);
// The stored document of a role that is not built in.
Result<std::optional<bson::Document>> LoadRole(engine::Engine& engine, const auth::RoleName& name);

// Reads [{role, db}, "role", ...]; a plain name is of `database`. `where` names the field.
Result<std::vector<auth::RoleName>> ReadRoleNames(std::string_view where, bson::View array,
                                                  std::string_view database);
// Held by whatever reads a user or a role and writes it back, one of the process at a time: nobody
// writes what another command has taken away meanwhile. Error: why the thread's operation is to
// end.
using AccountLock = std::unique_lock<InterruptibleMutex>;
Result<AccountLock> LockAccounts();

// `roles` without those of `taken`.
void TakeAway(const std::vector<auth::RoleName>& taken, std::vector<auth::RoleName>* roles);
// Adds those of `given` that are not there yet.
void AddRoles(const std::vector<auth::RoleName>& given, std::vector<auth::RoleName>* roles);
// RoleNotFound unless every role exists.
Status CheckRolesExist(engine::Engine& engine, const std::vector<auth::RoleName>& roles);
void AppendRoleNames(std::string_view field, const std::vector<auth::RoleName>& roles,
                     bson::Builder* out);
std::vector<auth::RoleName> StoredRoleNames(bson::View document, std::string_view field = "roles");

// The credential of a stored user; nothing when it has none of that mechanism.
std::optional<auth::Credential> CredentialOf(bson::View user, auth::Mechanism mechanism);

// Restrictions as a field; those of several roles as a list of lists.
void AppendRestrictions(std::string_view field, const auth::Restrictions& restrictions,
                        bson::Builder* out);
void AppendRestrictions(std::string_view field, const std::vector<auth::Restrictions>& lists,
                        bson::Builder* out);

// saslStart or authenticate on behalf of hello (speculativeAuthenticate): appends the reply, or
// nothing when the login cannot begin.
void StartSpeculatively(Invocation& invocation, bson::View request);
void AuthenticateSpeculatively(Invocation& invocation, bson::View request);

}  // namespace quire::command
