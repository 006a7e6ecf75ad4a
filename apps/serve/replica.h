// SPDX-License-Identifier: Apache-2.0
//
// The server as a member of a replica set (--coord).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "command/shard/shard_commands.h"
#include "engine/engine.h"
#include "quire/status.h"
#include "serve/settings.h"

namespace quire::apps {

class Replica {
 public:
  virtual ~Replica() = default;

  // Before the store is opened: puts a folder that was copied from another member in place.
  static Status PrepareFolder(const Settings& settings);

  // Joins the set; from here on the engine's log is the set's. To be called once the port is known
  // and before the first request; engine and commands outlive it. `start_again` asks the process to
  // end and to begin anew with the same arguments, `end` asks it to end.
  static Result<std::unique_ptr<Replica>> Start(const Settings& settings, engine::Engine* engine,
                                                command::ShardCommands* commands,
                                                std::function<void()> start_again,
                                                std::function<void()> end);

  // The process is about to end: lets another member lead, if there is one that can.
  virtual void HandOver() = 0;
};

}  // namespace quire::apps
