// SPDX-License-Identifier: Apache-2.0
//
// What the gates ask of a router: a node's answers, except about data, which is elsewhere.
#pragma once

#include "command/node_backend.h"
#include "router/routed.h"

namespace quire::router {

class RouterBackend final : public command::NodeBackend {
 public:
  // Both outlive it.
  RouterBackend(command::Commands* commands, Core* core);

  bson::Timestamp Visible() override;
  Status Authorise(run::Running& running) override;
  Status AllowWrite(run::Running& running) override;
  Status Prepare(run::Running& running) override;
  Status EnterTransaction(run::Running& running) override;
  Status Run(run::Running& running) override;
  bool AbortTransaction(run::Running& running) override;
  void Written(run::Running& running) override;
  Status AwaitWriteConcern(run::Running& running) override;
  bool MayBeRepeated(int code) const override;
  bool knows_writes() const override { return false; }
  Status ForClients(const Status& status) const override;
  std::chrono::seconds most_ahead() const override;
  bool dates_replies_at_end() const override { return false; }
  void KeepProfile(std::string_view, const bson::Document&) override {}

 private:
  // What runs the request; null: a node's own function.
  Routine RoutineOf(const run::Running& running) const;

  Core& core_;
  std::vector<Routine> routines_;  // by row
};

}  // namespace quire::router
