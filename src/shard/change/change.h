// SPDX-License-Identifier: Apache-2.0
//
// What a change of a collection means: on the shard that coordinates it (Change), and on each shard
// that takes part (Part). core/coordinator.h says in which order; run_change.h does it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coord/coord.h"
#include "placement/records.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "shard/change/context.h"
#include "shard/core/ledger.h"

namespace quire::shard {

// What a name becomes on one shard.
struct NameOutcome {
  Placed placed;
  bson::Document key = {};
};

// On the coordinator. Made of its arguments alone, so that whoever resumes it has the same.
class Change {
 public:
  explicit Change(bson::Document arguments) : arguments_(std::move(arguments)) {}
  virtual ~Change() = default;

  virtual std::string_view kind() const = 0;
  // The ids of the names that it changes.
  virtual std::vector<std::string> names() const = 0;
  // Goes with the lock and with every step; may grow until the decision.
  const bson::Document& arguments() const { return arguments_; }
  virtual bool Blocks(const std::string& shard, const std::string& id) const;
  // Whether shards build or read whole indexes while they are prepared, which may take long.
  virtual bool Builds() const { return false; }

  // With the lock, before any shard is asked.
  virtual Status Check(Context& context, const std::vector<placement::ShardRecord>& shards);
  // A shard is prepared, the primary first.
  virtual void Prepared(const std::string& shard, bson::View reply);
  // Adds what the decision writes for routers. An error undoes the change.
  virtual Status Decide(Context& context, coord::Transaction* decision);
  // The change is decided, perhaps by another coordinator: reads what the last steps have to say.
  virtual Status Decided(Context& context);
  // Nothing: the name stays as it is.
  virtual std::optional<NameOutcome> Outcome(const std::string& shard, const std::string& id) const;
  virtual void Finished(const std::string& shard, bson::View reply);
  // All shards are done: adds what goes with the end of the lock. Called again after an error.
  virtual Status Clean(Context& context, bool committed, coord::Transaction* end);
  // What config.changelog tells of it, if anything.
  virtual void AddToJournal(Context& context, coord::Transaction* end) const;
  virtual Result<bson::Document> Reply() const;

 protected:
  bson::View args() const { return arguments_.view(); }
  std::string Text(std::string_view field) const;
  // Sets a field of the arguments.
  void Set(std::string_view field, const bson::Value& value);

 private:
  bson::Document arguments_;
};

// A step as it reaches a shard.
struct StepRequest {
  std::string kind;
  Phase phase = Phase::kPrepared;
  bson::Document arguments;
  std::chrono::milliseconds limit{0};  // what is built has to be there by then; 0: none
  bool tells = false;  // change streams hear of it from this shard: it is the database's primary
  struct Name {
    std::string id;
    Step step;
    bson::Document key;
  };
  std::vector<Name> names;

  std::string_view Text(std::string_view field) const;
};

bson::Document Encode(const StepRequest& step);
Result<StepRequest> DecodeStep(bson::View document);

class Traces;

// On each shard. All functions may run again after they have run, and after they have begun.
class Part {
 public:
  virtual ~Part() = default;
  // The names that are blocked are closed. Keeps among the traces what Undo needs, and adds to
  // *reply what the coordinator wants to know.
  virtual Status Prepare(Context& context, const StepRequest& step, Traces& traces,
                         bson::Builder* reply) const;
  // After an error it is tried again, for ever.
  virtual Status Commit(Context& context, const StepRequest& step, bson::Builder* reply) const;
  // Of a change that is prepared here, or has begun to be.
  virtual Status Undo(Context& context, const StepRequest& step, bson::View kept) const;
  // Whether Commit takes something away that writes may be using.
  virtual bool TakesAway() const { return false; }
};

// By its kind; null when there is none such.
std::unique_ptr<Change> MakeChange(std::string_view kind, bson::Document arguments);
const Part* FindPart(std::string_view kind);

// The kinds.
std::unique_ptr<Change> MakeShardCollection(bson::Document arguments);
std::unique_ptr<Change> MakeDropCollection(bson::Document arguments);
std::unique_ptr<Change> MakeMoveRange(bson::Document arguments);
std::unique_ptr<Change> MakeCreateIndexes(bson::Document arguments);
std::unique_ptr<Change> MakeApplyToAll(bson::Document arguments);  // dropIndexes, collMod
std::unique_ptr<Change> MakeDropDatabase(bson::Document arguments);
std::unique_ptr<Change> MakeRenameCollection(bson::Document arguments);
const Part& ShardCollectionPart();
const Part& DropCollectionPart();
const Part& MoveRangePart();
const Part& CreateIndexesPart();
const Part& ApplyToAllPart();
const Part& DropDatabasePart();
const Part& RenameCollectionPart();

// --- What several of them use
// The ranges of a shard, neighbours made one.
Placed PlacedOn(const placement::ChunkMap& map, const std::string& shard);
NameOutcome OutcomeOn(const placement::ChunkMap& map, const std::string& shard);
// Where its documents lie, as the coordination store has it. Error: NamespaceNotSharded.
Result<placement::ChunkMapPtr> ReadMap(Context& context, const std::string& ns);
// Deletes all keys with the prefix, as many per transaction as may be; what is left over to the
// last one is added to *end.
Status DeleteAll(Context& context, std::string_view prefix, coord::Transaction* end);
// Whether an index can carry a shard key: its prefix, of all documents, in simple order.
bool SupportsKey(const store::IndexInfo& index, const placement::ShardKeyPattern& pattern);

}  // namespace quire::shard
