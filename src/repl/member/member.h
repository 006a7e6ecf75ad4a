// SPDX-License-Identifier: Apache-2.0
//
// A member of a replica set: the state machine of repl/core with threads, sockets, a disk and the
// coordination store around it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coord/coord.h"
#include "engine/engine.h"
#include "engine/replica/replica_data.h"
#include "engine/replication.h"
#include "peer/pool.h"
#include "repl/core/settings.h"

namespace quire::repl {

struct MemberOptions {
  std::string set_name;
  std::string cluster = "quire";
  // "host:port" by which others reach this process; the first one when a set is initiated without
  // saying whom it has.
  std::vector<std::string> hosts;
  std::string dbpath;  // a copy of another member is made below it; empty: in memory, none can be
  Settings settings;
  // Ends the writes and transactions of clients with InterruptedDueToReplStateChange, and forgets
  // sessions: this member has stopped being the primary. May block.
  std::function<void()> stepped_down = [] {};
  // The status shows another configuration, or another term in it. May block.
  std::function<void(const bson::Document& config)> configured = [](const bson::Document&) {};
  // The process has to begin anew with its folder (FinishInitialSync comes first). Called once.
  std::function<void()> start_again = [] {};
  // For tests of clients: whether what the leader sends of its log is lost, whether what is
  // committed is not applied. Asked from several threads.
  std::function<bool()> loses_log = [] { return false; };
  std::function<bool()> applies_nothing = [] { return false; };
  // The folder can no longer be written or read: the process has to end.
  std::function<void(const Status& why)> failed = [](const Status&) {};
};

// See engine/replication.h.
class Member final : public engine::Replication {
 public:
  // `engine` outlives it; on_link of `peers` is the member's own. Errors: what keeps the folder or
  // a thread from being used, and InconsistentReplicaSetNames for the folder of another set.
  static Result<std::unique_ptr<Member>> Start(engine::Engine& engine,
                                               std::unique_ptr<engine::ReplicaData> data,
                                               std::unique_ptr<coord::Store> store,
                                               peer::PoolOptions peers, MemberOptions options);
  // Whoever waits is answered with InterruptedAtShutdown.
  ~Member() override;

  const std::string& set_name() const override;
  std::shared_ptr<const engine::SetStatus> status() const override;
  bool writes_paused() const override;
  engine::ReplicaData& data() override;
  Status CheckWriteConcern(const request::WriteConcern& concern) const override;
  std::unique_ptr<engine::PendingAnswer> AwaitConcern(engine::LogPosition slot,
                                                      const request::WriteConcern& concern,
                                                      engine::AnswerFunction answer) override;
  std::unique_ptr<engine::PendingAnswer> AwaitLinearizable(engine::AnswerFunction answer) override;
  std::unique_ptr<engine::PendingAnswer> AwaitTime(uint64_t time, bool committed,
                                                   engine::AnswerFunction answer) override;
  void AskPrimary(bson::Document command, std::chrono::milliseconds timeout,
                  std::function<void(Result<bson::Document>)> answer) override;
  void Initiate(bson::Document config, engine::AnswerFunction answer) override;
  void Reconfigure(bson::Document config, bool force, engine::AnswerFunction answer) override;
  void StepDown(std::chrono::milliseconds stay_down, std::chrono::milliseconds catch_up, bool force,
                engine::AnswerFunction answer) override;
  void StepUp(engine::AnswerFunction answer) override;
  void Freeze(std::chrono::milliseconds duration, engine::AnswerFunction answer) override;
  Status SetMaintenance(bool on) override;
  void Receive(bson::Document message, std::function<void(Result<bson::Document>)> answer) override;

 private:
  class Impl;
  explicit Member(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace quire::repl
