// SPDX-License-Identifier: Apache-2.0
//
// What happens to a member (inputs) and what it has done about it (actions).
#pragma once

#include <memory>
#include <variant>

#include "repl/core/messages.h"
#include "repl/core/view.h"
#include "repl/core/write_concern.h"

namespace quire::repl {

// What a member keeps in its folder beside the log.
struct Local {
  DataId data = 0;
  bool fresh = true;    // this data folder has never been in the in-sync set
  Leadership accepted;  // of the highest epoch
  Epoch fence = 0;      // epochs before it are refused, too (Survey)
  Stamp heard;          // of the newest keys heard of
  Time acked = 0;       // the log reached to here when this was last written; lowered before a cut
};

// --- Inputs

struct Tick {
  Millis now = 0;
};

// The first input of a process. The log was cut at its first broken link.
struct Started {
  Millis now = 0;
  Local local;
  LogSummary log;
  Time applied = 0;
  // A commit point known to the folder, written in one order with the log: a power failure that
  // brings back slots that were cut takes with it what was committed in their place.
  Time commit = 0;
};

// Leader: every slot up to here has been written.
struct Grown {
  Time visible = 0;
};

// Leader: a slot was handed out and could not be written, so nothing behind it can be committed; or
// the disk has no room.
struct LogBroken {};

// The SyncLog of that generation has ended.
struct Synced {
  uint64_t generation = 0;
  Time up_to = 0;
};

struct Applied {
  Time time = 0;
};

// The front of the log was removed; never beyond the commit point.
struct Trimmed {
  Position begin;
};

struct Received {
  MemberId from = kNoMember;
  Message message;
};

// The answer of a write transaction: what the keys are after it.
struct StoreAnswer {
  Ticket ticket = 0;
  bool done = false;
  View now;
};

// From a watch or a read: may be stale.
struct Hint {
  View view;
};

// The member's connection closed and its port refuses: its process has ended, as far as one can
// see.
struct PeerDown {
  MemberId member = kNoMember;
};

// Every commit in flight has ended, the log was cut at its first broken link (answers CloseLog).
struct LogClosed {
  LogSummary log;
};

// A copy of another member's folder has been opened, with a data id of its own (answers Resync).
struct Copied {
  DataId data = 0;
  LogSummary log;
  Time applied = 0;
  Time commit = 0;
};

// A write has its slot and waits for its concern; the epoch is the one its slot was handed out in.
struct Await {
  WaiterId id = 0;
  Position slot;
  WriteConcern concern;
};

// Nobody is interested in the answer of that wait any more; it may be on its way.
struct Abandon {
  WaiterId id = 0;
};

// A read was made and waits for a slot written after it.
struct Linearize {
  WaiterId id = 0;
};

// The no-op of WriteNoop has its slot.
struct NoopWritten {
  uint64_t token = 0;
  Position slot;
};

// Commands of an administrator; each gets one CommandDone.
struct StepDownCommand {
  CommandId id = 0;
  Millis stay_down = 60000;
  Millis catch_up = 10000;
  bool force = false;
};
struct StepUpCommand {
  CommandId id = 0;
};
struct FreezeCommand {
  CommandId id = 0;
  Millis duration = 0;  // 0: thaw
};
struct ReconfigCommand {
  CommandId id = 0;
  std::shared_ptr<const SetConfig> config;
};
// Makes this member leader although the in-sync set is gone or the store went back. Without
// `accept_loss` a majority of voters has to answer, and nothing committed is lost.
struct RecoverCommand {
  CommandId id = 0;
  bool accept_loss = false;
  std::shared_ptr<const SetConfig> config = nullptr;  // the new one; null: as it is
};

using Input =
    std::variant<Tick, Started, Grown, LogBroken, Synced, Applied, Trimmed, Received, StoreAnswer,
                 Hint, PeerDown, LogClosed, Copied, Await, Abandon, Linearize, NoopWritten,
                 StepDownCommand, StepUpCommand, FreezeCommand, ReconfigCommand, RecoverCommand>;

// --- Actions, carried out in order

// Durably, before the actions that follow.
struct Persist {
  Local local;
};

struct Send {
  MemberId to = kNoMember;
  Message message;
};

// Compare the versions, write the keys that are marked; answered by StoreAnswer or by nothing.
struct WriteKeys {
  Ticket ticket = 0;
  Versions expected;
  bool compare_leader = true;
  bool compare_nonces = true;
  View wanted;
  Nonce nonce;
  bool leader = false;
  bool isr = false;
  bool config = false;
};

// Answered by a Hint, or by nothing.
struct ReadKeys {};

// The slots that came with the Append message, behind the log's end.
struct AppendLog {
  Position previous;
  Position last;
};

// Makes everything written so far durable; answered by Synced.
struct SyncLog {
  uint64_t generation = 0;
  Time up_to = 0;
};

// Undoes what was applied behind the slot, and removes it, before the actions that follow.
struct CutLog {
  Position after;
};

// Answered by Applied, perhaps in parts. On a leader undo is kept for what lies beyond the commit
// point.
struct Apply {
  Time up_to = 0;
};

// Keep a snapshot of what is applied: it is committed, and what is applied next may not be.
struct KeepSnapshot {};

// Slots are handed out in this epoch from here on; to clients only when `writable`.
struct OpenLog {
  Epoch epoch = 0;
  bool writable = true;
};

// No slot is handed out any more; answered by LogClosed.
struct CloseLog {};

// Clients' writes wait, or go on.
struct PauseWrites {
  bool paused = true;
};

// Append a no-op; answered by NoopWritten.
struct WriteNoop {
  Epoch epoch = 0;
  uint64_t token = 0;
};

struct Committed {
  Time commit = 0;
};

// The folder is of no use any more: copy another member's. Answered by Copied.
struct Resync {
  MemberId from = kNoMember;
};

// The wait of a writer or a linearizable read is over; 0 or an error code.
struct Answer {
  WaiterId id = 0;
  int code = 0;
};

struct CommandDone {
  CommandId id = 0;
  int code = 0;
  MemberId hint = kNoMember;  // who should be asked instead
};

enum class MemberState { kStartup, kPrimary, kSecondary, kRecovering, kInitialSync, kRemoved };

// As `hello` shows it.
struct Become {
  MemberState state = MemberState::kStartup;
  Epoch epoch = 0;
};

using Action = std::variant<Persist, Send, WriteKeys, ReadKeys, AppendLog, SyncLog, CutLog, Apply,
                            KeepSnapshot, OpenLog, CloseLog, PauseWrites, WriteNoop, Committed,
                            Resync, Answer, CommandDone, Become>;

}  // namespace quire::repl
