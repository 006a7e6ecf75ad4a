// SPDX-License-Identifier: Apache-2.0
//
// Logical sessions as far as they need no storage: who has one, who uses it, when it ends.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bell.h"
#include "base/mutex.h"
#include "quire/status.h"
#include "request/generic.h"
#include "run/owner_counts.h"

namespace quire::run {

// One session. What a request with a txnNumber does in it needs a Checkout.
class Session {
 public:
  explicit Session(std::string key) : lsid(std::move(key)) {}
  virtual ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::string lsid;  // its key: see request::SessionKey
  std::string_view owner() const { return std::string_view(lsid).substr(request::kSessionIdSize); }
  std::atomic<int64_t> last_use_wall_millis{0};
  std::atomic<int64_t> last_use_millis{0};  // steady clock

  // Ends a transaction under way as if the client had aborted it. REQUIRES: checked out.
  virtual void AbortQuietly() = 0;
  // Whether a transaction under way is past its lifetime. REQUIRES: checked out.
  virtual bool expired() const = 0;

  bool in_use() const { return in_use_.load(); }
  // Rings when it is given back.
  Bell& free() { return free_; }

 private:
  friend class Checkout;
  friend class SessionTable;
  OwnerTicket ticket_;  // of its owner; null without one
  std::atomic<bool> in_use_{false};
  Bell free_;
};

// The exclusive use of a session, which outlives it.
class Checkout {
 public:
  Checkout() = default;
  // Empty when the session is in use.
  static Checkout Try(Session* session);
  // Waits on this thread: for those who have no request to park.
  static Checkout Wait(Session* session);
  Checkout(Checkout&& other) noexcept : session_(std::exchange(other.session_, nullptr)) {}
  Checkout& operator=(Checkout&& other) noexcept {
    std::swap(session_, other.session_);
    other.GiveBack();
    return *this;
  }
  ~Checkout() { GiveBack(); }

  explicit operator bool() const { return session_ != nullptr; }
  void GiveBack();

 private:
  explicit Checkout(Session* session) : session_(session) {}

  Session* session_ = nullptr;
};

// All sessions. Safe for concurrent use.
class SessionTable {
 public:
  virtual ~SessionTable() = default;

  // The session of that key, made when new; its last use is now. TooManyLogicalSessions when there
  // are most() others, or most_per_user of its owner.
  Result<std::shared_ptr<Session>> Get(std::string_view lsid);
  // Null when it is not known.
  std::shared_ptr<Session> Find(std::string_view lsid);
  // Ends a session: its transaction is aborted.
  void End(std::string_view lsid);
  // Aborts transactions past their lifetime and forgets sessions unused for longer than `timeout`.
  void Expire(std::chrono::minutes timeout);
  void AbortAll();
  std::vector<std::shared_ptr<Session>> All();
  size_t size();

  // Clients make up session ids, so their number is bounded.
  int64_t most() const { return most_; }
  void SetMost(int64_t sessions) { most_ = sessions; }
  std::atomic<int64_t> most_per_user{100'000};

 protected:
  virtual std::shared_ptr<Session> Make(std::string lsid) = 0;

 private:
  std::atomic<int64_t> most_{1'000'000};
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Session>, std::less<>> sessions_ QUIRE_GUARDED_BY(mutex_);
  OwnerCounts owners_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::run
