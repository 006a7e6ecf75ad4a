// SPDX-License-Identifier: Apache-2.0
//
// _mergeAuthzCollections: users and roles that mongorestore has put into collections of their own
// become those of the server.
#include <array>
#include <set>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/auth/login.h"
#include "command/diagnostic.h"
#include "command/own_documents.h"
#include "command/parsed_row.h"
#include "command/stored_version.h"
#include "request/fields.h"

namespace quire::command {
namespace {

struct MergeRequest {
  std::string_view users;
  std::string_view roles;
  std::string_view database;  // "": of all databases
  bool drop = false;          // those that are not in the collection go
  static constexpr auto kFields = std::to_array<request::FieldRow<MergeRequest>>(
      {request::Field<&MergeRequest::users>("tempUsersCollection"),
       request::Field<&MergeRequest::roles>("tempRolesCollection"),
       request::Field<&MergeRequest::database>("db", request::Need::kRequired),
       request::Field<&MergeRequest::drop>("drop", request::Need::kRequired)});
};

Result<MergeRequest> ReadRequest(Invocation& i) {
  MergeRequest asked;
  RETURN_IF_ERROR(request::ReadFields<MergeRequest>("_mergeAuthzCollections", i.body(), true,
                                                    MergeRequest::kFields, &asked));
  if (asked.users.empty() && asked.roles.empty()) {
    return Status(kBadValue,
                  "Must provide at least one of \"tempUsersCollection\" and "
                  "\"tempRolesCollection\"");
  }
  return asked;
}

// A kind of account: where they are, and the field with their name.
struct Kind {
  std::string_view ns;
  std::string_view name;
};
constexpr Kind kUserKind{kUsers, "user"};
constexpr Kind kRoleKind{kRoles, "role"};

Status CheckAccount(const Kind& kind, bson::View account) {
  const bson::Value name = account[kind.name];
  const bson::Value database = account["db"];
  const bson::Value id = account["_id"];
  const bool named = name.is_string() && !name.AsString().empty() && database.is_string() &&
                     !database.AsString().empty();
  if (!named || !id.is_string() ||
      id.AsString() != std::string(database.AsString()) + "." + std::string(name.AsString())) {
    return {kBadValue, "The " + std::string(kind.name) + " " + bson::ToJson(id) +
                           " has no name and database that its _id is made of"};
  }
  if (!account["roles"].is_array() ||
      (kind.ns == kUsers && !account["credentials"].is_document()) ||
      (kind.ns == kRoles && !account["privileges"].is_array())) {
    return {kBadValue, "The " + std::string(kind.name) + " " + bson::ToJson(id) +
                           " lacks a field that all of them have"};
  }
  return Status::Ok();
}

bson::Document InDatabase(std::string_view database) {
  bson::Builder filter;
  if (!database.empty()) {
    filter.Append("db", database);
  }
  return filter.Finish();
}

// All are looked at before the first is written.
Status Merge(Invocation& i, const Kind& kind, std::string_view from, const MergeRequest& asked) {
  const bson::Document filter = InDatabase(asked.database);
  ASSIGN_OR_RETURN(std::vector<bson::Document> wanted, LoadOwnAll(i.engine, from, filter, {}));
  for (const bson::Document& account : wanted) {
    RETURN_IF_ERROR(CheckAccount(kind, account));
  }
  std::set<std::string, std::less<>> kept;
  for (const bson::Document& account : wanted) {
    RETURN_IF_ERROR(SaveOwn(i.engine, kind.ns, account));
    kept.emplace(account["_id"].AsString());
  }
  if (!asked.drop) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(std::vector<bson::Document> there, LoadOwnAll(i.engine, kind.ns, filter, {}));
  for (const bson::Document& account : there) {
    const bson::Value id = account["_id"];
    if (!id.is_string() || kept.find(id.AsString()) == kept.end()) {
      const bson::Document this_one = bson::Builder().Append("_id", id).Finish();
      RETURN_IF_ERROR(RemoveOwn(i.engine, kind.ns, this_one).status());
    }
  }
  return Status::Ok();
}

Status RunMergeAccounts(Invocation& i, const MergeRequest& asked) {
  ASSIGN_OR_RETURN(const AccountLock alone, LockAccounts());
  RETURN_IF_ERROR(KeepAuthSchema(i.engine));
  Status merged = asked.users.empty() ? Status::Ok() : Merge(i, kUserKind, asked.users, asked);
  if (merged.ok() && !asked.roles.empty()) {
    merged = Merge(i, kRoleKind, asked.roles, asked);
  }
  i.commands.accounts_version.fetch_add(1);
  return merged;
}

// Whoever may make, change and (to drop) remove accounts anywhere, since what they are granted is
// in the documents, and read where they come from.
Status StateMergeAccounts(Invocation&, const MergeRequest& asked, auth::Needs* needs) {
  const auth::Resource where = auth::Database("");
  for (Action action :
       {Action::createUser, Action::createRole, Action::grantRole, Action::revokeRole}) {
    needs->Add(action, where);
  }
  if (asked.drop) {
    needs->Add(Action::dropUser, where);
    needs->Add(Action::dropRole, where);
  }
  for (std::string_view ns : {asked.users, asked.roles}) {
    if (!ns.empty()) {
      needs->Add(Action::find, auth::OfNamespace(ns));
    }
  }
  return Status::Ok();
}

}  // namespace

std::span<const Row> MergeAccountsRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  static constexpr Row kAll[] = {
      ParsedRow<ReadRequest, StateMergeAccounts, RunMergeAccounts>(
          {"_mergeAuthzCollections", "", kAdminOnly | kWrite | kWriteConcern | kToPrimary,
           "takes over restored users and roles"}),
  };
  return kAll;
}

}  // namespace quire::command
