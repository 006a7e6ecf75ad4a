// SPDX-License-Identifier: Apache-2.0
//
// What the gates ask of a node: its engine, its accounts, its settings.
#pragma once

#include <cstdint>
#include <memory>

#include "command/command.h"
#include "command/node_running.h"
#include "engine/engine.h"
#include "run/backend.h"

namespace quire::command {

class NodeBackend : public run::Backend {
 public:
  // `commands` outlives it.
  explicit NodeBackend(Commands* commands) : commands_(*commands) {}

  std::unique_ptr<run::Running> Begin(const run::Arrival& arrival) override;
  bson::Timestamp Now() override;
  void AdvanceClock(bson::Timestamp time) override;
  bson::Timestamp Visible() override;
  run::SessionTable& sessions() override;
  bool access_control() const override { return commands_.info().access_control; }
  Status AuditBegins(const request::Call& call) override;
  Status Parse(run::Running& running) override;
  Status Authorise(run::Running& running) override;
  Status AllowHere(run::Running& running) override;
  Status AllowWrite(run::Running& running) override;
  std::chrono::milliseconds default_read_time() const override;
  Status Prepare(run::Running& running) override;
  Status EnterTransaction(run::Running& running) override;
  Status Run(run::Running& running) override;
  Status ConfirmRead(run::Running& running) override;
  bool AbortTransaction(run::Running& running) override;
  void Written(run::Running& running) override;
  Status AwaitWriteConcern(run::Running& running) override;
  const auth::TimeSigner* time_signer() const override;
  bool MaySetClock(run::Running& running) override;
  bool MayBeRepeated(int code) const override;
  bool knows_writes() const override { return true; }
  Status ForClients(const Status& status) const override { return status; }
  std::chrono::seconds most_ahead() const override;
  bool dates_replies_at_end() const override;
  void AppendTopology(bson::Builder* reply) override;
  void AuditEnds(const request::Call& call, const Status& status) override;
  void KeepProfile(std::string_view database, const bson::Document& entry) override;
  run::Namespaces namespaces() override;

 protected:
  engine::Engine& engine() { return commands_.engine(); }

 private:
  engine::Replication* replication() const { return commands_.engine().replication; }

  Commands& commands_;
};

}  // namespace quire::command
