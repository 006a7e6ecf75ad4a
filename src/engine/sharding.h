// SPDX-License-Identifier: Apache-2.0
//
// A node's place in a sharded cluster, as commands ask for it. A node without one
// (Engine::sharding is null) is no shard.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bell.h"
#include "exec/sharding_filter.h"
#include "placement/records.h"
#include "placement/shard_key.h"
#include "placement/version.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::engine {

// What a request believes of a namespace.
struct NamespaceVersion {
  std::string ns;
  // Nothing: it comes from a client that is connected to the shard itself.
  std::optional<placement::ShardVersion> shard = {};
  std::optional<placement::DatabaseVersion> database = {};
  bool writes = false;          // the request writes it, though it is a read of others
  bool whole_database = false;  // `ns` is a database, of which every collection is meant
};

// Where a sharded collection lies, as this shard sees it. Immutable.
struct OwnedPlacement {
  placement::ShardKeyPattern pattern;
  placement::ShardVersion version;
  std::vector<placement::KeyRange> owned;  // by this shard, in order

  // MaxKey belongs to the last range.
  bool Owns(const placement::ShardKey& key) const;
};

// What a shard may show of the collection; null for one without a placement.
std::shared_ptr<const exec::Ownership> OwnershipOf(std::shared_ptr<const OwnedPlacement> placement);

class Sharding;

// While it lives, the thread runs a request of a router, which sees of sharded collections what the
// shard owns. Clients of the shard itself see what is stored.
class RouterScope {
 public:
  // Null: there is no such request.
  explicit RouterScope(const Sharding* sharding);
  ~RouterScope();
  RouterScope(const RouterScope&) = delete;
  RouterScope& operator=(const RouterScope&) = delete;

  // Of the innermost one; null: there is none.
  static const Sharding* Current();

 private:
  const Sharding* const outer_;
};

// Where the collection lies, for a request of a router that the thread runs; null for others, and
// for one without a placement.
std::shared_ptr<const OwnedPlacement> CurrentPlacement(std::string_view ns);
// What the request that the thread runs may see of the collection; null: all of it.
std::shared_ptr<const exec::Ownership> CurrentOwnership(std::string_view ns);

// Safe for concurrent use; no function blocks.
class Sharding {
 public:
  virtual ~Sharding() = default;

  // Where the state of a shard lies: documents, which its log carries to all members.
  static constexpr std::string_view kNamespace = "config.shardState";

  // While it lives, nothing that it was given for changes its place.
  class Pass {
   public:
    virtual ~Pass() = default;
  };
  struct Admission {
    Status refused = Status::Ok();         // StaleConfig, StaleDbVersion, IllegalOperation
    bool waits = false;                    // until `changed` rings: to be asked again then
    std::unique_ptr<Pass> pass = nullptr;  // of a write that may run
  };
  // Whether a request may run. `writes`: it writes all of the names, not only those that say so.
  // `direct`: whoever sends no versions may write to sharded ones.
  virtual Admission Admit(std::span<const NamespaceVersion> names, bool writes, bool direct) = 0;
  // Rings when requests that wait may go on.
  Bell changed;

  // The shard's name; empty before it has joined.
  virtual std::string name() const = 0;
  // Whether the node belongs to a cluster. One that does not is asked nothing else.
  virtual bool joined() const = 0;
  // Null when the collection is not known as sharded here.
  virtual std::shared_ptr<const OwnedPlacement> PlacementOf(std::string_view ns) const = 0;
  // Documents of the namespace were written, or taken back, by replication.
  virtual void Replicated(std::string_view ns) = 0;
  // The node has become the primary of its set, or has ceased to be.
  virtual void RoleChanged() = 0;

  // An internal command of a router or of another shard. Its answer comes once, from a thread of
  // the sharding.
  using Answer = std::function<void(Result<bson::Document>)>;
  virtual void Handle(bson::Document command, Answer answer) = 0;
};

}  // namespace quire::engine
