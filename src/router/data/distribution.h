// SPDX-License-Identifier: Apache-2.0
//
// $shardedDataDistribution: what each shard has of each sharded collection.
#pragma once

#include "router/routed.h"

namespace quire::router {

// The aggregation with its first stage, a $shardedDataDistribution, replaced by a $documents of its
// rows.
Task<Result<bson::Document>> WithDistribution(Routed& request);

}  // namespace quire::router
