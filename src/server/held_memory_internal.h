// SPDX-License-Identifier: Apache-2.0
//
// The memory that connections hold while they wait: messages that arrive slowly, replies that
// nobody reads. When it passes its bound, of the address that has held the most for the longest the
// connection that has done so gives way: a client that gets on is not closed for those that do not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>

#include "base/mutex.h"

namespace quire::server {

// A connection's part. Used by HeldMemory only, but for what is constant.
struct Holder {
  int fd = -1;         // constant
  std::string origin;  // constant
  size_t bytes = 0;
  int64_t since = 0;   // when it began to hold more than a little
  bool ended = false;  // it gave way
};

// Safe for concurrent use; each holder is noted by one thread at a time.
class HeldMemory {
 public:
  explicit HeldMemory(size_t limit) : limit_(limit) {}

  // The holder holds `bytes` now. False when it is the one to give way; others that have to are
  // shut down.
  bool Note(Holder& holder, size_t bytes);
  // The holder holds nothing any more.
  void Forget(Holder& holder) { (void)Note(holder, 0); }
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  // What is held without being noted by name.
  static constexpr size_t kLittle = size_t{16} << 10;

  void GiveWay() QUIRE_REQUIRES(mutex_);
  Holder* Slowest() const QUIRE_REQUIRES(mutex_);

  const size_t limit_;
  std::atomic<size_t> bytes_{0};
  Mutex mutex_;
  std::unordered_set<Holder*> holders_ QUIRE_GUARDED_BY(mutex_);  // of more than a little
};

}  // namespace quire::server
