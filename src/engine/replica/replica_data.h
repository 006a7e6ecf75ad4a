// SPDX-License-Identifier: Apache-2.0
//
// What a member of a replica set does with its data: the seam between the protocol (repl) and the
// storage of a node. The log is the change log itself; a follower's log may reach beyond what has
// been applied.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::engine {

// A slot of the log: the epoch of the leader that handed it out, and its (last) cluster time.
struct LogPosition {
  uint64_t epoch = 0;
  uint64_t time = 0;

  auto operator<=>(const LogPosition&) const = default;
};

// A slot as it lies in the log of every member, byte for byte.
struct LogSlot {
  struct Group {
    std::string key;    // what follows the log's prefix: time and index
    std::string value;  // store/log/change_buffer.h
  };
  LogPosition at;
  uint64_t previous = 0;  // time of the slot that was handed out before it
  std::vector<Group> groups;

  size_t bytes() const {
    size_t sum = 0;
    for (const Group& group : groups) {
      sum += group.key.size() + group.value.size();
    }
    return sum;
  }
};

// The log by the ends of its epochs.
struct LogEnds {
  LogPosition begin;              // the last slot that was trimmed
  std::vector<LogPosition> ends;  // the last slot of each epoch, oldest first
  uint64_t undo_begin = 0;        // what was applied can be undone back to here
};

struct ReplicaStart {
  bson::Document local;  // what SaveLocal last wrote; empty: a folder that was never in a set
  LogEnds log;
  uint64_t applied = 0;
  uint64_t commit = 0;
};

// Safe for concurrent use where nothing else is said. Append, Cut, Apply, Open and Close of the log
// are called by one thread at a time.
class ReplicaData {
 public:
  virtual ~ReplicaData() = default;

  // Once, before anything else: undoes and cuts whatever lies behind the first broken link of the
  // log. From here on the log is closed: commits of logged changes get NotWritablePrimary.
  virtual Result<ReplicaStart> Start() = 0;
  // Durable when it returns.
  virtual Status SaveLocal(bson::View local) = 0;

  // --- Leader
  // Commits get slots of this epoch from here on, and keep what undoes them until it is committed.
  virtual void OpenLog(uint64_t epoch) = 0;
  // No slot is handed out any more. Waits for the commits in flight, then cuts as Start does.
  virtual Result<LogEnds> CloseLog() = 0;
  // A slot of its own with {o: note}.
  virtual Result<LogPosition> WriteNoop(bson::View note) = 0;
  // The last slot that was handed out. With an epoch noted before a write and equal after it, every
  // slot of that write is at or before this one.
  virtual LogPosition LastSlot() const = 0;
  // When the slot at `time`, or the last one before it, was written, by the clock of the primary
  // that wrote it: milliseconds. Of what is no longer in the log the seconds of the time itself,
  // which run ahead where clocks were once.
  virtual int64_t WallOf(uint64_t time) const = 0;
  // The time up to which every slot has been written; `grown` is called whenever it has moved, from
  // threads that commit: it must be quick.
  virtual uint64_t Visible() const = 0;
  virtual void OnGrown(std::function<void()> grown) = 0;
  // `broken` is called, as `grown` is, when a slot was handed out and could not be written: nothing
  // behind it can be committed, so the leader has to resign. Both are set before OpenLog.
  virtual void OnBroken(std::function<void(Status)> broken) = 0;

  // --- Either
  // The slots behind `after` up to `last`, at least one if there is any, else at most about
  // `most_bytes` of them. Error: CappedPositionLost when the log no longer reaches back to `after`.
  virtual Result<std::vector<LogSlot>> ReadSlots(LogPosition after, uint64_t last,
                                                 size_t most_bytes) = 0;
  // Everything written so far is durable when it returns; holds up no writer.
  virtual Status SyncLog() = 0;
  // The commit point has moved: change streams and majority reads see so much, the log may be
  // trimmed up to it. Quick.
  virtual void SetCommit(uint64_t commit) = 0;
  // Writes the commit point to the folder, in one order with the log, and drops undo and tables
  // that only mattered before it. To be called now and then; may wait for the disk.
  virtual void Tidy() = 0;
  virtual uint64_t Applied() const = 0;
  // Keeps a snapshot of what is applied, for majority reads while more is applied than committed;
  // dropped when the commit point has reached what is applied. Readers ask
  // Engine::snapshots().Committed().
  virtual Status KeepCommittedSnapshot() = 0;

  // --- Follower
  // The first slot's `previous` is the log's end.
  virtual Status Append(std::span<const LogSlot> slots) = 0;
  // Applies what lies between Applied() and `up_to`, as far as one batch goes, in one storage
  // transaction with the mark of what is applied. Keeps undo for what lies beyond the commit point.
  // Returns the new Applied().
  virtual Result<uint64_t> Apply(uint64_t up_to) = 0;
  // Undoes what was applied behind `after`, group by group, and removes it from the log. Documents
  // that go or change are written to rollback files. UnrecoverableRollbackError (or any error) when
  // undo is missing: the folder has to be copied anew.
  virtual Status Cut(LogPosition after) = 0;

  // A consistent copy of the store's files in `folder` (new, same file system), which can be opened
  // as a data folder, and a slot of its log that all those before are in, too. A leader's copy may
  // hold later slots with gaps between them: Start cuts them.
  virtual Result<LogPosition> Checkpoint(const std::string& folder) = 0;
  // The log is not trimmed behind `time` while the pin lives.
  virtual std::shared_ptr<void> PinLog(uint64_t time) = 0;
};

class Engine;

// `engine` outlives it. `rollback_folder`: where the files of undone documents go.
std::unique_ptr<ReplicaData> MakeReplicaData(Engine* engine, std::string rollback_folder);

}  // namespace quire::engine
