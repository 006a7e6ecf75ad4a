// SPDX-License-Identifier: Apache-2.0
//
// What a filter says about a shard key: the whole key, or ranges that hold the keys of all
// documents it matches.
#pragma once

#include <optional>
#include <vector>

#include "expr/context.h"
#include "expr/match/node.h"
#include "placement/shard_key.h"

namespace quire::placement {

// Keys from `low` to `high`, both included. Ends that the filter leaves out are counted in, as
// MongoDB's router does.
struct KeySpan {
  ShardKey low;
  ShardKey high;
};

// The key that the filter demands by equalities on every field; nothing when it does not, or where
// equality under the query's collation is not sameness of the key. An equality on a whole
// sub-document counts for the fields in it.
std::optional<ShardKey> KeyOfFilter(const ShardKeyPattern& pattern, const expr::match::Node& filter,
                                    const expr::Context& context);

// Spans that hold every key a matching document can have; none when no document can match. Nothing
// when the filter says nothing about the key's first field.
std::optional<std::vector<KeySpan>> SpansOfFilter(const ShardKeyPattern& pattern,
                                                  const expr::match::Node& filter,
                                                  const expr::Context& context);

}  // namespace quire::placement
