// SPDX-License-Identifier: Apache-2.0
//
// Who may run a command: the third column of its row. Without access control everybody may run
// everything.
#pragma once

#include "auth/privilege.h"
#include "quire/status.h"

namespace quire::command {

struct Invocation;
using auth::Action;

struct Access {
  enum class Scope : unsigned char {
    kRoot,        // only who may do anything on any resource
    kAnyone,      // even without a login
    kLoggedIn,    // everybody with a login
    kCollection,  // `action` on the collection that the first field names
    kDatabase,    // `action` on the database the command runs on
    kCluster,     // `action` on the cluster
    kChecked,     // what `check` says
  };
  Scope scope = Scope::kRoot;
  Action action = Action::anyAction;
  Status (*check)(Invocation& invocation) = nullptr;
};

constexpr Access kAnyone = {Access::Scope::kAnyone, Action::anyAction, nullptr};
constexpr Access kLoggedIn = {Access::Scope::kLoggedIn, Action::anyAction, nullptr};
constexpr Access OnCollection(Action action) {
  return {Access::Scope::kCollection, action, nullptr};
}
constexpr Access OnDatabase(Action action) { return {Access::Scope::kDatabase, action, nullptr}; }
constexpr Access OnCluster(Action action) { return {Access::Scope::kCluster, action, nullptr}; }
// `check` is called with a login present; it uses RequireAction.
constexpr Access Checked(Status (*check)(Invocation&)) {
  return {Access::Scope::kChecked, Action::anyAction, check};
}

// Ok or Unauthorized, by the row's access and the client's login.
Status Authorise(Invocation& invocation, const Access& access);
// Whether the client may do `action` there; everything without access control.
bool May(Invocation& invocation, Action action, const auth::Resource& resource);
// Whether the client may do anything at all in the database.
bool MayUse(Invocation& invocation, std::string_view database);
// Unauthorized unless it may.
Status RequireAction(Invocation& invocation, Action action, const auth::Resource& resource);
Status Unauthorized(const Invocation& invocation);

// The rows whose privileges depend on their arguments.
Status CheckUpdateAccess(Invocation& invocation);
Status CheckBulkWriteAccess(Invocation& invocation);
Status CheckModifyAccess(Invocation& invocation);
Status CheckAggregateAccess(Invocation& invocation);
Status CheckExplainAccess(Invocation& invocation);
Status CheckCursorAccess(Invocation& invocation);
Status CheckRenameAccess(Invocation& invocation);
Status CheckListAccess(Invocation& invocation);
Status CheckDataSizeAccess(Invocation& invocation);

}  // namespace quire::command
