// SPDX-License-Identifier: Apache-2.0
#include "command/diagnostic.h"
#include "run/top.h"

namespace quire::command {
namespace {

Status RunTop(Invocation& i) {
  auto snapshot = i.engine.catalog().snapshot();
  i.reply().BeginDocument("totals").Append("note", "all times in microseconds");
  i.commands.top().ForEach([&](const std::string& ns, const run::TopTable::Usages& usages) {
    if (snapshot->Find(ns) == nullptr) {
      return false;
    }
    i.reply().BeginDocument(ns);
    for (size_t kind = 0; kind < usages.size(); ++kind) {
      i.reply()
          .BeginDocument(run::TopTable::kNames[kind])
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

std::span<const Row> TopRows() {
  static constexpr Row kRows[] = {
      {{"top", "", request::kAdminOnly, "time spent per collection"},
       RunTop,
       OnCluster(Action::top)},
  };
  return kRows;
}

}  // namespace quire::command
