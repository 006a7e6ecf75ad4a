// SPDX-License-Identifier: Apache-2.0
//
// What writes may do to the shard key of a document, on a shard. Outside a RouterScope
// everything is allowed: clients of the shard itself are not judged by the key.
#pragma once

#include "engine/engine.h"
#include "expr/update/update.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "store/collection_info.h"

namespace quire::engine {

// An update makes `after` of `before`. Errors: InvalidOptions when it is one of many,
// IllegalOperation outside retryable writes and transactions, NotSingleValueField for an array,
// WouldChangeOwningShard with the document as extra() when another shard has the new key.
Status CheckKeyChange(const Operation& operation, const store::CollectionInfo& info, bool multi,
                      const expr::update::Outcome& outcome, bson::View before, bson::View after);
// An upsert makes a document. Error: WouldChangeOwningShard with it as extra().
Status CheckUpsertedKey(const store::CollectionInfo& info, bson::View document);

}  // namespace quire::engine
