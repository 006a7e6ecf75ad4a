// SPDX-License-Identifier: Apache-2.0
//
// Roles: making, changing, removing and showing them.
#include <algorithm>
#include <array>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "command/auth/login.h"
#include "command/authorise.h"
#include "command/diagnostic.h"
#include "command/own_documents.h"
#include "command/parsed_row.h"
#include "request/fields.h"

namespace quire::command {
namespace {

struct RoleRequest {
  request::ArrayArgument privileges;
  request::ArrayArgument roles;
  request::ArrayArgument restrictions;
  static constexpr auto kFields = std::to_array<request::FieldRow<RoleRequest>>(
      {request::Field<&RoleRequest::privileges>("privileges"),
       request::Field<&RoleRequest::roles>("roles"),
       request::Field<&RoleRequest::restrictions>("authenticationRestrictions")});
};

// What a role is made of.
struct RoleParts {
  auth::Privileges privileges;
  std::vector<auth::RoleName> roles;
  auth::Restrictions restrictions;
};

std::string Shown(const auth::RoleName& name) { return name.role + "@" + name.database; }

Result<auth::RoleName> NameOf(Invocation& i) {
  bson::Element name = i.body().front();
  if (name.type() != bson::Type::kString) {
    return request::WrongType(i.call.command.name, name, "string");
  }
  if (name.value().AsString().empty()) {
    return Status(kBadValue, "Role name must be non-empty");
  }
  return auth::RoleName{std::string(name.value().AsString()), std::string(i.database())};
}

// `restricts`: of a command that takes authenticationRestrictions.
Result<RoleRequest> ReadRequest(Invocation& i, bool restricts) {
  RoleRequest asked;
  RETURN_IF_ERROR(request::ReadFields<RoleRequest>(i.call.command.name, i.body(), true,
                                                   RoleRequest::kFields, &asked));
  if (asked.restrictions.present && !restricts) {
    return request::UnknownField(i.call.command.name, "authenticationRestrictions");
  }
  return asked;
}

// Where somebody has to be allowed to grant or revoke a privilege on the resource.
auth::Resource PlaceOf(const auth::Resource& resource) {
  const bool named =
      resource.kind == auth::Resource::Kind::kNamespace && !resource.database.empty();
  return auth::Database(named ? std::string_view(resource.database) : "admin");
}

// Roles of other databases than admin are about their own database only.
Status CheckPrivilegePlace(Invocation& i, const auth::Privilege& privilege) {
  const auth::Resource& resource = privilege.resource;
  bool own = resource.kind == auth::Resource::Kind::kNamespace && resource.database == i.database();
  if (i.database() != "admin" && !own) {
    return {kInvalidRoleModification,
            "Roles on the '" + std::string(i.database()) +
                "' database cannot be granted privileges that target other databases or the "
                "cluster"};
  }
  return Status::Ok();
}

Result<auth::Privileges> ReadPrivileges(Invocation& i, bson::View array) {
  auth::Privileges out;
  for (const bson::Element& e : array) {
    if (e.type() != bson::Type::kDocument) {
      return request::WrongType("privileges", e, "object");
    }
    RETURN_IF_ERROR(CheckCurrentOp());
    ASSIGN_OR_RETURN(auth::Privilege privilege, auth::ParsePrivilege(e.value().AsDocument()));
    RETURN_IF_ERROR(CheckPrivilegePlace(i, privilege));
    out.Add(privilege.resource, privilege.actions);
  }
  return out;
}

Result<std::vector<auth::RoleName>> ReadRoles(Invocation& i, bson::View array) {
  ASSIGN_OR_RETURN(std::vector<auth::RoleName> roles,
                   ReadRoleNames(i.call.command.name, array, i.database()));
  for (const auth::RoleName& name : roles) {
    if (i.database() != "admin" && name.database != i.database()) {
      return Status(kInvalidRoleModification,
                    "Roles on the '" + std::string(i.database()) +
                        "' database cannot be granted roles from other databases");
    }
  }
  return roles;
}

// A command that makes or changes a role, parsed.
struct ParsedRole {
  auth::RoleName name;
  RoleRequest asked;
  auth::Privileges privileges;
  std::vector<auth::RoleName> roles;
  auth::Restrictions restrictions;
};

Result<ParsedRole> ParseFields(Invocation& i, bool restricts) {
  ParsedRole out;
  ASSIGN_OR_RETURN(out.name, NameOf(i));
  ASSIGN_OR_RETURN(out.asked, ReadRequest(i, restricts));
  ASSIGN_OR_RETURN(out.privileges, ReadPrivileges(i, out.asked.privileges.view));
  ASSIGN_OR_RETURN(out.roles, ReadRoles(i, out.asked.roles.view));
  ASSIGN_OR_RETURN(out.restrictions, auth::Restrictions::Parse(out.asked.restrictions.view));
  return out;
}

Result<ParsedRole> ParseRole(Invocation& i) { return ParseFields(i, true); }
Result<ParsedRole> ParseParts(Invocation& i) { return ParseFields(i, false); }

// Roles and privileges are given and taken by who may do so where they belong.
void StateParts(const ParsedRole& request, Action action, auth::Needs* needs) {
  for (const auth::RoleName& name : request.roles) {
    needs->Add(action, auth::Database(name.database));
  }
  for (const auth::Privilege& privilege : request.privileges.all()) {
    needs->Add(action, PlaceOf(privilege.resource));
  }
}

void StateRestrictions(Invocation& i, const ParsedRole& request, auth::Needs* needs) {
  if (request.asked.restrictions.present) {
    needs->Add(Action::setAuthenticationRestriction, auth::Database(i.database()));
  }
}

Status StateCreateRole(Invocation& i, const ParsedRole& request, auth::Needs* needs) {
  needs->Add(Action::createRole, auth::Database(i.database()));
  StateParts(request, Action::grantRole, needs);
  StateRestrictions(i, request, needs);
  return Status::Ok();
}

// What the role had is taken away, wherever that was.
Status StateUpdateRole(Invocation& i, const ParsedRole& request, auth::Needs* needs) {
  needs->Add(Action::revokeRole, auth::Database(""));
  StateParts(request, Action::grantRole, needs);
  StateRestrictions(i, request, needs);
  return Status::Ok();
}

Status StateGrant(Invocation& /*i*/, const ParsedRole& request, auth::Needs* needs) {
  StateParts(request, Action::grantRole, needs);
  return Status::Ok();
}

Status StateRevoke(Invocation& /*i*/, const ParsedRole& request, auth::Needs* needs) {
  StateParts(request, Action::revokeRole, needs);
  return Status::Ok();
}

Status NotFound(const auth::RoleName& name) {
  return {kRoleNotFound, "Role '" + Shown(name) + "' not found"};
}

Result<RoleParts> PartsOf(bson::View stored) {
  RoleParts out;
  out.roles = StoredRoleNames(stored);
  ASSIGN_OR_RETURN(out.restrictions, auth::Restrictions::Stored(stored));
  if (bson::Value list = stored["privileges"]; list.is_array()) {
    for (const bson::Element& e : list.AsArray()) {
      ASSIGN_OR_RETURN(auth::Privilege privilege, auth::ParsePrivilege(e.value().AsDocument()));
      out.privileges.Add(privilege.resource, privilege.actions);
    }
  }
  return out;
}

Result<RoleParts> LoadParts(Invocation& i, const auth::RoleName& name) {
  if (auth::IsBuiltInRole(name)) {
    return Status(kInvalidRoleModification, "Cannot modify built-in role '" + Shown(name) + "'");
  }
  ASSIGN_OR_RETURN(std::optional<bson::Document> stored, LoadRole(i.engine, name));
  if (!stored) {
    return NotFound(name);
  }
  return PartsOf(stored->view());
}

bson::Document RoleDocument(const auth::RoleName& name, const RoleParts& parts) {
  bson::Builder out;
  out.Append("_id", name.database + "." + name.role)
      .Append("role", name.role)
      .Append("db", name.database)
      .BeginArray("privileges");
  for (const auth::Privilege& privilege : parts.privileges.all()) {
    auth::AppendPrivilege(privilege, &out);
  }
  out.End();
  AppendRoleNames("roles", parts.roles, &out);
  if (!parts.restrictions.empty()) {
    AppendRestrictions("authenticationRestrictions", parts.restrictions, &out);
  }
  return out.Finish();
}

Status Save(Invocation& i, const auth::RoleName& name, const RoleParts& parts) {
  bson::Document document = RoleDocument(name, parts);
  RETURN_IF_ERROR(SaveOwn(i.engine, kRoles, document.view()));
  i.commands.accounts_version.fetch_add(1);
  return Status::Ok();
}

Status RunCreateRole(Invocation& i, const ParsedRole& request) {
  ASSIGN_OR_RETURN(const AccountLock alone, LockAccounts());
  const auth::RoleName& name = request.name;
  const RoleRequest& asked = request.asked;
  if (!asked.privileges.present || !asked.roles.present) {
    return request::MissingField("createRole", asked.privileges.present ? "roles" : "privileges");
  }
  if (i.database() == "local" || i.database() == "$external") {
    return {kBadValue, "Cannot create roles in the " + std::string(i.database()) + " database"};
  }
  if (auth::IsBuiltInRole(name)) {
    return {kBadValue, "Cannot create roles with the same name as a built-in role"};
  }
  RETURN_IF_ERROR(CheckRolesExist(i.engine, request.roles));
  RoleParts parts{request.privileges, request.roles, request.restrictions};
  bson::Document document = RoleDocument(name, parts);
  Status added = AddOwn(i.engine, kRoles, document.view());
  if (added.code() == kDuplicateKey) {
    return {51002, "Role \"" + Shown(name) + "\" already exists"};
  }
  i.commands.accounts_version.fetch_add(1);
  return added;
}

// InvalidRoleModification when `roles` lead back to `name`.
Status CheckNoCycle(Invocation& i, const auth::RoleName& name,
                    const std::vector<auth::RoleName>& roles) {
  ASSIGN_OR_RETURN(ResolvedRoles resolved, ResolveRoles(i.engine, roles));
  if (std::find(resolved.roles.begin(), resolved.roles.end(), name) != resolved.roles.end()) {
    return {kInvalidRoleModification,
            "Granting roles to " + Shown(name) + " would introduce a cycle in the role graph"};
  }
  return Status::Ok();
}

Status RunUpdateRole(Invocation& i, const ParsedRole& request) {
  ASSIGN_OR_RETURN(const AccountLock alone, LockAccounts());
  const auth::RoleName& name = request.name;
  const RoleRequest& asked = request.asked;
  if (!asked.privileges.present && !asked.roles.present && !asked.restrictions.present) {
    return {kBadValue, "updateRole command requires at least one of \"privileges\" or \"roles\""};
  }
  ASSIGN_OR_RETURN(RoleParts parts, LoadParts(i, name));
  if (asked.privileges.present) {
    parts.privileges = request.privileges;
  }
  if (asked.roles.present) {
    RETURN_IF_ERROR(CheckRolesExist(i.engine, request.roles));
    parts.roles = request.roles;
    RETURN_IF_ERROR(CheckNoCycle(i, name, parts.roles));
  }
  if (asked.restrictions.present) {
    parts.restrictions = request.restrictions;
  }
  return Save(i, name, parts);
}

// `change` makes new parts of a role from its parts and the privileges given; they are stored.
template <typename Change>
Status ChangePrivileges(Invocation& i, const ParsedRole& request, Change change) {
  ASSIGN_OR_RETURN(const AccountLock alone, LockAccounts());
  if (request.asked.privileges.view.empty()) {
    return {kBadValue,
            std::string(i.call.command.name) + " requires a non-empty \"privileges\" array"};
  }
  ASSIGN_OR_RETURN(RoleParts parts, LoadParts(i, request.name));
  change(request.privileges, &parts);
  return Save(i, request.name, parts);
}

// The same with the roles given. `change` may refuse.
template <typename Change>
Status ChangeRoles(Invocation& i, const ParsedRole& request, Change change) {
  ASSIGN_OR_RETURN(const AccountLock alone, LockAccounts());
  if (request.asked.roles.view.empty()) {
    return {kBadValue,
            std::string(i.call.command.name) + " command requires a non-empty \"roles\" array"};
  }
  ASSIGN_OR_RETURN(RoleParts parts, LoadParts(i, request.name));
  RETURN_IF_ERROR(CheckRolesExist(i.engine, request.roles));
  RETURN_IF_ERROR(change(request.name, request.roles, &parts));
  return Save(i, request.name, parts);
}

Status RunGrantPrivileges(Invocation& i, const ParsedRole& request) {
  return ChangePrivileges(i, request, [](const auth::Privileges& given, RoleParts* parts) {
    parts->privileges.Add(given);
  });
}

Status RunRevokePrivileges(Invocation& i, const ParsedRole& request) {
  return ChangePrivileges(i, request, [](const auth::Privileges& given, RoleParts* parts) {
    auth::Privileges left;
    for (const auth::Privilege& privilege : parts->privileges.all()) {
      auth::ActionSet actions = privilege.actions;
      if (const auth::Privilege* revoked = given.Find(privilege.resource)) {
        actions &= ~revoked->actions;
      }
      if (actions.any()) {
        left.Add(privilege.resource, actions);
      }
    }
    parts->privileges = std::move(left);
  });
}

Status RunGrantRoles(Invocation& i, const ParsedRole& request) {
  return ChangeRoles(
      i, request,
      [&](const auth::RoleName& name, const std::vector<auth::RoleName>& given, RoleParts* parts) {
        RETURN_IF_ERROR(CheckNoCycle(i, name, given));
        AddRoles(given, &parts->roles);
        return Status::Ok();
      });
}

Status RunRevokeRoles(Invocation& i, const ParsedRole& request) {
  return ChangeRoles(i, request,
                     [](const auth::RoleName& /*name*/, const std::vector<auth::RoleName>& given,
                        RoleParts* parts) {
                       TakeAway(given, &parts->roles);
                       return Status::Ok();
                     });
}

// Takes the role from every user and role of `ns` that has it.
Status TakeFromHolders(Invocation& i, std::string_view ns, const auth::RoleName& name) {
  ASSIGN_OR_RETURN(std::vector<bson::Document> all, LoadOwnAll(i.engine, ns, {}, {}));
  for (const bson::Document& holder : all) {
    std::vector<auth::RoleName> roles = StoredRoleNames(holder.view());
    if (std::erase(roles, name) == 0) {
      continue;
    }
    bson::Builder out;
    for (const bson::Element& e : holder.view()) {
      if (e.name() == "roles") {
        AppendRoleNames("roles", roles, &out);
      } else {
        out.Append(e);
      }
    }
    bson::Document document = out.Finish();
    RETURN_IF_ERROR(SaveOwn(i.engine, ns, document.view()));
  }
  return Status::Ok();
}

Status Drop(Invocation& i, const auth::RoleName& name) {
  RETURN_IF_ERROR(TakeFromHolders(i, kUsers, name));
  RETURN_IF_ERROR(TakeFromHolders(i, kRoles, name));
  bson::Builder filter;
  filter.Append("_id", name.database + "." + name.role);
  bson::Document document = filter.Finish();
  RETURN_IF_ERROR(RemoveOwn(i.engine, kRoles, document.view()).status());
  i.commands.accounts_version.fetch_add(1);
  return Status::Ok();
}

Status RunDropRole(Invocation& i) {
  ASSIGN_OR_RETURN(const AccountLock alone, LockAccounts());
  ASSIGN_OR_RETURN(auth::RoleName name, NameOf(i));
  RETURN_IF_ERROR(request::ReadFields<RoleRequest>("dropRole", i.body(), true, {}, nullptr));
  RETURN_IF_ERROR(LoadParts(i, name).status());
  return Drop(i, name);
}

Result<std::vector<bson::Document>> RolesOf(Invocation& i) {
  bson::Builder filter;
  filter.Append("db", i.database());
  bson::Document document = filter.Finish();
  bson::Builder sort;
  sort.Append("role", 1);
  bson::Document order = sort.Finish();
  return LoadOwnAll(i.engine, kRoles, document.view(), order.view());
}

Status RunDropAllRoles(Invocation& i) {
  ASSIGN_OR_RETURN(const AccountLock alone, LockAccounts());
  RETURN_IF_ERROR(
      request::ReadFields<RoleRequest>("dropAllRolesFromDatabase", i.body(), true, {}, nullptr));
  ASSIGN_OR_RETURN(std::vector<bson::Document> all, RolesOf(i));
  for (const bson::Document& role : all) {
    RETURN_IF_ERROR(Drop(i, {std::string(role["role"].AsString()), std::string(i.database())}));
  }
  i.reply().Append("n", static_cast<int32_t>(all.size()));
  return Status::Ok();
}

struct RolesInfoRequest {
  bson::Value privileges;
  bool built_in = false;
  bool restrictions = false;
  static constexpr auto kFields = std::to_array<request::FieldRow<RolesInfoRequest>>(
      {request::Field<&RolesInfoRequest::privileges>("showPrivileges"),
       request::Field<&RolesInfoRequest::built_in>("showBuiltinRoles"),
       request::Field<&RolesInfoRequest::restrictions>("showAuthenticationRestrictions")});
};

Status AppendRole(Invocation& i, const auth::RoleName& name, const RoleParts& parts, bool built_in,
                  const RolesInfoRequest& asked) {
  bson::Builder& out = i.reply();
  out.PushDocument();
  if (!built_in) {
    out.Append("_id", name.database + "." + name.role);
  }
  out.Append("role", name.role).Append("db", name.database);
  bool privileges = Truthy(asked.privileges);
  if (privileges) {
    out.BeginArray("privileges");
    for (const auth::Privilege& privilege : parts.privileges.all()) {
      auth::AppendPrivilege(privilege, &out);
    }
    out.End();
  }
  AppendRoleNames("roles", parts.roles, &out);
  ASSIGN_OR_RETURN(ResolvedRoles inherited, ResolveRoles(i.engine, parts.roles));
  AppendRoleNames("inheritedRoles", inherited.roles, &out);
  if (privileges) {
    inherited.privileges.Add(parts.privileges);
    out.BeginArray("inheritedPrivileges");
    for (const auth::Privilege& privilege : inherited.privileges.all()) {
      auth::AppendPrivilege(privilege, &out);
    }
    out.End();
  }
  if (asked.restrictions) {
    AppendRestrictions("authenticationRestrictions", parts.restrictions, &out);
    if (!parts.restrictions.empty()) {
      inherited.restrictions.insert(inherited.restrictions.begin(), parts.restrictions);
    }
    AppendRestrictions("inheritedAuthenticationRestrictions", inherited.restrictions, &out);
  }
  out.Append("isBuiltin", built_in).End();
  return Status::Ok();
}

Status AppendNamed(Invocation& i, const auth::RoleName& name, const RolesInfoRequest& asked) {
  RoleParts parts;
  if (auth::AddBuiltInRole(name, &parts.privileges)) {
    return AppendRole(i, name, parts, true, asked);
  }
  ASSIGN_OR_RETURN(std::optional<bson::Document> stored, LoadRole(i.engine, name));
  if (!stored) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(parts, PartsOf(stored->view()));
  return AppendRole(i, name, parts, false, asked);
}

Status AppendAll(Invocation& i, const RolesInfoRequest& asked) {
  ASSIGN_OR_RETURN(std::vector<bson::Document> all, RolesOf(i));
  std::vector<std::string> names;
  for (const bson::Document& role : all) {
    names.emplace_back(role["role"].AsString());
  }
  if (asked.built_in) {
    for (std::string_view name : auth::BuiltInRoles(i.database())) {
      names.emplace_back(name);
    }
  }
  for (const std::string& name : names) {
    RETURN_IF_ERROR(AppendNamed(i, {name, std::string(i.database())}, asked));
  }
  return Status::Ok();
}

struct RoleSelection {
  bool all = false;  // of the database
  std::vector<auth::RoleName> names;
  RolesInfoRequest asked;
};

Result<RoleSelection> ParseRolesInfo(Invocation& i) {
  RoleSelection out;
  RETURN_IF_ERROR(request::ReadFields<RolesInfoRequest>("rolesInfo", i.body(), true,
                                                        RolesInfoRequest::kFields, &out.asked));
  bson::Element which = i.body().front();
  bson::Builder list;
  list.BeginArray("list");
  if (which.type() == bson::Type::kString || which.type() == bson::Type::kDocument) {
    list.Push(which.value());
  } else if (which.type() == bson::Type::kArray) {
    for (const bson::Element& e : which.value().AsArray()) {
      list.Push(e.value());
    }
  } else if (!which.value().is_number()) {
    return Status(kBadValue, "rolesInfo takes 1, the name of a role or an array of names");
  }
  list.End();
  bson::Document names = list.Finish();
  ASSIGN_OR_RETURN(out.names, ReadRoleNames("rolesInfo", names["list"].AsArray(), i.database()));
  out.all = which.value().is_number();
  return out;
}

// Everybody sees the roles they have; others by viewRole on their database.
Status StateRolesInfo(Invocation& i, const RoleSelection& selection, auth::Needs* needs) {
  if (selection.all) {
    needs->Add(Action::viewRole, auth::Database(i.database()));
  }
  std::shared_ptr<const Login> login = CurrentLogin(i);
  if (login == nullptr) {  // it was removed just now
    return Unauthorized(i);
  }
  const auth::RoleNameSet own(login->roles.begin(), login->roles.end());
  for (const auth::RoleName& name : selection.names) {
    if (!own.contains(name)) {
      needs->Add(Action::viewRole, auth::Database(name.database));
    }
  }
  return Status::Ok();
}

Status RunRolesInfo(Invocation& i, const RoleSelection& selection) {
  i.reply().BeginArray("roles");
  if (selection.all) {
    RETURN_IF_ERROR(AppendAll(i, selection.asked));
  }
  for (const auth::RoleName& name : selection.names) {
    RETURN_IF_ERROR(AppendNamed(i, name, selection.asked));
  }
  i.reply().End();
  return Status::Ok();
}

Status RunInvalidateUserCache(Invocation& i) {
  i.commands.accounts_version.fetch_add(1);
  return Status::Ok();
}

}  // namespace

std::span<const Row> RoleRows() {
  using request::kAdminOnly;
  constexpr uint32_t kChange = request::kWrite | request::kWriteConcern;
  static constexpr Row kRows[] = {
      ParsedRow<ParseRole, StateCreateRole, RunCreateRole>(
          {"createRole", "", kChange | request::kToPrimary, "makes a role"}),
      ParsedRow<ParseRole, StateUpdateRole, RunUpdateRole>(
          {"updateRole", "", kChange | request::kToPrimary, "changes a role"}),
      {{"dropRole", "", kChange | request::kToPrimary, "removes a role"},
       RunDropRole,
       OnDatabase(Action::dropRole)},
      {{"dropAllRolesFromDatabase", "", kChange | request::kToPrimary,
        "removes a database's roles"},
       RunDropAllRoles,
       OnDatabase(Action::dropRole)},
      ParsedRow<ParseParts, StateGrant, RunGrantPrivileges>({"grantPrivilegesToRole", "",
                                                             kChange | request::kToPrimary,
                                                             "gives a role more privileges"}),
      ParsedRow<ParseParts, StateRevoke, RunRevokePrivileges>({"revokePrivilegesFromRole", "",
                                                               kChange | request::kToPrimary,
                                                               "takes privileges from a role"}),
      ParsedRow<ParseParts, StateGrant, RunGrantRoles>(
          {"grantRolesToRole", "", kChange | request::kToPrimary, "gives a role more roles"}),
      ParsedRow<ParseParts, StateRevoke, RunRevokeRoles>(
          {"revokeRolesFromRole", "", kChange | request::kToPrimary, "takes roles from a role"}),
      ParsedRow<ParseRolesInfo, StateRolesInfo, RunRolesInfo>(
          {"rolesInfo", "", request::kRead | request::kToPrimary, "shows roles"}),
      {{"invalidateUserCache", "", kAdminOnly, "reads users and roles again"},
       RunInvalidateUserCache,
       OnCluster(Action::invalidateUserCache)},
  };
  return kRows;
}

}  // namespace quire::command
