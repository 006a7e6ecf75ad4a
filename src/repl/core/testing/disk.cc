// SPDX-License-Identifier: Apache-2.0
#include "repl/core/testing/disk.h"

#include <algorithm>

namespace quire::repl {
namespace {

size_t UpTo(const std::vector<LoggedSlot>& log, Time time) {
  size_t count = log.size();
  while (count > 0 && log[count - 1].at.time > time) --count;
  return count;
}

}  // namespace

void Disk::Redo(const Record& write, std::vector<LoggedSlot>* log) {
  size_t place = UpTo(*log, write.slot.at.time);
  if (write.cut)
    log->resize(place);
  else
    log->insert(log->begin() + static_cast<ptrdiff_t>(place), write.slot);
}

void Disk::Write(const LoggedSlot& slot) {
  pending_.push_back({false, slot});
  Redo(pending_.back(), &log_);
}

void Disk::CutAfter(Time after) {
  if (log_.empty() || log_.back().at.time <= after) return;
  LoggedSlot slot;
  slot.at.time = after;
  pending_.push_back({true, slot});
  Redo(pending_.back(), &log_);
}

void Disk::Sync(uint64_t writes) {
  if (writes <= synced_) return;
  size_t count = std::min<size_t>(writes - synced_, pending_.size());
  for (size_t i = 0; i < count; ++i) Redo(pending_[i], &durable_);
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(count));
  synced_ += count;
  if (!pending_.empty()) return;
  durable_applied_ = applied;
  durable_commit_ = commit;
}

void Disk::LosePower(size_t lost) {
  bool marks = lost > 0;
  Sync(written() - std::min(lost, pending_.size()));
  synced_ += pending_.size();
  pending_.clear();
  log_ = durable_;
  if (!marks) return;
  applied = durable_applied_;
  commit = durable_commit_;
}

void Disk::Rot(Time end) {
  Sync(written());
  while (!log_.empty() && log_.back().at.time >= end) log_.pop_back();
  durable_ = log_;
}

void Disk::Replace(std::vector<LoggedSlot> log) {
  Sync(written());
  log_ = std::move(log);
  durable_ = log_;
}

void Disk::CutHoles() {
  std::vector<Slot> slots;
  for (const LoggedSlot& slot : log_) slots.push_back({slot.at, slot.previous});
  size_t linked = LinkedSlots(0, slots);
  if (linked < log_.size()) CutAfter(linked == 0 ? 0 : log_[linked - 1].at.time);
}

size_t Disk::CountUpTo(Time time) const { return UpTo(log_, time); }

LogSummary Disk::Summary() const {
  LogSummary summary;
  for (const LoggedSlot& slot : log_) summary.Extend(slot.at);
  summary.Trim(begin);
  return summary;
}

}  // namespace quire::repl
