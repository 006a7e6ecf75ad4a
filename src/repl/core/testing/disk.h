// SPDX-License-Identifier: Apache-2.0
//
// The disk of a simulated member: a log whose writes are durable only after a sync, in the order
// they were made. A power failure takes any number of the last ones with it.
#pragma once

#include <cstddef>
#include <vector>

#include "repl/core/events.h"

namespace quire::repl {

// A slot with what a real one holds beside its place: a hash of everything before it. Two logs that
// hold the same hash at one place are equal up to there.
struct LoggedSlot {
  Position at;
  Time previous = 0;
  uint64_t chain = 0;
  uint64_t previous_chain = 0;
};

class Disk {
 public:
  const std::vector<LoggedSlot>& log() const { return log_; }
  const std::vector<LoggedSlot>& durable() const { return durable_; }

  void Write(const LoggedSlot& slot);  // anywhere in the order of times
  void CutAfter(Time after);
  uint64_t written() const { return synced_ + pending_.size(); }
  void Sync(uint64_t writes);  // the first so many writes ever made

  // Keeps `lost` writes fewer than were made.
  void LosePower(size_t lost);
  size_t unsynced() const { return pending_.size(); }

  // A damaged record: the log ends before `end`, although it was synced.
  void Rot(Time end);
  void Replace(std::vector<LoggedSlot> log);  // durably

  // The slots behind a hole, if any, go.
  void CutHoles();
  // How many slots have a time <= `time`.
  size_t CountUpTo(Time time) const;
  LogSummary Summary() const;

  Local local;
  // Marks within the log's order of writes.
  Time applied = 0;
  Time commit = 0;
  Position begin;        // what came before was trimmed
  bool copying = false;  // the marker beside the folder

 private:
  struct Record {
    bool cut = false;
    LoggedSlot slot;  // cut: everything behind its time
  };
  static void Redo(const Record& write, std::vector<LoggedSlot>* log);

  std::vector<LoggedSlot> log_;
  std::vector<LoggedSlot> durable_;
  std::vector<Record> pending_;
  uint64_t synced_ = 0;
  Time durable_applied_ = 0;
  Time durable_commit_ = 0;
};

}  // namespace quire::repl
