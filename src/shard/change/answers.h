// SPDX-License-Identifier: Apache-2.0
//
// What a shard remembers of retryable writes, on its way to the shard that gains a range of their
// collection.
#pragma once

#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"
#include "shard/change/context.h"

namespace quire::shard {

// Sends all that is remembered of writes of the namespace to the primary of the other shard, or of
// all others (""). All of them hold it with a majority when this returns. REQUIRES: nobody writes
// the namespace.
Status SendAnswers(Context& context, std::string_view ns, std::string_view to);

// The other side: {_shardsvrTakeAnswers: ns, answers: [...]}.
Result<bson::Document> TakeAnswers(Context& context, bson::View command);

}  // namespace quire::shard
