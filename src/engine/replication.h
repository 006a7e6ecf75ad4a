// SPDX-License-Identifier: Apache-2.0
//
// A node's place in a replica set, as commands ask for it. A node without one (Engine::replication
// is null) is a set of its own, whose every write is committed when it is made.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bell.h"
#include "engine/replica/replica_data.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "request/generic.h"

namespace quire::engine {

// MongoDB's numbers, as replSetGetStatus shows them.
enum class MemberState {
  kStartup = 0,
  kPrimary = 1,
  kSecondary = 2,
  kRecovering = 3,
  kStartup2 = 5,
  kUnknown = 6,
  kDown = 8,
  kRollback = 9,
  kRemoved = 10,
};

// What one member knows of another (or itself).
struct MemberStatus {
  int id = -1;
  MemberState state = MemberState::kUnknown;
  bool self = false;
  bool healthy = false;
  bool in_sync = false;
  LogPosition written;  // what it holds durably
  LogPosition applied;
  int64_t uptime_seconds = 0;
  int64_t ping_millis = 0;
  int64_t last_heartbeat_millis = 0;  // wall clock; 0: none yet
  int64_t last_heartbeat_received_millis = 0;
  std::string message;
  int64_t config_version = 0;
};

// One moment of the set, as this member knows it. Immutable.
struct SetStatus {
  int64_t topology_counter = 0;  // +1 whenever hello's answer changes but for lastWrite
  bool initiated = false;        // a configuration is known
  bson::Document config;         // in MongoDB's form, when initiated
  int self = -1;                 // `_id` in it; -1: not a member
  int primary = -1;              // `_id`; -1: none known
  int32_t rollback_id = 1;       // another one: what was shown before may have been taken back
  int newly_added = 0;           // voters whose votes count once they are in sync
  MemberState state = MemberState::kStartup;
  bool writable = false;   // takes clients' writes
  bool caught_up = false;  // everything applied is committed
  uint64_t epoch = 0;      // the term
  LogPosition last;        // end of the log
  LogPosition applied;
  LogPosition commit;
  int64_t election_wall_millis = 0;  // when this member won the term, or came to know it
  LogPosition election;              // a leader's first slot
  LogPosition seen_at_election;      // what it had then: the end of its log
  LogPosition applied_at_election;
  LogPosition committed_at_election;
  std::vector<MemberStatus> members;
};

// Ends a wait that is no longer wanted, when destroyed; its function will not be called after.
class PendingAnswer {
 public:
  virtual ~PendingAnswer() = default;
};

// Called once, from a thread of the replication: it must not block.
using AnswerFunction = std::function<void(Status)>;

// Safe for concurrent use; no function blocks. Whoever waits parks its request and is woken by the
// AnswerFunction.
class Replication {
 public:
  virtual ~Replication() = default;

  virtual const std::string& set_name() const = 0;
  // Cheap: a pointer is copied.
  virtual std::shared_ptr<const SetStatus> status() const = 0;
  // Rings when status() has another topology_counter (awaitable hello), and when writes go on
  // again.
  Bell changed;

  // Whether clients' writes wait for a step-down to decide itself.
  virtual bool writes_paused() const = 0;
  virtual ReplicaData& data() = 0;

  // Whether the set, as it is, could ever meet the concern: Ok, UnsatisfiableWriteConcern,
  // UnknownReplWriteConcern.
  virtual Status CheckWriteConcern(const request::WriteConcern& concern) const = 0;
  // Answers Ok when `slot` is replicated as the concern asks; WriteConcernFailed after its
  // wtimeout; PrimarySteppedDown when the slot's epoch has ended.
  virtual std::unique_ptr<PendingAnswer> AwaitConcern(LogPosition slot,
                                                      const request::WriteConcern& concern,
                                                      AnswerFunction answer) = 0;
  // Answers Ok when a slot handed out after this call is committed in this epoch: what was read
  // before the call is linearizable.
  virtual std::unique_ptr<PendingAnswer> AwaitLinearizable(AnswerFunction answer) = 0;
  // Answers Ok when everything up to `time` is applied here (with `committed`: also committed). A
  // time beyond the log's end makes the primary write a no-op.
  virtual std::unique_ptr<PendingAnswer> AwaitTime(uint64_t time, bool committed,
                                                   AnswerFunction answer) = 0;

  // Runs a command, with its $db, at the primary, as this member. Whether it was run is open when
  // the answer is HostUnreachable or NetworkTimeout; PrimarySteppedDown: none is known.
  virtual void AskPrimary(bson::Document command, std::chrono::milliseconds timeout,
                          std::function<void(Result<bson::Document>)> answer) = 0;

  // --- Commands of an administrator. The status is the command's.
  virtual void Initiate(bson::Document config, AnswerFunction answer) = 0;
  virtual void Reconfigure(bson::Document config, bool force, AnswerFunction answer) = 0;
  virtual void StepDown(std::chrono::milliseconds stay_down, std::chrono::milliseconds catch_up,
                        bool force, AnswerFunction answer) = 0;
  virtual void StepUp(AnswerFunction answer) = 0;
  virtual void Freeze(std::chrono::milliseconds duration, AnswerFunction answer) = 0;
  // Refuses reads, as state RECOVERING, while on.
  virtual Status SetMaintenance(bool on) = 0;

  // A message of another member (command replSetMessage, for members alone): its answer.
  virtual void Receive(bson::Document message,
                       std::function<void(Result<bson::Document>)> answer) = 0;
};

}  // namespace quire::engine
