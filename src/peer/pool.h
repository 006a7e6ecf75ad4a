// SPDX-License-Identifier: Apache-2.0
//
// The client side of the wire protocol, for members of a set and for routers: requests to many
// hosts at once, without a thread each.
//
// Requests of one lane to one host share a connection, which sends them one behind the other
// without waiting for replies; a server answers them in that order. Whoever must not wait for the
// others takes another lane. A connection is made by the first request that needs it, and again by
// the first one after it was lost: a request is never sent twice. After an attempt that failed the
// next ones are put off by moments drawn at random, until one succeeds: others have lost the host
// at the same time, and would all come back together.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"
#include "tls/protocols.h"

namespace quire::peer {

struct TlsOptions {
  bool enabled = false;
  // PEM with our own certificate and its key; empty: none.
  std::string certificate_key_file;
  std::string key_password;
  // Authorities of the servers' certificates.
  std::string ca_file;
  bool system_ca = false;
  std::string crl_file;
  bool allow_invalid_certificates = false;
  bool allow_invalid_host_names = false;
  tls::Protocols protocols = {};  // never below TLS 1.2
};

// How each connection logs in before its first request.
struct Login {
  enum class Kind : unsigned char { kNone, kKey, kCertificate };
  Kind kind = Kind::kNone;
  std::string user = "__system";
  std::string database = "local";
  std::string key;  // the password of kKey
};

// What happened to a connection, besides what its requests were told.
enum class LinkEvent : unsigned char {
  kRefused,  // nobody listens at the host's port
  kClosed,   // the other side ended a connection that was open
};

struct PoolOptions {
  std::string application = "quire";  // as the servers' logs name us
  TlsOptions tls = {};
  Login login = {};
  size_t max_reply_bytes = 48'000'000;
  // For connecting, TLS and login together.
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);
  // The longest that a connection to a host that could not be connected to is put off; 0: none is.
  std::chrono::milliseconds spread = std::chrono::milliseconds(100);
  // Called on the pool's thread; may call Send.
  std::function<void(const std::string& host, LinkEvent event)> on_link = {};
};

using RequestId = uint64_t;
using Deadline = std::chrono::steady_clock::time_point;

// Called once, on the pool's thread or one in Stay: it must not block, and may call Send and
// Cancel. The reply may be an error of the command (request::StatusOf tells).
using Done = std::function<void(Result<bson::Document> reply)>;

// Safe for concurrent use.
class Pool {
 public:
  // Error: InvalidSSLConfiguration, BadValue, and what keeps a thread from being started.
  static Result<std::unique_ptr<Pool>> Start(PoolOptions options);
  // Requests without a reply end with ShutdownInProgress. Not on the pool's own thread.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // `host` is "name:port", "1.2.3.4:port", "[::1]:port"; `command` has its $db. Errors given to
  // `done`: HostUnreachable, HostNotFound, NetworkTimeout (at the deadline: whether the command was
  // run is open, as it is with HostUnreachable), AuthenticationFailed and others of the login,
  // ProtocolError, CallbackCanceled, ShutdownInProgress.
  RequestId Send(const std::string& host, const std::string& lane, const bson::Argument& command,
                 Deadline deadline, Done done);
  // The same for a caller that calls Stay with the request next: until then its reply may go
  // unseen.
  RequestId SendToStay(const std::string& host, const std::string& lane,
                       const bson::Argument& command, Deadline deadline, Done done);
  // Waits on the caller's thread until the requests have ended, at most until then: the caller
  // takes the replies itself, which saves two changes of threads. Ends early where a connection is
  // not open yet or others use it.
  void Stay(const std::vector<RequestId>& requests, Deadline until);
  // Ends the request with CallbackCanceled unless it has ended; its reply, should one come, is
  // dropped.
  void Cancel(RequestId id);
  // The same, and closes the connection, so that the other side stops what it does for the request;
  // others of the lane end with HostUnreachable.
  void Drop(RequestId id);

  // Whether the caller is the pool's own thread.
  bool OnOwnThread() const;

 private:
  class Impl;
  explicit Pool(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace quire::peer
