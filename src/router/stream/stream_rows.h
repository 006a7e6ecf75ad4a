// SPDX-License-Identifier: Apache-2.0
//
// The change streams of all shards as one source of rows. Shards are asked while somebody waits for
// events; those that keep others' events back are told to go on to their time.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "quire/bson.h"
#include "router/core.h"
#include "router/cursor/remote_rows.h"
#include "run/cursor.h"

namespace quire::router {

struct StreamOptions {
  std::string database;
  std::string collection;  // as getMore names it
  // lsid...: what every getMore carries.
  bson::Document session;
  // Where it begins.
  bson::Document start;
};

// Ends the cursors on the shards when it is destroyed.
class StreamRows final : public run::RowSource {
 public:
  // `core` outlives it.
  StreamRows(Core* core, StreamOptions options, std::vector<OpenedCursor> cursors);
  ~StreamRows() override;

  Result<bool> Next(OpContext& op, exec::Row* row) override;
  Status Refresh(OpContext&) override { return Status::Ok(); }
  Bell* News() override;
  bool HasNews() const override;
  bool Pending() const override;
  void Rest() override { first_ = false; }
  Status Check() const override { return Status::Ok(); }
  std::string PlanSummary() const override { return ""; }
  exec::Counters Totals() const override { return {}; }
  bson::Document ResumeToken() const override;
  bool Ended() const override;
  void Returned(bson::View document) override;

 private:
  class State;
  std::shared_ptr<State> state_;
  // The first batch waits for events that are held back, but not for ever.
  bool first_ = true;
  const std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
  bool gave_ = false;          // Next gave an event
  bson::Document last_token_;  // of what went to the client
};

}  // namespace quire::router
