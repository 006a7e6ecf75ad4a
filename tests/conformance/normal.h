// SPDX-License-Identifier: Apache-2.0
//
// What of a reply is compared with the recorded one.
#pragma once

#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::conformance {

// The reply of a command (or its error) reduced to what `check` asks for:
//   exact  everything but volatile fields; top-level fields sorted, their numbers as doubles
//   set    the same, batches and value lists in any order
//   plan   an explain's stage tree with index names, bounds and counters
//   ok     success or the error
//   keys   the names of the fields
// `database` reads @db in every string. An error is {ok: 0, code, codeName} under each of them.
bson::Document Normal(const Result<bson::Document>& reply, std::string_view check,
                      std::string_view database);

// A recorded expectation in the same form.
bson::Document NormalWant(bson::View want, std::string_view check);

}  // namespace quire::conformance
