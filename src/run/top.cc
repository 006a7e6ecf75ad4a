// SPDX-License-Identifier: Apache-2.0
#include "run/top.h"

#include <algorithm>

#include "run/backend.h"

namespace quire::run {
namespace {

TopTable::Kind KindOf(const request::Call& call) {
  using request::OpKind;
  switch (call.command.kind) {
    case OpKind::kQuery:
      return TopTable::kQueries;
    case OpKind::kGetMore:
      return TopTable::kGetMore;
    case OpKind::kInsert:
      return TopTable::kInsert;
    case OpKind::kUpdate:
      return TopTable::kUpdate;
    case OpKind::kRemove:
      return TopTable::kRemove;
    case OpKind::kCommand:
    case OpKind::kKillCursors:
      break;
  }
  return TopTable::kOther;
}

TopTable::Class ClassOf(const request::Call& call) {
  TopTable::Kind kind = KindOf(call);
  if (kind == TopTable::kInsert || kind == TopTable::kUpdate || kind == TopTable::kRemove) {
    return TopTable::kWrites;
  }
  bool reads = kind != TopTable::kOther || call.command.Is(request::kRead);
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

void TopTable::ForgetDropped(Backend& backend) {
  const Namespaces there = backend.namespaces();
  MutexLock lock(mutex_);
  if (there.version != cleaned_at_) {
    cleaned_at_ = there.version;
    std::erase_if(usages_, [&](const auto& entry) { return !there.has(entry.first); });
  }
}

void TopTable::Record(const request::Call& call, std::chrono::microseconds took, Backend& backend) {
  const std::string& ns = call.summary.ns;
  if (ns.empty()) {
    return;
  }
  Kind lock_kind = call.command.Is(request::kWrite) ? kWriteLock : kReadLock;
  MutexLock lock(mutex_);
  auto at = usages_.find(ns);
  if (at == usages_.end()) {
    if (usages_.size() >= kMaxNamespaces) {
      lock.unlock();
      ForgetDropped(backend);
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
  for (Kind kind : {kTotal, lock_kind, KindOf(call)}) {
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

void AppendLatencies(const TopTable::Latencies& latencies, bool histograms, bson::Builder* out) {
  auto append = [&](std::string_view name, const TopTable::Latency& latency) {
    out->BeginDocument(name);
    if (histograms) {
      out->BeginArray("histogram");
      for (size_t n = 0; n < latency.spans.size(); ++n) {
        if (latency.spans[n] > 0) {
          out->PushDocument()
              .Append("micros", TopTable::SpanStart(n))
              .Append("count", latency.spans[n])
              .End();
        }
      }
      out->End();
    }
    out->Append("latency", latency.all.micros).Append("ops", latency.all.count).End();
  };
  for (size_t n = 0; n < latencies.size(); ++n) {
    append(TopTable::kClassNames[n], latencies[n]);
  }
  append("transactions", TopTable::Latency());
}

}  // namespace quire::run
