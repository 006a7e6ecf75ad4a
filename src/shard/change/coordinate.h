// SPDX-License-Identifier: Apache-2.0
//
// What a router leaves to the primary shard of a database: changes of collections, indexes and
// chunks. {_shardsvrCoordinate: <the client's command>, db, databaseVersion, writeConcern?,
// changeId?, maxTimeMS?}; the id is that of the client's request, however often it is sent.
#pragma once

#include <string>

#include "quire/bson.h"
#include "quire/status.h"
#include "shard/change/context.h"
#include "shard/change/reservations.h"

namespace quire::shard {

// The reply for the client. Blocks its thread.
Result<bson::Document> Coordinate(Context& context, Reservations& reservations, bson::View request);

// Goes on with the changes that another primary of this shard has left; Context::left_open hears of
// those for which a shard does not answer. Error: another one is not finished, or nobody knows
// whether there are some.
Status ResumeAll(Context& context, Reservations& reservations);
// Goes on with one change, whoever has left it; named by the first name that it changes.
Status ResumeOne(Context& context, Reservations& reservations, const std::string& id);

}  // namespace quire::shard
