// SPDX-License-Identifier: Apache-2.0
//
// Connections to shards with one request in flight on each: a server answers the requests of a
// connection one after the other, and one that waits there must not stop another.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "peer/pool.h"

namespace quire::router {

// Safe for concurrent use.
class Lanes {
 public:
  // `pool` outlives it. More than `most` requests to a host wait for each other.
  explicit Lanes(peer::Pool* pool, size_t most = 2000);
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  using Ticket = uint64_t;
  // As Pool::Send; `done` comes once, on a thread of the pool or one that stays or, at the end, of
  // whoever ends this.
  Ticket Send(const std::string& host, bson::Document command, peer::Deadline deadline,
              peer::Done done);
  // Whether the caller's thread may wait itself for replies that come soon: it is not one of the
  // last that are free for other requests, and few do. EndStay follows where it may.
  bool BeginStay();
  void EndStay();
  // As Send, for a caller that calls Stay with the ticket next, as Pool's.
  Ticket SendToStay(const std::string& host, bson::Document command, peer::Deadline deadline,
                    peer::Done done);
  void Stay(const std::vector<Ticket>& tickets, peer::Deadline until);
  // Nobody wants the reply any more: the host is to stop. `done` may still come.
  void Drop(Ticket ticket);
  // The host has long been silent: whatever waits for it ends as if it could not be reached.
  void GiveUp(const std::string& host);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
  std::atomic<int> staying_{0};
};

}  // namespace quire::router
