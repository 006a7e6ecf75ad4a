// SPDX-License-Identifier: Apache-2.0
//
// A shard takes a step of a change.
#pragma once

#include "quire/bson.h"
#include "quire/status.h"
#include "shard/change/change.h"
#include "shard/change/context.h"

namespace quire::shard {

// The reply: what the kind of the change has to tell, or {outOfDate: true}. An error of the first
// phase refuses the change; after any other one the step is sent again.
Result<bson::Document> TakeStep(Context& context, const StepRequest& step);

// Takes up what the coordination store says about a name that a request with that version knew more
// of than the shard. Error: the store did not answer; nothing has changed.
Status Adopt(Context& context, const std::string& id, const placement::ShardVersion& version);

}  // namespace quire::shard
