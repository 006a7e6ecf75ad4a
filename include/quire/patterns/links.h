// SPDX-License-Identifier: Apache-2.0
//
// Many to many: books and their authors, courses and their students. One side, the owners, holds an
// array of the other's ids, and nothing of them is kept twice.
//
//   patterns::Links links(client, "shop", {.owners = "books", .targets = "authors"});
//   links.CreateIndexes();
//   links.AddTarget("knuth", Doc("name", "Donald Knuth"));
//   links.AddOwner("taocp", Doc("volumes", 7));
//   links.Link("taocp", "knuth");
//   auto books = links.OwnersOf("knuth", {.limit = 20});
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/error.h"
#include "quire/patterns/idempotency.h"
#include "quire/patterns/page.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

struct LinksOptions {
  // The side that has fewer links: its documents hold them.
  std::string owners = "owners";
  std::string targets = "targets";
  std::string field = "target_ids";          // of the owners
  size_t max_links = 1000;                   // of one owner. REQUIRES: > 0
  Backend backend = Backend::kCompensating;  // of DeleteTarget
  // How long keys, and what was deleted, are remembered: longer than any write may be delayed.
  std::chrono::milliseconds tombstone_retention = std::chrono::hours(24);
  std::string worker = "worker";  // a name of its own for every process that runs the jobs
  std::chrono::milliseconds lease = std::chrono::minutes(5);
  Concerns concerns = {};
  Seams seams = {};
};

// Documents, in collections and a field that the options name: owners {_id, ..., target_ids: [...],
// call, marks, removed, removed_by} and targets {_id, ..., call, removed, removed_by}; idempotency;
// jobs. A collection takes part in one Links. What is deleted stays with `removed`, unseen by
// readers, until Sweep. Ids are never used again. Pages are in the order of _id. Safe for
// concurrent use.
class Links {
 public:
  Links(const Client& client, std::string_view database, LinksOptions options = {});
  Links(const Links&) = delete;  // the declared indexes name strings of the options
  Links& operator=(const Links&) = delete;

  std::vector<IndexSpec> Indexes() const;
  std::vector<ShardKeySpec> ShardKeys() const;
  Status CreateIndexes() const;
  Result<std::vector<std::string>> MissingIndexes() const;

  // `fields` are the caller's own. Errors: InvalidName (an empty id, or a field that the module
  // keeps), DuplicateKey (also of a deleted one).
  Status AddOwner(std::string_view id, const bson::Document& fields,
                  const CallKey& key = std::nullopt) const;
  Status AddTarget(std::string_view id, const bson::Document& fields,
                   const CallKey& key = std::nullopt) const;
  // The document's own fields and _id. Error: NotFound.
  Result<bson::Document> GetOwner(std::string_view id) const;
  Result<bson::Document> GetTarget(std::string_view id) const;

  // A link that is there already stays once; one that is not there is removed without error.
  // Errors: NotFound (the owner, or of Link the target), TooManyLinks, Contention.
  Status Link(std::string_view owner, std::string_view target,
              const CallKey& key = std::nullopt) const;
  Status Unlink(std::string_view owner, std::string_view target,
                const CallKey& key = std::nullopt) const;

  // What is linked, as the getters return it. Errors: NotFound, BadCursor.
  Result<Page> TargetsOf(std::string_view owner, const PageRequest& page = {}) const;
  Result<Page> OwnersOf(std::string_view target, const PageRequest& page = {}) const;

  // With all links. Error: NotFound.
  Status DeleteOwner(std::string_view id, const CallKey& key = std::nullopt) const;
  Status DeleteTarget(std::string_view id, const CallKey& key = std::nullopt) const;

  // The jobs. skipped is 1, and nothing was done, while another worker is at it.
  // Removes links to targets that were deleted, which no reader sees: what crashed deletions, and
  // links made meanwhile, left. Forgets what was deleted after the retention.
  Result<JobReport> Sweep() const;
  // Forgets keys after the retention.
  Result<JobReport> PurgeKeys() const;

  // What is wrong, a line each, once nothing is under way and Sweep has run: links twice, to no
  // target, of a deleted owner, or too many.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  class Work;
  std::shared_ptr<const Work> work_;
};

}  // namespace quire::patterns
