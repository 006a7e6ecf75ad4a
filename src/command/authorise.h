// SPDX-License-Identifier: Apache-2.0
//
// Who may run a command: what its row states against what the client's login allows. Without access
// control everybody may run everything.
#pragma once

#include <optional>
#include <string_view>

#include "auth/needs.h"
#include "command/access.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "request/crud.h"
#include "request/map_reduce.h"

namespace quire::command {

// Ok, Unauthorized, or the error of a request that cannot be read. What was stated is kept in the
// invocation, for the cursor that it may open.
Status Authorise(Invocation& invocation, const Access& access);
// Whether the client may do `action` there; everything without access control.
bool May(Invocation& invocation, Action action, const auth::Resource& resource);
// Whether the client may do anything at all in the database.
bool MayUse(Invocation& invocation, std::string_view database);
// Whether the client may do anything at all on the resource.
bool MayUse(Invocation& invocation, const auth::Resource& resource);
// Whether listDatabases shows the client all of them, or those that it may use. `authorized`: the
// argument authorizedDatabases. Error: Unauthorized.
Result<bool> SeesAllDatabases(Invocation& invocation, std::optional<bool> authorized);
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
// Adds what making `view` of `source` needs: who may read the view reads what it will show. One who
// may not, as the role restore, learns nothing by it.
Status StateView(Invocation& invocation, std::string_view view, std::string_view source,
                 bson::View pipeline, auth::Needs* needs);

}  // namespace quire::command
