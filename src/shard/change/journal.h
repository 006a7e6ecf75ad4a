// SPDX-License-Identifier: Apache-2.0
//
// config.changelog: what was done to the placement of collections, the newest thousand entries.
#pragma once

#include <string_view>

#include "coord/coord.h"
#include "quire/bson.h"
#include "shard/change/context.h"

namespace quire::shard {

// Adds an entry to what the transaction writes.
void AddToJournal(Context& context, std::string_view what, std::string_view ns,
                  const bson::Document& details, coord::Transaction* transaction);
// Deletes what is too old. An error is left to the next one.
void PruneJournal(Context& context);

}  // namespace quire::shard
