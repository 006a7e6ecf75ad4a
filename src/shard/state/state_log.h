// SPDX-License-Identifier: Apache-2.0
//
// The state of a shard in its own log: what Save has returned for is held by a majority of the set,
// and every later primary knows it.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/engine.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::shard {

// Safe for concurrent use. Blocks its thread.
class StateLog {
 public:
  // Both outlive it. Nothing is waited for any longer once `stopping` is set.
  StateLog(engine::Engine* engine, const std::atomic<bool>* stopping)
      : engine_(*engine), stopping_(*stopping) {}

  Result<std::vector<bson::Document>> ReadAll();
  // Inserts the document or replaces the one of the same _id. Errors: NotWritablePrimary,
  // PrimarySteppedDown (whether it stays is open).
  Status Save(bson::View document);
  // A no-op; gives its time.
  Result<bson::Timestamp> Note(bson::View note);
  // Everything written so far is held by a majority. The error is that of the epoch's end.
  Status AwaitMajority(uint64_t epoch);
  // Of the log; 0 without a set.
  uint64_t epoch() const;
  // Whether the node takes writes.
  bool writable() const;

 private:
  engine::Engine& engine_;
  const std::atomic<bool>& stopping_;
};

}  // namespace quire::shard
