// SPDX-License-Identifier: Apache-2.0
//
// What a command's row says about who may run it (authorise.h decides). Each row states what it is
// going to do (auth::Needs): from its request as it was parsed, never from the raw fields, so that
// what is checked is what runs.
#pragma once

#include "auth/needs.h"
#include "quire/status.h"

namespace quire::command {

struct Invocation;
using auth::Action;

struct Access {
  enum class Scope : unsigned char {
    kUnstated,    // nobody: the row says nothing
    kAnyone,      // even without a login
    kLoggedIn,    // everybody with a login
    kCollection,  // `action` on the collection that the first field names
    kDatabase,    // `action` on the database the command runs on
    kCluster,     // `action` on the cluster
    kStated,      // what `state` adds
  };
  Scope scope = Scope::kUnstated;
  Action action = Action::anyAction;
  Status (*state)(Invocation& invocation, auth::Needs* needs) = nullptr;
};

constexpr Access kAnyone = {Access::Scope::kAnyone, Action::anyAction, nullptr};
constexpr Access kLoggedIn = {Access::Scope::kLoggedIn, Action::anyAction, nullptr};
constexpr Access OnCollection(Action action) {
  return {Access::Scope::kCollection, action, nullptr};
}
constexpr Access OnDatabase(Action action) { return {Access::Scope::kDatabase, action, nullptr}; }
constexpr Access OnCluster(Action action) { return {Access::Scope::kCluster, action, nullptr}; }
// For rows whose needs depend on their arguments. `state` reads them with the functions that the
// row itself uses; an error is the command's.
constexpr Access Stated(Status (*state)(Invocation&, auth::Needs*)) {
  return {Access::Scope::kStated, Action::anyAction, state};
}

}  // namespace quire::command
