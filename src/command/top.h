// SPDX-License-Identifier: Apache-2.0
//
// Time spent per collection and kind of operation, as top shows it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "request/dispatch.h"

namespace quire::command {

// Safe for concurrent use.
class TopTable {
 public:
  enum Kind {
    kTotal,
    kReadLock,
    kWriteLock,
    kQueries,
    kGetMore,
    kInsert,
    kUpdate,
    kRemove,
    kOther
  };
  static constexpr std::array<std::string_view, 9> kNames = {"total",   "readLock", "writeLock",
                                                             "queries", "getmore",  "insert",
                                                             "update",  "remove",   "commands"};
  struct Usage {
    int64_t micros = 0;
    int64_t count = 0;
  };
  using Usages = std::array<Usage, kNames.size()>;

  // Adds a finished command to its namespace (call.summary.ns).
  void Record(const request::Call& call, std::chrono::microseconds took);

  // Calls `visit(ns, usages)` in order of namespaces; forgets those for which it gives false.
  template <typename F>
  void ForEach(F visit) {
    std::lock_guard lock(mutex_);
    for (auto at = usages_.begin(); at != usages_.end();) {
      at = visit(at->first, at->second) ? std::next(at) : usages_.erase(at);
    }
  }

 private:
  static constexpr size_t kMaxNamespaces = 10'000;

  std::mutex mutex_;
  std::map<std::string, Usages, std::less<>> usages_;  // protected by mutex_
};

}  // namespace quire::command
