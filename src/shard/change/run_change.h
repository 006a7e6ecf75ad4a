// SPDX-License-Identifier: Apache-2.0
//
// Carries out a change: the coordinator of core/ with the coordination store and the shards around
// it.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coord/coord.h"
#include "placement/records.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "shard/change/change.h"
#include "shard/change/context.h"
#include "shard/core/coordinator.h"
#include "shard/crew.h"

namespace quire::shard {

// The key of a name's lock: "ddl/<database>" or "ddl/<database>/<collection>".
std::string LockKey(const std::string& id);

// The value of a lock in the coordination store.
struct LockRecord {
  Lock lock;
  std::string owner;                         // shard
  std::string primary;                       // shard of the database: prepared first, finished last
  std::string kind;                          // of the change
  bson::Document arguments;                  // of the change
  std::vector<std::string> names;            // all ids that it changes, the first one's lock first
  std::string request;                       // ClientRequest::id
  std::optional<bson::Document> reply = {};  // what its client is told; of one that is done
};
std::string Encode(const LockRecord& record);
Result<LockRecord> DecodeLock(std::string_view value);

class ChangeRun {
 public:
  // REQUIRES: nobody else in this process changes the names.
  ChangeRun(Context& context, std::unique_ptr<Change> change)
      : context_(context), change_(std::move(change)) {}

  // From the beginning. Whatever another coordinator has left is finished or undone first. A change
  // for which shards do not answer is undone after a while, and the error returned as soon as those
  // that do answer have undone it.
  Result<bson::Document> Run();
  // Goes on with what another coordinator left under this lock. Error: among others
  // HostUnreachable, when it is undone but for shards that do not answer.
  static Status Resume(Context& context, const std::string& id);
  // The reply to this request of a client, when the last change of the name was made for it;
  // whatever is left of that is done first.
  static Result<std::optional<bson::Document>> EarlierReply(Context& context, const std::string& id,
                                                            const std::string& request);

 private:
  using Clock = std::chrono::steady_clock;
  struct HeldLock {
    std::string id;
    std::string key;
    coord::Revision revision = 0;
    uint64_t number = 0;  // of the change, once it is taken
  };

  Status Drive(Coordinator& coordinator);
  Status Prepare();
  Result<std::optional<LockRecord>> ReadLock(HeldLock* lock);
  void WriteLocks(Coordinator& coordinator);
  // What an answer of the store says of the locks. Error: it cannot be read.
  Result<LockSeen> ReadLocks(const coord::Answer& answer, bool taking);
  Status AddWrites(Coordinator& coordinator, coord::Transaction* transaction);
  void TakeSteps(Coordinator& coordinator);
  // False: the shard has not answered, and the step is to be sent again.
  bool TakeAnswer(Coordinator& coordinator, const std::string& shard, Phase phase,
                  const Result<bson::Document>& reply);
  // Some shards have not answered.
  void Await(Coordinator& coordinator);
  bool Blocks() const;
  std::chrono::milliseconds TimeoutOf(const StepRequest& step) const;
  Result<bson::Document> SendStep(const placement::ShardRecord& shard, const StepRequest& step,
                                  std::chrono::milliseconds timeout);
  StepRequest StepFor(const Coordinator& coordinator, const std::string& shard) const;
  // Whether this process may go on: it still leads its set and is not about to end.
  Status CheckOwner() const;
  void Pause() const;
  void GiveUp(Coordinator& coordinator, Status why);

  Context& context_;
  std::unique_ptr<Change> change_;
  std::vector<placement::ShardRecord> shards_;
  std::vector<HeldLock> locks_;
  coord::Revision leader_ = 0;
  coord::Revision list_ = 0;  // of the number of changes of the list of shards
  uint64_t epoch_ = 0;
  std::string primary_ = context_.shard;
  std::string nonce_;
  std::string request_;  // ClientRequest::id
  // Since when shards are blocked, or do not answer.
  std::optional<Clock::time_point> waits_since_;
  std::optional<Crew::Away> away_;  // while what is decided waits for shards that do not answer
  Status problem_ = Status::Ok();   // why it is undone
  bool overtaken_ = false;          // because what it had read has changed meanwhile
  bool checked_ = false;
  bool told_ = false;       // Change::Decided has run
  bool left_open_ = false;  // undone, but for shards that do not answer
};

}  // namespace quire::shard
