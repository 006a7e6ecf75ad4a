// SPDX-License-Identifier: Apache-2.0
//
// A command on its way in and its reply on the way out, whatever door it came through.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"

namespace quire::request {

// A document sequence of OP_MSG (section kind 1): an array argument sent beside the body.
struct Sequence {
  std::string_view name;
  std::vector<bson::View> documents;
};

// The door's end of a request that is parked (Outcome::parked).
class Waker {
 public:
  virtual ~Waker() = default;
  // From any thread, with locks held: short. May come for nothing, and after the request's end.
  virtual void Wake() = 0;
};

// One command, borrowed from the receive buffer and already validated.
struct Request {
  bson::View body;  // the command document; its first field names the command
  std::vector<Sequence> sequences;
  std::string_view database;     // from $db (or the OP_QUERY namespace)
  bool exhaust_allowed = false;  // the client accepts a stream of replies
  bool reply_expected = true;    // false: unacknowledged (moreToCome)
  // The uuid of the collection that a create makes (applyOps says which); missing: a new one.
  bson::Value new_uuid;
  // Of a door that can park requests, and lives as long as they do; null: what has to wait keeps
  // its thread.
  Waker* waker = nullptr;
};

// Something commands keep with a connection.
struct Attachment {
  virtual ~Attachment() = default;
};

// Who has logged in. `digest` stands for it in the keys of its sessions.
struct Identity {
  std::string user;
  std::string database;
  std::string digest;
  // An array of {_id: "db.role", role, db}, granted and inherited; null: none.
  std::shared_ptr<const bson::Document> roles = nullptr;
};

// One connection (or one embedded user) as commands see it. Owned by the door; used by one request
// at a time.
class Client {
 public:
  explicit Client(std::string remote = "", std::string local = "", std::string origin = "")
      : id_(next_id_.fetch_add(1)),
        remote_(std::move(remote)),
        local_(std::move(local)),
        origin_(std::move(origin)) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  int64_t id() const { return id_; }
  // "127.0.0.1:50000", "[::1]:...", a unix socket's path; empty when embedded.
  const std::string& remote() const { return remote_; }
  const std::string& local() const { return local_; }
  // Who sits behind it, for what is counted by address: the remote address without its port, of
  // IPv6 the network part; empty for unix sockets and when embedded.
  const std::string& origin() const { return origin_; }

  // What hello's "client" document said; set once.
  bson::Document metadata;
  bool has_metadata = false;
  // Compressors agreed in hello, for the connection to use ("snappy", "zlib", "zstd").
  std::vector<std::string> compressors;
  // What TLS told about the other side; set by the door before the first request.
  bool encrypted = false;
  std::string certificate_subject;  // of a verified certificate, as RFC 2253 writes it
  bool member_certificate = false;  // its O, OU and DC are those of the server's own
  // Who has logged in, and a login under way.
  std::shared_ptr<Attachment> login;
  std::shared_ptr<Attachment> login_under_way;
  // The same for those who only ask who it is; null: nobody.
  std::shared_ptr<const Identity> identity;

 private:
  static std::atomic<int64_t> next_id_;
  int64_t id_;
  std::string remote_;
  std::string local_;
  std::string origin_;
};

struct Outcome;

// A request that waits with all its state and without a thread: for its waker to be called, or for
// `until`. It owns what it needs of the request. Destroyed while it waits, it ends without a reply,
// as if its client had vanished.
class Parked {
 public:
  virtual ~Parked() = default;
  virtual std::chrono::steady_clock::time_point until() const = 0;
  // Goes on, on any thread. *reply becomes what Run would have left there, with what was in it
  // before Run; or the request is parked once more. REQUIRES: self.get() == this.
  virtual Outcome Resume(std::unique_ptr<Parked> self, std::string* reply) = 0;
  // Bytes of the request and the reply that are kept.
  virtual size_t held() const = 0;
};

// What the door does with a reply.
struct Outcome {
  // There is no reply yet (*reply is empty): the door resumes it when its waker is called, or in
  // time. Only for requests with a waker.
  std::unique_ptr<Parked> parked;
  // Send it this much later (that a login failed).
  std::chrono::milliseconds delay{0};
  // The reply is one of a stream (exhaust): after sending it, run `next` and send that reply too.
  bool more_to_come = false;
  bson::Document next;
  // The reply's ok is an int32. MongoDB's is for distinct on a view, and a double elsewhere.
  bool integer_ok = false;
  // Close the connection after the reply.
  bool close = false;
  // Close it instead of replying.
  bool hang_up = false;
};

// Whatever answers commands: the local engine or the router. Safe for concurrent use.
class Handler {
 public:
  virtual ~Handler() = default;
  // Runs the command and appends exactly one reply document to *reply. Never fails: an error is a
  // reply too.
  virtual Outcome Run(Client& client, const Request& request, std::string* reply) = 0;
  // The client is gone: running work of it may stop.
  virtual void Disconnected(Client& client) = 0;
  // The server is about to end: running work is to stop, and may still be answered.
  virtual void Stopping() {}
};

}  // namespace quire::request
