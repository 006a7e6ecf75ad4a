// SPDX-License-Identifier: Apache-2.0
//
// The collections that $out fills, until they take their target's place.
#pragma once

#include <string>
#include <string_view>

#include "engine/engine.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::engine {

// Names begin so, and go on with the id of the process that fills them; those of routers with this.
inline constexpr std::string_view kOutTemporary = "tmp.agg_out.";
inline constexpr std::string_view kRoutersOutTemporary = "tmp.agg_out.router.";
// Names of those in which another member collects what a large $out shall write begin so;
// the rest is an ObjectId. What is left of them a day later is nobody's.
inline constexpr std::string_view kCollectedElsewhere = "tmp.agg_far.";

// Makes the collection with the target's options and indexes. Errors: those of a target that $out
// cannot replace; InvalidOptions for `timeseries` that are not empty, as there are none.
Status MakeOutCollection(const Operation& operation, const std::string& target,
                         const std::string& temporary, bson::View timeseries);
// The collection takes the target's place. `uuid`: of the collection that was made,
// CollectionUUIDMismatch for another one; missing: it is known to be there.
Status PutInPlace(const Operation& operation, const std::string& temporary,
                  const std::string& target, const bson::Value& uuid);

}  // namespace quire::engine
