// SPDX-License-Identifier: Apache-2.0
//
// Which shards a request goes to.
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "expr/context.h"
#include "expr/match/node.h"
#include "placement/chunk_map.h"
#include "placement/target/key_bounds.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::placement {

// Why these shards.
enum class TargetedBy {
  kKey,         // the filter names the whole key
  kSpans,       // it bounds the key
  kEverything,  // it says nothing about the key
  kNothing,     // no document can match: one shard is asked all the same, to answer in form
};
std::string_view NameOf(TargetedBy by);

struct Targets {
  std::set<ShardName> shards;  // never empty
  TargetedBy by = TargetedBy::kEverything;
  std::optional<ShardKey> key;  // of kKey

  bool single() const { return shards.size() == 1; }
};

// The shards that may hold a document that the filter matches. `context` has the query's collation,
// or the collection's when the query has none: keys are ordered by bytes, so that a collation
// leaves nothing to be said about strings.
Targets TargetFilter(const ChunkMap& map, const expr::match::Node& filter,
                     const expr::Context& context);

// The shard of a document to be inserted, _id included. Error: ShardKeyNotFound.
Result<ShardName> TargetInsert(const ChunkMap& map, bson::View document);

// How a write reaches its documents.
enum class WriteWay {
  kDirect,    // one shard has all it can match
  kEach,      // every shard named writes what it has (multi only)
  kTwoPhase,  // one document of some shard: found first, written by its _id and key then
};

struct WriteTargets {
  WriteWay way = WriteWay::kDirect;
  Targets targets;
};

struct WriteWish {
  bool multi = false;
  bool upsert = false;
};

// Of an update, replacement or delete. An _id alone goes the two-phase way: nothing but multi is
// written by broadcast. Error: ShardKeyNotFound for an upsert of many without the whole key.
Result<WriteTargets> TargetWrite(const ChunkMap& map, const expr::match::Node& filter,
                                 const expr::Context& context, const WriteWish& wish);

// The stage that explain shows above the shards' plans of a read.
std::string_view ReadStage(const Targets& targets, bool sorted);

}  // namespace quire::placement
