// SPDX-License-Identifier: Apache-2.0
//
// The operations under way, running and parked, for currentOp and whoever ends them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <string_view>

#include "base/mutex.h"
#include "base/op_context.h"
#include "request/call.h"

namespace quire::run {

// An operation as currentOp shows it. Valid while Operations' lock is held.
struct RunningOp {
  int64_t id;
  const request::Call* call;
  OpContext* op;
  std::chrono::steady_clock::time_point started;
  request::Waker* waker = nullptr;  // of one that is parked
};

// Safe for concurrent use.
class Operations {
 public:
  // Registers for the life of the returned object.
  class Registration {
   public:
    Registration(Operations* all, const request::Call* call, OpContext* op);
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

    // From here on whoever kills the operation calls the waker (null: nobody is called), too.
    // `change` changes the call while nobody looks at it.
    template <typename F>
    void SetWaker(request::Waker* waker, F change) {
      MutexLock lock(all_->buckets_[bucket_].mutex);
      change();
      at_->waker = waker;
    }

   private:
    Operations* all_;
    size_t bucket_;
    std::list<RunningOp>::iterator at_;
  };

  // Kills the operation; false when there is none of that id.
  bool Kill(int64_t id, int code);
  // Kills every operation of a client (it vanished) or of a session.
  void KillClient(const request::Client& client, int code);
  void KillSession(std::string_view lsid, int code);
  void KillAll(int code);
  // Kills those of which `which` is true. It may look at the suspension of an operation with a
  // waker.
  void KillIf(bool (*which)(const RunningOp& op), int code);

  template <typename F>
  void ForEach(F visit) {
    for (Bucket& bucket : buckets_) {
      MutexLock lock(bucket.mutex);
      for (const RunningOp& op : bucket.ops) {
        visit(op);
      }
    }
  }

 private:
  friend class Registration;
  static constexpr size_t kBuckets = 16;
  struct Bucket {
    Mutex mutex;
    std::list<RunningOp> ops QUIRE_GUARDED_BY(mutex);
  };
  std::atomic<int64_t> next_id_{1};
  Bucket buckets_[kBuckets];
};

}  // namespace quire::run
