// SPDX-License-Identifier: Apache-2.0
//
// One client connection: a state machine driven by whichever thread finds its socket ready. One
// thread at a time holds it (epoll's one-shot mode sees to that).
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "request/network_limits.h"
#include "request/request.h"
#include "server/held_memory_internal.h"
#include "server/input_internal.h"
#include "server/socket_internal.h"
#include "server/timeouts_internal.h"
#include "server/transport_internal.h"
#include "wire/message.h"

namespace quire::server {

// The buffers a thread lends to the connection it drives.
struct Scratch {
  std::unique_ptr<char[]> input{new char[Input::kScratchSize]};
  std::string inflated;
  std::string reply;

  // Gives back what an unusually large message took.
  void Trim();
};

class Connection;

// What all connections of a server share.
struct Shared {
  explicit Shared(size_t held_limit) : held(held_limit) {}

  request::Handler* handler = nullptr;
  const Tls* tls = nullptr;           // null: no TLS
  std::atomic<int> idle_threads{0};   // waiting for any connection
  std::atomic<int> staying{0};        // threads waiting for one connection's next request
  int stay_limit = 0;                 // most of them
  std::atomic<bool> stopping{false};  // no new requests are taken
  const request::NetworkLimits* limits = nullptr;
  HeldMemory held;
  std::function<void(Connection*)> woken;  // its request may go on; from any thread
};

class Connection final : public request::Waker {
 public:
  Connection(Accepted accepted, Shared* shared);
  ~Connection() override;

  // What the connection waits for next.
  enum class Wait { kReadable, kWritable, kDelay, kPark, kClose };
  // Moves on as far as it can. Never blocks for a slow client; but while the server has idle
  // threads it waits some milliseconds for the client's next request, which saves a trip through
  // epoll. `hangup`: epoll saw the peer go.
  Wait Drive(Scratch& scratch, bool hangup);

  int fd() const { return accepted_.fd.get(); }
  const std::string& origin() const { return accepted_.origin; }
  const Timeouts& timeouts() const { return timeouts_; }
  std::atomic<bool> watched{false};  // the Watchlist's
  // The Loop's, under its lock: when its timer fires; nothing while it has none.
  std::optional<std::chrono::steady_clock::time_point> due;
  const request::Client& client() const { return client_; }
  // After Wait::kDelay: how long.
  std::chrono::milliseconds delay() const { return delay_; }
  // After Wait::kPark, while nobody drives it: at most until then, and whether it was woken.
  std::chrono::steady_clock::time_point until() const { return parked_->request->until(); }
  bool woken() const { return woken_.load(std::memory_order_acquire); }
  // The request that is parked may go on. From any thread.
  void Wake() override;
  // True when a reply follows without a request: then a half-closed socket is a closed one.
  bool streaming() const { return stream_ != nullptr || parked_ != nullptr; }

  // Around epoll: what the thread that armed the connection did is seen by the one that drives it
  // next. (Of the kernel's own order the language knows nothing.)
  void HandOver() { handed_over_.store(true, std::memory_order_release); }
  void TakeOver() { handed_over_.exchange(false, std::memory_order_acquire); }

  // From any thread: true while a command runs whose client waits for the reply.
  bool awaited() const { return awaited_.load(std::memory_order_relaxed); }
  // From any thread: tells the handler that the client is gone; only the first call does.
  void TellDisconnected();

 private:
  // A request to run without being asked: the next of a stream of replies (exhaust).
  struct Stream {
    wire::Message frame;  // how to frame the reply; its views are not used
    bson::Document next;
    std::string database;
  };
  // A request that waits. The messages behind it wait, too.
  struct ParkedRequest {
    wire::Message frame;  // as above
    std::string database;
    std::unique_ptr<request::Parked> request;
  };

  Wait Move(Scratch& scratch, bool hangup);
  // Whether it has still to log in.
  bool stranger() const {
    return shared_->limits->logins.load(std::memory_order_relaxed) && client_.login == nullptr;
  }
  size_t MaxMessageSize() const;
  void SetDeadline(Wait wait);
  // Up to the first message (greeting.cc): plain or TLS, and its handshake. Nothing: go on.
  std::optional<Wait> Greet();
  void NotePeer();
  Wait Receive(Scratch& scratch);
  Input::Read Fill(bool stay, bool* full);
  std::optional<Wait> FinishOutput();
  std::optional<Wait> RunMessages(Scratch& scratch);
  std::optional<Wait> RunStream(Scratch& scratch);
  std::optional<Wait> ResumeParked(Scratch& scratch);
  std::optional<Wait> Answer(wire::Message& message, Scratch& scratch);
  // Lets the handler work: `run` calls it.
  template <typename F>
  request::Outcome Handle(bool reply_expected, F run);
  // Does with the reply in `scratch` what the outcome says.
  std::optional<Wait> Deliver(const wire::Message& message, request::Outcome outcome,
                              Scratch& scratch);

  // Constant after construction.
  Accepted accepted_;
  Shared* shared_;
  // Used by the thread that holds the connection.
  request::Client client_;
  Transport transport_;
  Input input_;
  std::string output_;  // the reply that did not fit the socket, or is delayed
  size_t sent_ = 0;
  uint64_t turns_ = 0;  // messages received and replies sent
  Timeouts timeouts_;
  Holder held_;
  bool close_after_output_ = false;
  std::chrono::milliseconds delay_{0};
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<ParkedRequest> parked_;
  // Used by any thread.
  std::atomic<bool> woken_{false};
  std::atomic<bool> handed_over_{false};
  std::atomic<bool> awaited_{false};
  std::atomic<bool> told_{false};
};

}  // namespace quire::server
