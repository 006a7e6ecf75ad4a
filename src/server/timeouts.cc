// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <limits>

#include "server/timeouts_internal.h"

namespace quire::server {
namespace {

// Who moves less than this in the time given does not get on.
constexpr size_t kProgress = 1024;
constexpr size_t kNever = std::numeric_limits<size_t>::max();

}  // namespace

int64_t NowMillis() {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             steady_clock::now().time_since_epoch())
      .count();
}

void Timeouts::Span::Move(bool now_open, uint64_t now_turn, size_t now_amount, size_t enough,
                          int64_t now) {
  const bool same = open && now_open && turn == now_turn;
  open = now_open;
  if (!same || (enough != kNever && now_amount >= amount + enough)) {
    turn = now_turn;
    amount = now_amount;
    since = now;
  }
}

void Timeouts::Expect(int64_t since, int64_t millis, const char* complaint) {
  if (millis > 0 && (next_ == 0 || since + millis < next_)) {
    next_ = since + millis;
    next_complaint_ = complaint;
  }
}

void Timeouts::Wait(const Pending& pending, const request::NetworkLimits& limits) {
  const bool message = pending.received > 0;
  if (!pending.stranger && !message && !pending.reply && pending.greeting_millis == 0) {
    message_.open = reply_.open = login_.open = false;
    Rest();
    return;
  }
  const int64_t now = NowMillis();
  const bool stranger = pending.stranger;
  message_.Move(message, pending.turns, pending.received, stranger ? kNever : kProgress, now);
  reply_.Move(pending.reply, pending.turns, pending.sent, kProgress, now);
  login_.Move(stranger && pending.login, 0, 0, kNever, now);
  next_ = 0;
  Expect(opened_, pending.greeting_millis, "its TLS handshake took too long");
  if (message) {
    Expect(message_.since, stranger ? limits.stranger_millis : limits.message_stall_millis,
           "a message did not arrive in time");
  }
  if (pending.reply) {
    Expect(reply_.since, stranger ? limits.stranger_millis : limits.reply_stall_millis,
           "a reply was not read in time");
  }
  if (login_.open) {
    Expect(login_.since, limits.stranger_millis, "a login was not finished in time");
  }
  if (stranger && pending.turns == 0) {
    Expect(opened_, limits.stranger_millis, "no message came in time");
  } else if (stranger && next_ == 0) {
    Expect(now, limits.stranger_idle_millis, "idle without a login");
  }
  complaint_.store(next_complaint_, std::memory_order_relaxed);
  deadline_.store(next_);
}

}  // namespace quire::server
