// SPDX-License-Identifier: Apache-2.0
//
// Carries out what the state machine says. Nothing here waits for the disk, the store or another
// member, but where what follows depends on it: what must not be lost (Persist), and a log that
// changes hands (CutLog, OpenLog).
#include <algorithm>
#include <limits>
#include <utility>

#include "base/error_codes.h"
#include "base/log.h"
#include "quire/doc.h"
#include "repl/config/set_config.h"
#include "repl/member/member_internal.h"
#include "repl/message/codec.h"
#include "repl/message/fields.h"

namespace quire::repl {
namespace {

constexpr std::chrono::seconds kStoreTimeout{3};
// Requests to the store that wait for others; the state machine repeats what was left out.
constexpr int kMostStoreWrites = 2;
// So much of the leader's log is taken before what came earlier is written: the next message need
// not wait for a sync.
constexpr size_t kQueuedBytes = size_t{8} << 20;

bool OnlyAckedGrew(const Local& before, const Local& now) {
  return before.data == now.data && before.fresh == now.fresh && before.accepted == now.accepted &&
         before.fence == now.fence && before.heard == now.heard && before.acked <= now.acked;
}

}  // namespace

bson::Document Member::Impl::LocalDocument(const Local& local, bool ended) const {
  FieldWriter out;
  out.Text("set", options.set_name).Signed("id", identity_.id).Number("store", identity_.store);
  out.Bool("copied", identity_.copied);
  out.Signed("rollbackId", identity_.rollback_id).Bool("ended", ended);
  out.builder().Append("core", EncodeLocal(local)).BeginArray("keys");
  for (const coord::Entry& entry : entries_) {
    out.builder().Push(Doc("key", entry.key, "value", entry.value, "modified", entry.modified));
  }
  out.builder().End();
  return out.Finish();
}

void Member::Impl::Do(const Persist& persist) {
  const bool lazily = OnlyAckedGrew(local_, persist.local);
  local_ = persist.local;
  KeepLocal(lazily);
}

void Member::Impl::RaiseRollbackId() {
  constexpr int32_t kHighest = std::numeric_limits<int32_t>::max();
  identity_.rollback_id = identity_.rollback_id == kHighest ? 1 : identity_.rollback_id + 1;
}

void Member::Impl::KeepLocal(bool lazily) {
  const uint64_t version = ++local_version_;
  auto save = [this, version, document = LocalDocument(local_)] {
    MutexLock lock(local_mutex_);
    if (version <= local_saved_) {
      return;
    }
    local_saved_ = version;
    if (Status saved = data->SaveLocal(document); !saved.ok()) {
      Fail(saved);
    }
  };
  if (lazily) {
    disk_.Post(save);
  } else {
    save();
  }
}

void Member::Impl::Do(const Send& send) {
  if (const auto* append = std::get_if<Append>(&send.message)) {
    sender_->Append(send.to, *append);
  } else {
    SendMessage(send.to, send.message);
  }
}

void Member::Impl::Do(const WriteKeys& write) {
  if (writes_under_way_.fetch_add(1) >= kMostStoreWrites) {
    --writes_under_way_;
    return;
  }
  auto host = hosts_.find(self_);
  store_writes_.Post([this, ticket = write.ticket,
                      transaction =
                          EncodeWrite(names_, write, host == hosts_.end() ? "" : host->second)] {
    auto answer = store_->Transact(transaction, std::chrono::steady_clock::now() + kStoreTimeout);
    --writes_under_way_;
    if (!answer.ok()) {
      log::Debug(1, "REPL", "The coordination store did not answer",
                 {{"error", answer.status().ToString()}});
      return;
    }
    Post([this, ticket, answer = *std::move(answer)] {
      auto view = DecodeKeys(names_, answer.entries);
      if (!core_ || !view.ok()) {
        return;
      }
      if (!*view || !KnownStore(answer.position, (*view)->stamp.counter)) {
        // A leader goes on without the keys. A candidate can write them in this store no more.
        if (!*view) {
          NoteLostKeys(answer.position);
        }
        if (core_->campaigning()) {
          Step(StoreAnswer{ticket, false, View{}});
        }
        return;
      }
      if ((*view)->stamp.counter >= entries_counter_) {
        entries_ = answer.entries;
        entries_counter_ = (*view)->stamp.counter;
      }
      Step(StoreAnswer{ticket, answer.done, **view});
    });
  });
}

void Member::Impl::Do(const ReadKeys&) { ReadKeysSoon(); }

Status Member::Impl::OnceThereIsRoom(const std::function<Status()>& write) {
  constexpr std::chrono::milliseconds kPause{200};
  for (bool told = false;; told = true) {
    Status written = write();
    if (written.code() != kOutOfDiskSpace || stopping_) {
      return written;
    }
    if (!told) {
      log::Error("REPL", "The member waits for room on its disk", {{"error", written.message()}});
    }
    std::this_thread::sleep_for(kPause);
  }
}

void Member::Impl::Do(const AppendLog&) {
  Incoming incoming = *std::exchange(incoming_, std::nullopt);
  bool post = false;
  bool taken = false;
  {
    MutexLock lock(queued_mutex_);
    for (engine::LogSlot& slot : incoming.slots) {
      queued_.bytes += slot.bytes();
      queued_.slots.push_back(std::move(slot));
    }
    taken = queued_.bytes <= kQueuedBytes;
    if (!taken) {
      queued_.answers.push_back(std::move(incoming.answer));
    }
    post = !std::exchange(queued_.posted, true);
  }
  if (taken) {
    incoming.answer(Introduction());
  }
  if (post) {
    disk_.Post([this] { AppendQueued(); });
  }
}

// Everything that came while the disk was busy goes into the log in one step.
void Member::Impl::AppendQueued() {
  Queued all;
  {
    MutexLock lock(queued_mutex_);
    std::swap(all, queued_);
  }
  const Status appended = OnceThereIsRoom([&] {
    MutexLock lock(log_mutex_);
    return data->Append(all.slots);
  });
  if (!appended.ok()) {
    Fail(appended);
    return;
  }
  appended_ = all.slots.back().at.time;
  for (const Answered& answer : all.answers) {
    answer(Introduction());
  }
  KickApply();
}

void Member::Impl::Do(const SyncLog& sync) {
  disk_.Post([this, sync] {
    if (Status synced = data->SyncLog(); !synced.ok()) {
      Fail(synced);
      return;
    }
    Post([this, sync] {
      if (core_) {
        Step(Synced{sync.generation, sync.up_to});
      }
    });
  });
}

void Member::Impl::Do(const CutLog& cut) {
  rolling_back_ = true;
  // Before anything is taken back: whoever reads the same number before and after has seen none of
  // it.
  RaiseRollbackId();
  KeepLocal();
  Publish();
  log::Warning("REPL", "Rolling back what the set did not commit",
               {{"after", static_cast<int64_t>(cut.after.time)}});
  apply_target_ = 0;
  disk_.Drain();
  applier_.Drain();
  Status done;
  {
    MutexLock lock(log_mutex_);
    done = data->Cut(FromCore(cut.after));
  }
  rolling_back_ = false;
  appended_ = cut.after.time;
  if (!done.ok()) {
    log::Warning("REPL", "What was applied cannot be undone: the folder is copied anew",
                 {{"error", done.ToString()}});
    given_up_ = true;
    Do(Resync{core_->leader().member});
  }
}

void Member::Impl::Do(const Apply& apply) {
  apply_target_ = apply.up_to;
  KickApply();
}

void Member::Impl::KickApply() {
  if (!apply_posted_.exchange(true)) {
    applier_.Post([this] { ApplySome(); });
  }
}

// What may be applied now: what is asked for, is in the log, and is old enough.
uint64_t Member::Impl::ApplyLimit() const {
  uint64_t limit = std::min(apply_target_.load(), appended_.load());
  if (const Millis delay = delay_; delay > 0) {
    const auto seconds = static_cast<uint64_t>((bson::Date::Now().millis - delay) / 1000);
    limit = std::min(limit, seconds << 32);
  }
  return limit;
}

void Member::Impl::ApplySome() {
  apply_posted_ = false;
  while (!stopping_) {
    const uint64_t limit = ApplyLimit();
    if (data->Applied() >= limit) {
      return;
    }
    if (options.applies_nothing()) {
      apply_stopped_ = true;
      return;
    }
    Result<uint64_t> applied = uint64_t{0};
    const Status status = OnceThereIsRoom([&] {
      MutexLock lock(log_mutex_);
      applied = data->Apply(limit);
      return applied.status();
    });
    if (!status.ok()) {
      Fail(status);
      return;
    }
    Post([this, time = *applied] {
      if (core_) {
        Step(Applied{time});
      }
    });
  }
}

void Member::Impl::Do(const KeepSnapshot&) {
  if (Status kept = data->KeepCommittedSnapshot(); !kept.ok()) {
    Fail(kept);
  }
}

void Member::Impl::Do(const OpenLog& open) {
  disk_.Drain();
  applier_.Drain();
  MutexLock lock(log_mutex_);
  data->OpenLog(open.epoch);
  election_ = {};
  NoteElection();
}

void Member::Impl::Do(const CloseLog&) {
  sender_->Reset();
  applier_.Post([this] {
    options.stepped_down();
    Result<engine::LogEnds> ends = engine::LogEnds();
    {
      MutexLock lock(log_mutex_);
      ends = data->CloseLog();
    }
    if (!ends.ok()) {
      Fail(ends.status());
      return;
    }
    LogSummary log = ToCore(*ends);
    appended_ = log.last().time;
    Post([this, log = std::move(log)] {
      if (core_) {
        Step(LogClosed{log});
      }
    });
  });
}

void Member::Impl::Do(const PauseWrites& pause) {
  paused = pause.paused;
  if (!pause.paused) {
    changed->Ring();
  }
}

void Member::Impl::Do(const WriteNoop& noop) {
  PostNoop(noop.token, election_.time == 0 ? "new primary" : "linearizable read");
}

void Member::Impl::PostNoop(uint64_t token, const char* text) {
  applier_.Post([this, token, text] {
    const bson::Document note = Doc("msg", text);
    auto slot = data->WriteNoop(note);
    if (!slot.ok()) {
      return;  // no longer the leader
    }
    Post([this, token, at = ToCore(*slot)] {
      if (election_.time == 0) {
        election_ = at;
      }
      if (core_ && token != 0) {
        Step(NoopWritten{token, at});
      }
    });
  });
}

void Member::Impl::Do(const Committed& committed) { data->SetCommit(committed.commit); }

void Member::Impl::Do(const Resync&) {
  copying_ = true;
  next_copy_ = Now();
}

void Member::Impl::Do(const Answer& answer) {
  auto found = waits_.find(answer.id);
  if (found == waits_.end()) {
    return;
  }
  std::shared_ptr<AnswerState> state = std::move(found->second);
  waits_.erase(found);
  switch (answer.code) {
    case 0:
      state->Give(Status::Ok());
      break;
    case kWriteConcernFailed:
      state->Give({kWriteConcernFailed, "waiting for replication timed out"});
      break;
    case kPrimarySteppedDown:
      state->Give({kPrimarySteppedDown, "Primary stepped down while waiting for replication"});
      break;
    case kUnsatisfiableWriteConcern:
      state->Give({kUnsatisfiableWriteConcern, "Not enough data-bearing nodes"});
      break;
    case kUnknownReplWriteConcern:
      state->Give({kUnknownReplWriteConcern,
                   "No write concern mode with that name found in replica "
                   "set configuration"});
      break;
    default:
      state->Give({answer.code, "not primary"});
      break;
  }
}

void Member::Impl::Do(const Become& become) {
  log::Info(
      "REPL", "The member's state has changed",
      {{"state", static_cast<int>(become.state)}, {"term", static_cast<int64_t>(become.epoch)}});
}

}  // namespace quire::repl
