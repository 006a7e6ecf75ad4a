// SPDX-License-Identifier: Apache-2.0
//
// Writes of one document that any of several shards may have: it is looked for on all of them, and
// written then on the shard that has it, by its _id and shard key beside the filter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quire/bson.h"
#include "router/data/target.h"
#include "router/routed.h"

namespace quire::router {

// What such a write says; its views outlive it.
struct OneWrite {
  virtual ~OneWrite() = default;

  std::string ns;
  bson::View filter;
  bson::View sort;
  bson::View collation;
  bson::View let;
  bson::Value hint;
  bool upsert = false;
  int32_t statement = 0;  // its number in a retryable write

  // The command for a shard, with this filter in place of the client's.
  virtual bson::Document Command(bson::View with_filter, bool upserts) const = 0;
  // The upsert that makes just this document.
  virtual bson::Document Making(bson::View document) const = 0;
  // What the client is told when no document matches; nothing: a shard has to say it.
  virtual std::optional<bson::Document> NoneMatched() const = 0;
  // What the client is told by what a shard remembers of the statement.
  virtual bson::Document Repeated(bson::View answer) const = 0;
  // Whether the shard has found the document.
  virtual bool Matched(bson::View reply) const = 0;
  // Of the statement; Ok: there is none. Its extra() has the fields of the error.
  virtual Status ErrorIn(const Heard& heard) const = 0;
};

// The filter that one document alone matches: {$and: [{_id, key}, filter]}.
bson::Document ExactFilter(const placement::ShardKeyPattern& pattern, bson::View document,
                           bson::View filter);
// A filter that no document matches, and whose upsert has this _id.
bson::Document MakingFilter(bson::View document);

// The write's document belongs to another shard than the one that was asked (WouldChangeOwningShard
// with an upsert's document): makes it there. Statements keep their numbers, so that it is made
// once.
Task<Result<Heard>> MakeAtOwner(Routed& request, RoutePtr* route, const OneWrite& write,
                                const Status& error, bool* stale);

// The shard's answer to the write, or an answer as a shard would give it. *stale: what was known of
// the namespace has been refreshed, and nothing was written.
Task<Result<Heard>> WriteOne(Routed& request, RoutePtr* route, const OneWrite& write,
                             std::vector<placement::ShardName> shards, bool* stale);

// Whether the request's writes are remembered by shards.
bool IsRetryable(Routed& request);
// Of an update of the key that only a retryable write or a transaction may do; and of one that
// needs both shards in a transaction.
Status KeyChangeNotAllowed();
Status KeyChangeOverShards();

}  // namespace quire::router
