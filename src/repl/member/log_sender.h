// SPDX-License-Identifier: Apache-2.0
//
// Sends a leader's log to the others: reads it in pieces, keeps several messages on the way to each
// member, and never more than it may take.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>

#include "base/mutex.h"
#include "engine/replica/replica_data.h"
#include "quire/bson.h"
#include "repl/core/messages.h"
#include "repl/member/random_id.h"
#include "repl/member/worker.h"

namespace quire::repl {

// Safe for concurrent use.
class LogSender {
 public:
  // Sends a body to a member, in the order of the calls; `done` tells whether it was answered.
  using Send = std::function<void(MemberId to, const bson::Document& body,
                                  std::function<void(bool answered)> done)>;
  // Appends what every body begins with.
  using Begin = std::function<void(bson::Builder* body)>;

  // `data` outlives it. `lost` is called when the log does not reach back as far as a member needs.
  LogSender(engine::ReplicaData* data, Begin begin, Send send, std::function<void()> lost);
  ~LogSender() { worker_.Stop(); }

  Status Start() { return worker_.Start(); }
  // The member lacks these slots. Continues what it is being sent, or begins anew.
  void Append(MemberId to, const repl::Append& message);
  // No longer a leader: what is on its way is forgotten.
  void Reset();
  void set_commit(Time commit) { commit_.store(commit, std::memory_order_relaxed); }
  void Stop() { worker_.Stop(); }

  // Bytes of one message, and on the way to one member.
  static constexpr size_t kPieceBytes = size_t{4} << 20;
  static constexpr size_t kFrameBytes = size_t{8} << 20;

 private:
  struct Stream {
    repl::Append message;  // its last is the end of what was asked for
    Position next;         // sent up to here
    Position answered;     // and answered up to here
    int on_way = 0;
    size_t bytes_on_way = 0;
    uint64_t generation = 0;
    bool pumping = false;
  };

  // Slots as they are sent, read for one member and kept for the others, who mostly lack the same.
  struct Piece {
    Position after;
    Position last;
    std::string bytes;
  };

  void Pump(MemberId to);
  // Null: there are none, or they are not in the log any more.
  std::shared_ptr<const Piece> Read(const repl::Append& message);
  // The next piece; false when there is none, or enough is on the way.
  bool Next(MemberId to, repl::Append* message, uint64_t* generation);
  void SendPiece(MemberId to, const repl::Append& message, uint64_t generation,
                 const std::shared_ptr<const Piece>& slots);
  void Answered(MemberId to, uint64_t generation, Position last, size_t bytes, bool ok);
  void Fail(MemberId to, uint64_t generation);

  engine::ReplicaData* const data_;
  const Begin begin_;
  const Send send_;
  const std::function<void()> lost_;
  std::atomic<Time> commit_{0};
  Mutex mutex_;
  uint64_t last_generation_ QUIRE_GUARDED_BY(mutex_) = 0;
  std::map<MemberId, Stream> streams_ QUIRE_GUARDED_BY(mutex_);
  std::shared_ptr<const Piece> newest_ QUIRE_GUARDED_BY(mutex_);
  // Names the messages whose parts belong together; no two processes use the same numbers.
  int64_t last_piece_ QUIRE_GUARDED_BY(mutex_) = static_cast<int64_t>(RandomId() >> 1);
  Worker worker_;
};

}  // namespace quire::repl
