// SPDX-License-Identifier: Apache-2.0
//
// What logins are kept to: guessing passwords slows down, users cannot be found out, and one user
// leaves connections to others.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "auth/scram.h"
#include "base/mutex.h"
#include "engine/engine.h"

namespace quire::command {

// Logins that failed, by the user and the address they came from. Nobody can slow down a user's
// logins from another address than his own. The memory is bounded and its places are chosen by a
// secret: a record may be lost to others, which costs its owner nothing. Safe for concurrent use.
class FailedLogins {
 public:
  explicit FailedLogins(std::string secret) : secret_(std::move(secret)) {}

  // How long the login that begins now has to wait for its challenge. Those of one user and address
  // wait for each other, up to `most`.
  std::chrono::milliseconds Begin(std::string_view origin, std::string_view user,
                                  std::chrono::milliseconds now, std::chrono::milliseconds most);
  // Whether one would have to.
  bool Slows(std::string_view origin, std::string_view user, std::chrono::milliseconds now);
  void Failed(std::string_view origin, std::string_view user, std::chrono::milliseconds now);
  void Succeeded(std::string_view origin, std::string_view user);

  // Failures of a user from an address that cost nothing: people mistype.
  static constexpr int kFree = 5;
  // The same of all users from an address, which others may share.
  static constexpr int kFreeOfOrigin = 200;
  // After which failures are forgotten.
  static constexpr std::chrono::minutes kForget{10};

 private:
  struct Record {
    uint64_t tag = 0;
    int32_t failures = 0;
    std::chrono::milliseconds last{0};
    std::chrono::milliseconds next{0};  // when the next login may go on
  };
  static constexpr size_t kBuckets = 4096;
  using Bucket = std::array<Record, 4>;

  Record* Find(std::string_view origin, std::string_view user, std::chrono::milliseconds now,
               bool make) QUIRE_REQUIRES(mutex_);

  const std::string secret_;
  Mutex mutex_;
  std::vector<Bucket> buckets_ QUIRE_GUARDED_BY(mutex_);  // made by the first failure
};

// The connections of each user. Safe for concurrent use.
class UserPlaces : public std::enable_shared_from_this<UserPlaces> {
 public:
  // A place that is kept as long as the object; null when the user has `most` already.
  std::shared_ptr<void> Take(const std::string& user, int64_t most);

 private:
  void Leave(const std::string& user);

  Mutex mutex_;
  std::map<std::string, int64_t> counts_ QUIRE_GUARDED_BY(mutex_);
};

class LoginGuard {
 public:
  // Reads the secret, or makes and stores one, so that a user who does not exist is answered the
  // same after a restart.
  LoginGuard(engine::Engine& engine, bool access_control);

  FailedLogins& failed() { return failed_; }
  // See auth::StandInCredential.
  auth::Credential StandIn(auth::Mechanism mechanism, std::string_view user) const {
    return auth::StandInCredential(mechanism, secret_, user);
  }
  // A place for one more connection of the user; null when there are too many.
  std::shared_ptr<void> TakePlace(const std::string& user);

  // The longest wait for a challenge after failed logins; 0: none.
  std::atomic<int64_t> most_delay_millis{10'000};
  // Most connections of one user; 0: four fifths of all.
  std::atomic<int64_t> connections_per_user{0};

 private:
  const std::string secret_;
  FailedLogins failed_;
  std::shared_ptr<UserPlaces> places_ = std::make_shared<UserPlaces>();
};

}  // namespace quire::command
