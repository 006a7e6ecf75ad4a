// SPDX-License-Identifier: Apache-2.0
//
// Who may run a command. Each row states what it is going to do (auth::Needs): from its request as
// it was parsed, never from the raw fields, so that what is checked is what runs. Without access
// control everybody may run everything.
#pragma once

#include <memory>

#include "auth/needs.h"
#include "quire/status.h"
#include "request/crud.h"
#include "request/map_reduce.h"

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

// Ok, Unauthorized, or the error of a request that cannot be read. What was stated is kept in the
// invocation, for the cursor that it may open.
Status Authorise(Invocation& invocation, const Access& access);
// Whether the client may do `action` there; everything without access control.
bool May(Invocation& invocation, Action action, const auth::Resource& resource);
// Whether the client may do anything at all in the database.
bool MayUse(Invocation& invocation, std::string_view database);
// Whether the client may do anything at all on the resource.
bool MayUse(Invocation& invocation, const auth::Resource& resource);
// Unauthorized unless it may.
Status RequireAction(Invocation& invocation, Action action, const auth::Resource& resource);
Status Unauthorized(const Invocation& invocation);

// What a command needs, whether it runs or is only explained.
Status StateUpdate(Invocation& invocation, const request::UpdateRequest& request,
                   auth::Needs* needs);
Status StateDelete(Invocation& invocation, const request::DeleteRequest& request,
                   auth::Needs* needs);
Status StateFindAndModify(Invocation& invocation, const request::FindAndModifyRequest& request,
                          auth::Needs* needs);
Status StateMapReduce(Invocation& invocation, const request::MapReduceRequest& request,
                      auth::Needs* needs);
// Adds what running `pipeline` on the collection needs ("": on the database itself).
Status StatePipeline(std::string_view database, std::string_view collection, bson::View pipeline,
                     bool bypass_validation, auth::Needs* needs);
// Adds what making a view of `source` needs: its maker reads what the view will show.
Status StateView(std::string_view database, std::string_view source, bson::View pipeline,
                 auth::Needs* needs);

}  // namespace quire::command
