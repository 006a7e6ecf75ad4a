// SPDX-License-Identifier: Apache-2.0
//
// Time spent per collection and kind of operation, as top shows it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "quire/bson.h"
#include "request/call.h"

namespace quire::run {

class Backend;

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

  // The same by what $collStats tells apart, with the number of commands per span of time.
  enum Class { kReads, kWrites, kCommands };
  static constexpr std::array<std::string_view, 3> kClassNames = {"reads", "writes", "commands"};
  static constexpr size_t kSpans = 51;
  struct Latency {
    Usage all;
    std::array<int64_t, kSpans> spans{};
  };
  using Latencies = std::array<Latency, kClassNames.size()>;
  // Where span `n` begins, in microseconds: powers of two, from 2048 on with one in between.
  static int64_t SpanStart(size_t n);

  // Adds a finished command to its namespace (call.summary.ns). When there are as many as it keeps,
  // those that `backend` no longer has make room.
  void Record(const request::Call& call, std::chrono::microseconds took, Backend& backend);

  // All zero for a namespace never used.
  Latencies LatenciesOf(std::string_view ns);

  // Calls `visit(ns, usages)` in order of namespaces; forgets those for which it gives false.
  template <typename F>
  void ForEach(F visit) {
    MutexLock lock(mutex_);
    for (auto at = usages_.begin(); at != usages_.end();) {
      at = visit(at->first, at->second.usages) ? std::next(at) : usages_.erase(at);
    }
  }

 private:
  static constexpr size_t kMaxNamespaces = 10'000;

  void ForgetDropped(Backend& backend);

  Mutex mutex_;
  uint64_t cleaned_at_ QUIRE_GUARDED_BY(mutex_) = UINT64_MAX;  // of the namespaces
  struct Entry {
    Usages usages;
    Latencies latencies;
  };
  std::map<std::string, Entry, std::less<>> usages_ QUIRE_GUARDED_BY(mutex_);
};

// Appends {reads, writes, commands, transactions} as $collStats tells of the time commands took.
void AppendLatencies(const TopTable::Latencies& latencies, bool histograms, bson::Builder* out);

}  // namespace quire::run
