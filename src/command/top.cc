// SPDX-License-Identifier: Apache-2.0
#include "command/top.h"

#include "command/diagnostic.h"

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

void TopTable::Record(const request::Call& call, std::chrono::microseconds took) {
  const std::string& ns = call.summary.ns;
  if (ns.empty()) {
    return;
  }
  Kind lock_kind = (call.command.flags & request::kWrite) != 0 ? kWriteLock : kReadLock;
  std::lock_guard lock(mutex_);
  auto at = usages_.find(ns);
  if (at == usages_.end()) {
    if (usages_.size() >= kMaxNamespaces) {
      return;
    }
    at = usages_.emplace(ns, Usages{}).first;
  }
  for (Kind kind : {kTotal, lock_kind, KindOf(call.command.name)}) {
    at->second[kind].micros += took.count();
    at->second[kind].count += 1;
  }
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
