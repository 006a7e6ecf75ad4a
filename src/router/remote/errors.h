// SPDX-License-Identifier: Apache-2.0
//
// Errors of shards: what a router does about them, and what its clients see of them.
#pragma once

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::router {

// No reply came: whether the request was run is open.
bool IsNetworkError(int code);
// The member refused because it is not the primary: nothing was run.
bool IsNotPrimary(int code);
// The member ceased to be the primary, or ends, while the request ran.
bool IsStepDown(int code);
// Nobody of the shard could answer.
bool IsUnreachable(int code);
// What the request said of versions is old.
bool IsStale(int code);

// As clients of a router see it: that a shard has another primary is none of their business, and
// must not make a driver believe it of the router.
Status ForClients(const Status& status);
// Whether writeErrors or writeConcernError of a reply tell of such a change.
bool MentionsStateChange(const bson::Argument& reply);
// The reply with these as clients see them.
bson::Document WithoutStateChange(const bson::Document& reply);

}  // namespace quire::router
