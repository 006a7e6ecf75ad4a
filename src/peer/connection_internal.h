// SPDX-License-Identifier: Apache-2.0
//
// One connection of a pool: made, greeted, and then a pipe of requests and replies. Used while its
// pool's state is locked.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "peer/greeting_internal.h"
#include "peer/pool.h"
#include "peer/resolver_internal.h"
#include "peer/tls_internal.h"

namespace quire::peer {

// What a connection asks of its pool.
class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;
  // The command of a request; null when it has ended meanwhile.
  virtual const bson::Document* CommandOf(RequestId id) = 0;
  virtual void Sent(RequestId id) = 0;
  virtual void Replied(RequestId id, bson::Document reply) = 0;
  // The connection with that id is closed.
  virtual void Ended(uint64_t connection) = 0;
};

// What all connections of a pool share.
struct Shared {
  const PoolOptions& options;
  SSL_CTX* tls;
  auth::SaltedPasswords* passwords;
  int epoll;
};

class Connection {
 public:
  enum class State : unsigned char {
    kResolving,
    kConnecting,
    kSecuring,
    kGreeting,
    kOpen,
    kClosed
  };

  Connection(uint64_t id, std::string host, const Shared& shared, ConnectionOwner* owner);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  uint64_t id() const { return id_; }
  const std::string& host() const { return host_; }
  State state() const { return state_; }
  // By when it has to be open.
  Deadline setup_until() const { return setup_until_; }
  std::chrono::steady_clock::time_point last_received() const { return last_received_; }

  // Goes on with what the resolver found.
  void Connect(Result<std::vector<Address>> addresses, const std::string& name);
  // Sends the request when the connection is open.
  void Add(RequestId id);
  void OnEvents(uint32_t events);
  // Quiet, its replies ring nobody: somebody waits for them at fd(). Only an open connection with
  // nothing in flight becomes so.
  void SetQuiet(bool quiet);
  bool quiet() const { return quiet_; }
  int fd() const { return fd_; }
  void Close(Status why);

  // After kClosed: why, whether it had been open, whether nobody listened, whether it had been open
  // and the other side ended it, and the requests that have no reply.
  const Status& problem() const { return problem_; }
  bool opened() const { return opened_; }
  bool refused() const { return refused_; }
  bool ended_by_other() const { return ended_by_other_; }
  std::vector<RequestId> Unanswered() const;

 private:
  void TryNext();
  void OnConnected();
  void Secure();
  void BeginGreeting();
  void Flush();
  void Receive();
  bool TakeReplies();
  void TakeGreeting(const bson::Document& reply);
  void Write();
  void Queue(bson::View command);
  void Watch(bool writable);
  void Register();
  void Fail(int code, const std::string& text);

  const uint64_t id_;
  const std::string host_;
  const Shared& shared_;
  ConnectionOwner* const owner_;
  State state_ = State::kResolving;
  Deadline setup_until_;
  std::chrono::steady_clock::time_point last_received_;
  std::string name_;  // of the host, without its port
  std::vector<Address> addresses_;
  size_t next_address_ = 0;
  int fd_ = -1;
  bool watches_writable_ = false;
  bool registered_ = false;
  bool quiet_ = false;
  std::unique_ptr<Stream> stream_;
  Greeting greeting_;
  std::string in_;
  size_t in_at_ = 0;
  std::deque<std::string> out_;
  size_t out_at_ = 0;  // in the first
  int32_t last_wire_id_ = 0;
  std::deque<RequestId> waiting_;
  std::unordered_map<int32_t, RequestId> in_flight_;
  Status problem_;
  bool opened_ = false;
  bool refused_ = false;
  bool ended_by_other_ = false;
};

}  // namespace quire::peer
