// SPDX-License-Identifier: Apache-2.0
#include "command/diagnostic.h"
#include "command/server/top.h"

namespace quire::command {
namespace {

Status RunTop(Invocation& i) {
  auto snapshot = i.engine.catalog().snapshot();
  i.reply().BeginDocument("totals").Append("note", "all times in microseconds");
  i.commands.top().ForEach([&](const std::string& ns, const TopTable::Usages& usages) {
    if (snapshot->Find(ns) == nullptr) {
      return false;
    }
    i.reply().BeginDocument(ns);
    for (size_t kind = 0; kind < usages.size(); ++kind) {
      i.reply()
          .BeginDocument(TopTable::kNames[kind])
          .Append("time", usages[kind].micros)
          .Append("count", usages[kind].count)
          .End();
    }
    i.reply().End();
    return true;
  });
  i.reply().End();
  return Status::Ok();
}

}  // namespace

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

std::span<const Row> TopRows() {
  static constexpr Row kRows[] = {
      {{"top", "", request::kAdminOnly, "time spent per collection"},
       RunTop,
       OnCluster(Action::top)},
  };
  return kRows;
}

}  // namespace quire::command
