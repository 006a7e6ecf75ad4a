// SPDX-License-Identifier: Apache-2.0
//
// Which changes run in this process: one per collection at a time, and none of a database's
// collections beside one of the database itself.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "shard/crew.h"

namespace quire::shard {

// Safe for concurrent use.
class Reservations {
 public:
  using Clock = std::chrono::steady_clock;
  class Reservation {
   public:
    ~Reservation() { owner_->Give(database_, collection_); }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

   private:
    friend class Reservations;
    Reservation(Reservations* owner, std::string database, std::string collection)
        : owner_(owner), database_(std::move(database)), collection_(std::move(collection)) {}
    Reservations* const owner_;
    const std::string database_;
    const std::string collection_;
  };

  // Waits for the others, at most until then: null if they are not done. `collection` is empty for
  // the whole database. Both are ids.
  std::unique_ptr<Reservation> Take(const std::string& database, const std::string& collection,
                                    Clock::time_point until = Clock::time_point::max()) {
    MutexLock lock(mutex_);
    auto is_free = [&]() QUIRE_REQUIRES(mutex_) {
      const int users = users_[database];
      return collection.empty() ? users == 0 : users >= 0 && users_[collection] == 0;
    };
    if (!is_free()) {
      const Crew::Away away;  // what they do may take long
      if (until == Clock::time_point::max()) {
        changed_.wait(lock.native(), is_free);
      } else if (!changed_.wait_until(lock.native(), until, is_free)) {
        return nullptr;
      }
    }
    if (collection.empty()) {
      users_[database] = -1;
    } else {
      ++users_[database];
      users_[collection] = -1;
    }
    return std::unique_ptr<Reservation>(new Reservation(this, database, collection));
  }

 private:
  void Give(const std::string& database, const std::string& collection) {
    MutexLock lock(mutex_);
    if (collection.empty()) {
      users_[database] = 0;
    } else {
      --users_[database];
      users_[collection] = 0;
    }
    changed_.notify_all();
  }

  Mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> users_ QUIRE_GUARDED_BY(mutex_);  // -1: alone
};

}  // namespace quire::shard
