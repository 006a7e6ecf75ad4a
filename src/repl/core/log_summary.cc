// SPDX-License-Identifier: Apache-2.0
#include "repl/core/log_summary.h"

#include <algorithm>

namespace quire::repl {

size_t LinkedSlots(Time begin, std::span<const Slot> slots) {
  size_t count = 0;
  for (Time last = begin; count < slots.size() && slots[count].previous == last; ++count)
    last = slots[count].at.time;
  return count;
}

void LogSummary::Extend(Position at) {
  if (!ends.empty() && ends.back().epoch == at.epoch)
    ends.back().time = at.time;
  else
    ends.push_back(at);
}

void LogSummary::Cut(Position after) {
  while (!ends.empty() && ends.back().epoch > after.epoch) ends.pop_back();
  if (ends.empty()) return;
  if (after.time <= begin.time)
    ends.clear();
  else
    ends.back().time = std::min(ends.back().time, after.time);
}

void LogSummary::Trim(Position at) {
  if (at.time <= begin.time) return;
  begin = at;
  std::erase_if(ends, [&](const Position& end) { return end.time <= at.time; });
}

Position LogSummary::RunAfter(Position after) const {
  return *std::find_if(ends.begin(), ends.end(),
                       [&](const Position& end) { return end.time > after.time; });
}

Position CommonSlot(const LogSummary& one, const LogSummary& other) {
  // Where a log begins is the end of what was trimmed.
  auto end = [](const LogSummary& log, size_t count) {
    return count == 0 ? log.begin : log.ends[count - 1];
  };
  size_t a = one.ends.size(), b = other.ends.size();
  while (true) {
    Position x = end(one, a), y = end(other, b);
    if (x.epoch == y.epoch) return {x.epoch, std::min(x.time, y.time)};
    size_t& later = x.epoch > y.epoch ? a : b;
    if (later == 0) return {};
    --later;
  }
}

}  // namespace quire::repl
