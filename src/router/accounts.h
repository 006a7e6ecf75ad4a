// SPDX-License-Identifier: Apache-2.0
//
// Users and roles of the cluster, which lie on one shard, as the router keeps them to log people in
// and to decide what they may do.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "router/flow/flow.h"

namespace quire::router {

class Core;

// Asks every few seconds whether they have changed. Also tells the cluster, now and then, that the
// router is there (config.mongos).
class Accounts {
 public:
  // `core` outlives it. What there is has been read when it returns, if anybody answers.
  static Result<std::unique_ptr<Accounts>> Start(Core* core);
  ~Accounts();

  // Whether the accounts have been read, or there is no shard that could have any.
  bool known() const { return known_; }
  // Whether the accounts have been read of late: nobody logs in by what may long be otherwise.
  bool fresh() const;
  std::atomic<int64_t> fresh_for_millis{30'000};
  // Ready when a reading that begins now has ended: for those who have just changed something.
  std::shared_ptr<Wait> ReadAgain();

 private:
  class Reading;
  explicit Accounts(Core* core) : core_(*core) {}
  void Run();
  // Whether all were read.
  bool Read();
  bool Mirror(const std::string& ns, const std::string& collection);
  void BeatHeart();
  void TouchCursors();

  Core& core_;
  std::atomic<bool> known_ = false;
  std::atomic<int64_t> read_at_millis_ = 0;  // steady clock
  Mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ QUIRE_GUARDED_BY(mutex_) = false;
  std::vector<std::shared_ptr<Reading>> wanted_ QUIRE_GUARDED_BY(mutex_);
  std::string digest_users_;  // of the thread
  std::string digest_roles_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_beat_;
  std::chrono::steady_clock::time_point last_touch_;
  std::thread thread_;
};

}  // namespace quire::router
