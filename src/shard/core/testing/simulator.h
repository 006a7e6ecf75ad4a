// SPDX-License-Identifier: Apache-2.0
//
// A simulated sharded cluster: shards whose primaries die and are replaced, routers with old
// tables, clients of one shard, changes of one collection with their coordinators, and a
// coordination store whose requests and answers are lost, late and doubled. What is under way is a
// list of things that may happen next, of which one is drawn: every delay and every order can be.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "shard/core/coordinator.h"
#include "shard/core/ledger.h"
#include "shard/core/rules.h"

namespace quire::shard {

struct SimulatorOptions {
  uint64_t seed = 1;
  int steps = 1500;
  Rules rules;
  double lost = 0.05;       // of messages and answers
  double doubled = 0.05;    // of requests
  double failovers = 0.01;  // per step
  double writes = 0.08;
  double changes = 0.04;
  double repeated = 0;       // writes that are sent again although they have run, per step
  double takeovers = 0.004;  // per step
  std::ostream* trace = nullptr;
};

struct SimulatorCounts {
  uint64_t writes = 0;   // acknowledged
  uint64_t reads = 0;    // answered
  uint64_t changes = 0;  // committed
  uint64_t undone = 0;
  uint64_t failovers = 0;
};

class Simulator {
 public:
  explicit Simulator(SimulatorOptions options);
  ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  // The first promise that was broken; empty: none.
  std::string Run();
  const SimulatorCounts& counts() const { return counts_; }

 private:
  static constexpr int kShards = 3;
  static constexpr int kKeys = 3;
  static constexpr int kRouters = 3;
  using Uuid = int;  // 0: none

  enum class Kind : uint8_t { kShard, kMove, kDrop, kIndex };
  // What the lock tells of a change beside what the core knows.
  struct Change {
    Kind kind = Kind::kShard;
    Uuid uuid = 0;
    int key = 0;                  // of a move
    int from = 0;                 // of a move
    int to = 0;                   // of a move
    int refuses = -1;             // a shard that cannot build the index
    bool empty = false;           // as the primary shard found the collection
    int wish = -1;                // of the client
    std::map<int, Placed> after;  // by shard: what the decision makes of it
  };
  struct Routing {
    int64_t revision = 0;
    bool live = false;
    bool dropping = false;
    Uuid uuid = 0;
    placement::Generation generation;
    std::vector<int> owner = std::vector<int>(kKeys, 0);
    std::vector<uint32_t> majors = std::vector<uint32_t>(kShards, 1);
  };
  struct Collection {
    std::map<int, int> documents;  // to their keys
    bool index = false;
    bool pending = false;
  };
  struct ShardState {
    int boot = 0;
    // In the log.
    Known known;
    Uuid catalog = 0;
    std::map<Uuid, Collection> collections;
    std::set<int> answers;  // to retryable writes: those that have run
    // Of the process.
    bool closed = false;
    int passes = 0;
  };
  // A retryable write that leaves no document, and so does not keep its range from moving.
  struct Fleeting {
    int key = 0;
    std::map<Uuid, int> runs = {};  // by the collection it was run in
  };
  struct DocumentFate {
    int key = 0;
    Uuid uuid = 0;
    bool acknowledged = false;
  };
  struct Wish {
    Kind kind = Kind::kShard;
    Uuid uuid = 0;
    int answered = 0;  // 1: done, -1: failed
  };
  struct Running;
  using RunningPtr = std::shared_ptr<Running>;
  using Answer = std::function<void(WriteOutcome, LockSeen)>;

  // --- What may happen next
  void Later(std::function<void()> what) { pending_.push_back(std::move(what)); }
  void Message(const std::function<void()>& what, const std::function<void()>& lost);
  uint64_t Draw(uint64_t n);
  bool Chance(double p);
  template <typename... Parts>
  void Say(const Parts&... parts);

  // --- The coordination store
  void Transact(const std::function<bool()>& writes, const Answer& answer);
  Routing Read();

  // --- Requests
  struct Request;
  void Write(int router, int id, int key, int tries, bool fleeting = false);
  void Arrive(const std::shared_ptr<Request>& request);
  void Enter(const std::shared_ptr<Request>& request);
  void Commit(const std::shared_ptr<Request>& request);
  void CommitFleeting(const Request& request);
  void Adopt(int shard);
  struct Reading;
  void Query(int router);
  void ReadAt(const std::shared_ptr<Reading>& reading, int shard);
  void CheckRead(const Reading& reading);
  void WriteDirectly();
  std::optional<placement::ShardVersion> VersionFor(const Routing& table, int shard) const;

  // --- Changes
  void AskForChange();
  void Resume(int shard);
  void Pump(const RunningPtr& change);
  void WriteLock(const RunningPtr& change);
  // The routing after the decision; fills in what it means for each shard.
  Routing Decided(Change& change);
  Placed PlacedOn(const Routing& routing, int shard) const;
  void SendStep(const RunningPtr& change, int shard);
  struct StepAtShard;
  void TakeStep(const std::shared_ptr<StepAtShard>& step);
  std::optional<StepAnswer> Prepare(StepAtShard& step);
  void Log(const std::shared_ptr<StepAtShard>& step);
  void Effect(const StepAtShard& step);
  void SendAnswers(const StepAtShard& step);
  void Finish(const RunningPtr& change);
  static bool Blocks(const Change& change, int shard);

  void FailOver(int shard);
  // --- Promises
  void Fail(const std::string& what);
  void CheckOwners();
  void CheckEnd();

  const SimulatorOptions options_;
  uint64_t random_;
  std::vector<std::function<void()>> pending_;
  std::string failure_;
  SimulatorCounts counts_;
  int step_ = 0;
  bool calm_ = false;  // no faults any more

  int64_t revision_ = 1;
  LockSeen lock_;
  Routing routing_;
  std::deque<Routing> before_;
  std::map<uint64_t, Change> changes_;  // by number, as the lock keeps them

  std::vector<ShardState> shards_;
  std::vector<Routing> tables_;
  std::vector<DocumentFate> documents_;
  std::vector<Fleeting> fleeting_;
  std::vector<Wish> wishes_;
  std::set<Uuid> dropping_;  // a client has asked for it
  std::set<Uuid> dropped_;   // and was told that it is done
  Uuid last_uuid_ = 0;
  uint32_t last_time_ = 0;
  int nonces_ = 0;
};

}  // namespace quire::shard
