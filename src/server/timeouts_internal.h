// SPDX-License-Identifier: Apache-2.0
//
// How long a connection may take for what it has begun: a message, a reply, a login.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "request/network_limits.h"

namespace quire::server {

// Milliseconds of the steady clock.
int64_t NowMillis();

// Wait is called by the thread that holds the connection, the rest from any.
class Timeouts {
 public:
  Timeouts() : opened_(NowMillis()) {}

  // What the connection waits for.
  struct Pending {
    int64_t greeting_millis = 0;  // for a TLS handshake that is still to be done; 0: it is not
    bool stranger = false;
    bool login = false;   // has been begun
    bool reply = false;   // has not been sent completely
    uint64_t turns = 0;   // messages received and replies sent so far
    size_t received = 0;  // bytes of a message that is not complete
    size_t sent = 0;      // bytes of the reply
  };
  // Sets the deadline of what is pending.
  void Wait(const Pending& pending, const request::NetworkLimits& limits);
  // The connection waits for nothing that it is held to.
  void Rest() {
    if (deadline_.load(std::memory_order_relaxed) != 0) {
      deadline_.store(0);
    }
  }

  // When the connection is to be ended; 0: not.
  int64_t deadline() const { return deadline_.load(); }
  // What it did not do in time.
  std::string_view complaint() const { return complaint_.load(std::memory_order_relaxed); }

 private:
  // Something under way: it begins anew with another turn, or when enough of it has moved.
  struct Span {
    bool open = false;
    uint64_t turn = 0;
    size_t amount = 0;
    int64_t since = 0;

    void Move(bool now_open, uint64_t now_turn, size_t now_amount, size_t enough, int64_t now);
  };
  void Expect(int64_t since, int64_t millis, const char* complaint);

  const int64_t opened_;
  Span message_;
  Span reply_;
  Span login_;
  int64_t next_ = 0;  // the deadline being made
  const char* next_complaint_ = "";
  std::atomic<int64_t> deadline_{0};
  std::atomic<const char*> complaint_{""};
};

}  // namespace quire::server
