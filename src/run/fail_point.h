// SPDX-License-Identifier: Apache-2.0
//
// Commands that fail on request (configureFailPoint), for the tests of clients: only in a server
// that was started with the parameter enableTestCommands.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/bell.h"
#include "base/mutex.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "request/call.h"

namespace quire::run {

// What becomes of one call, in this order.
struct Failure {
  std::chrono::milliseconds block{0};    // it waits first
  bool hang_up = false;                  // the connection is closed, nothing is run
  int code = 0;                          // nothing is run, and this is the error
  bool rewritten = false;                // the error is told as one of the node that runs commands
  bson::OwnedValue labels;               // errorLabels in the place of the server's own, when given
  bson::OwnedValue write_concern_error;  // it is run, and its reply says so
};

// Safe for concurrent use.
class FailPoints {
 public:
  bool enabled() const { return enabled_.load(std::memory_order_relaxed); }
  void Enable(bool on) { enabled_ = on; }
  // Version 2 of the stable API, which has commands for tests alone, may be asked for.
  bool accepts_version_2() const { return accepts_version_2_.load(std::memory_order_relaxed); }
  void AcceptVersion2(bool on) { accepts_version_2_ = on; }

  // Takes a configureFailPoint command; how often the point has been met so far. Errors: those of
  // MongoDB for a mode or data that make no sense, FailPointSetFailed for an unknown name.
  Result<int64_t> Configure(bson::View command);

  // Whether some point is not off; without, nothing below is met.
  bool armed() const { return armed_.load(std::memory_order_relaxed); }

  // What a point that is on has in mind for a call that is about to run.
  std::optional<Failure> Meet(const request::Call& call);
  // A getMore has its cursor: the error it ends with.
  Status MeetCheckout(request::Call& call);
  // When the operation has a limit of time: whether that is over (MaxTimeMSExpired), or never.
  Status MeetTimeLimit(OpContext& op);
  // A retryable write is about to commit documents: the error that it does not commit with. The
  // connection may be closed either way.
  Status MeetCommit(request::Call& call);
  // Points where something waits until they are off: the reply of a write that is complete, a step
  // of a change of a sharded collection.
  static constexpr std::string_view kHoldReply = "hangBeforeWaitingForWriteConcern";
  static constexpr std::string_view kHoldChange = "hangAtStepOfShardedChange";
  // While these are on, a member of a replica set loses what its primary sends of the log, or
  // applies nothing of what is committed.
  static constexpr std::string_view kLoseLog = "stopReplProducer";
  static constexpr std::string_view kApplyNothing = "rsSyncApplyStop";
  // While it is on, a shard takes the changes of others over as soon as it sees that they are gone.
  static constexpr std::string_view kTakeOverSoon = "takeOverShardedChangesSoon";
  // The point is reached. True: to wait there as long as it Holds.
  bool MeetHold(std::string_view point);
  bool Holds(std::string_view point);
  // Rings when a point is set.
  Bell& changed() { return changed_; }

 private:
  enum class Mode { kOff, kAlways, kTimes, kSkip, kRandom };
  struct Point {
    Mode mode = Mode::kOff;
    int64_t left = 0;  // of kTimes those to come, of kSkip those still passed by
    double probability = 1;
    int64_t met = 0;
    bson::Document data;
  };
  static Status ReadMode(const bson::Value& mode, Point* point);
  static bool Fires(Point* point);
  // With a `call`: only when the point's data is about it.
  std::optional<Failure> MeetPoint(std::string_view name, const request::Call* call = nullptr);

  std::atomic<bool> enabled_{false};
  std::atomic<bool> accepts_version_2_{false};
  std::atomic<bool> armed_{false};
  Mutex mutex_;
  std::map<std::string, Point, std::less<>> points_ QUIRE_GUARDED_BY(mutex_);
  Bell changed_;
};

// Ends the call when the failure says so: closes the connection, gives the error.
Status End(const Failure& failure, request::Call& call);

}  // namespace quire::run
