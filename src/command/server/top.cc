// SPDX-License-Identifier: Apache-2.0
#include "command/server/top.h"

#include <algorithm>

namespace quire::command {
namespace {

TopTable::Kind KindOf(std::string_view command) {
  if (command == "find") return TopTable::kQueries;
  if (command == "getMore") return TopTable::kGetMore;
  if (command == "insert") return TopTable::kInsert;
  if (command == "update") return TopTable::kUpdate;
  if (command == "delete") return TopTable::kRemove;
  return TopTable::kOther;
}

TopTable::Class ClassOf(const request::Call& call) {
  TopTable::Kind kind = KindOf(call.command.name);
  if (kind == TopTable::kInsert || kind == TopTable::kUpdate || kind == TopTable::kRemove) {
    return TopTable::kWrites;
  }
  bool reads = kind != TopTable::kOther || (call.command.flags & request::kRead) != 0;
  return reads ? TopTable::kReads : TopTable::kCommands;
}

constexpr size_t kFirstHalved = 11;  // 2^11: from here each power of two has two spans

size_t SpanOf(int64_t micros) {
  if (micros < 2) {
    return 0;
  }
  auto power = static_cast<size_t>(63 - __builtin_clzll(static_cast<uint64_t>(micros)));
  size_t span = power;
  if (power >= kFirstHalved) {
    span = kFirstHalved + 2 * (power - kFirstHalved) + ((micros >> (power - 1)) & 1);
  }
  return std::min(span, TopTable::kSpans - 1);
}

}  // namespace

void TopTable::ForgetDropped(const store::CatalogSnapshot& catalog) {
  MutexLock lock(mutex_);
  if (catalog.version != cleaned_at_) {
    cleaned_at_ = catalog.version;
    std::erase_if(usages_, [&](const auto& entry) { return catalog.Find(entry.first) == nullptr; });
  }
}

void TopTable::Record(const request::Call& call, std::chrono::microseconds took,
                      const store::Catalog& catalog) {
  const std::string& ns = call.summary.ns;
  if (ns.empty()) {
    return;
  }
  Kind lock_kind = (call.command.flags & request::kWrite) != 0 ? kWriteLock : kReadLock;
  MutexLock lock(mutex_);
  auto at = usages_.find(ns);
  if (at == usages_.end()) {
    if (usages_.size() >= kMaxNamespaces) {
      lock.unlock();
      ForgetDropped(*catalog.snapshot());
      lock.lock();
      if (usages_.size() >= kMaxNamespaces) {
        return;
      }
    }
    at = usages_.emplace(ns, Entry{}).first;
  }
  Latency& latency = at->second.latencies[ClassOf(call)];
  latency.all.micros += took.count();
  latency.all.count += 1;
  latency.spans[SpanOf(took.count())] += 1;
  for (Kind kind : {kTotal, lock_kind, KindOf(call.command.name)}) {
    at->second.usages[kind].micros += took.count();
    at->second.usages[kind].count += 1;
  }
}

int64_t TopTable::SpanStart(size_t n) {
  if (n <= kFirstHalved) {
    return n == 0 ? 0 : int64_t{1} << n;
  }
  size_t halves = n - kFirstHalved;
  int64_t power = int64_t{1} << (kFirstHalved + halves / 2);
  return halves % 2 == 0 ? power : power + power / 2;
}

TopTable::Latencies TopTable::LatenciesOf(std::string_view ns) {
  MutexLock lock(mutex_);
  auto at = usages_.find(ns);
  return at == usages_.end() ? Latencies{} : at->second.latencies;
}

}  // namespace quire::command
