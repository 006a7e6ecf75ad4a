// SPDX-License-Identifier: Apache-2.0
//
// What the actions of a core do to its disk, the network and the store.
#include <algorithm>
#include <utility>

#include "repl/core/testing/simulator.h"

namespace quire::repl {

void Simulator::Carry(MemberId id, Action* action) {
  std::visit([&](auto& one) { Carry(id, one); }, *action);
}

Millis Simulator::Latency() {
  if (random_.Chance(faults_.slow_message)) return random_.Between(20, 150);
  return random_.Between(0, random_.Below(4) == 0 ? 12 : 3);
}

void Simulator::Carry(MemberId id, Persist& action) {
  Disk& disk = at(id).disk;
  if (disk.local.data == action.local.data) invariants_.Persisting(disk.local, action.local);
  disk.local = action.local;
}

void Simulator::Carry(MemberId id, Send& action) {
  if (const Ack* ack = std::get_if<Ack>(&action.message)) {
    if (!at(id).impaired) invariants_.Acking(at(id).disk, *ack);
  }
  if (action.to < 0 || action.to >= options_.members) return;
  int copies = random_.Chance(faults_.lost_message) ? 0 : 1;
  if (random_.Chance(faults_.doubled_message)) ++copies;
  if (copies == 0) return;
  if (free_envelopes_.empty()) {
    free_envelopes_.push_back(static_cast<uint32_t>(envelopes_.size()));
    envelopes_.emplace_back();
  }
  uint32_t place = free_envelopes_.back();
  free_envelopes_.pop_back();
  Envelope& envelope = envelopes_[place];
  envelope.from = id;
  envelope.to = action.to;
  envelope.copies = copies;
  envelope.slots.clear();
  if (Append* append = std::get_if<Append>(&action.message)) {
    const auto& log = at(id).disk.log();
    size_t first = at(id).disk.CountUpTo(append->previous.time);
    size_t last = at(id).disk.CountUpTo(append->last.time);
    // A caller may divide it, and the connection break in between.
    constexpr size_t kWhole = 1;
    if (last > first + kWhole && random_.Chance(faults_.divided_append)) {
      last = first + kWhole + random_.Below(2);
      append->last = log[last - 1].at;
    }
    envelope.slots.assign(log.begin() + static_cast<ptrdiff_t>(first),
                          log.begin() + static_cast<ptrdiff_t>(last));
  }
  envelope.message = std::move(action.message);
  for (int copy = 0; copy < copies; ++copy)
    Push(Latency(), Kind::kDeliver, action.to, BootOf(action.to), place);
}

// A message is for whoever runs when it arrives.
void Simulator::Deliver(const Event& event) {
  Envelope& envelope = envelopes_[event.a];
  Millis cut =
      link_cut_until_[static_cast<size_t>(envelope.from)][static_cast<size_t>(envelope.to)];
  if (cut <= now_ && at(envelope.to).core) {
    // Step may make new envelopes; this one stays where it is until it is given back.
    Envelope taken = envelope.copies > 1 ? envelope : std::move(envelope);
    incoming_ = &taken;
    Step(event.member, Received{taken.from, taken.message});
    incoming_ = nullptr;
  }
  if (--envelopes_[event.a].copies == 0) free_envelopes_.push_back(static_cast<uint32_t>(event.a));
}

void Simulator::Carry(MemberId id, WriteKeys& action) {
  uint64_t place = requests_.size();
  requests_.push_back(std::move(action));
  bool lost = random_.Chance(faults_.lost_store_request);
  bool doubled = random_.Chance(faults_.doubled_store_request);
  // b: whether the answer may arrive. Of a doubled request often only the second one's does.
  if (!lost)
    Push(Latency(), Kind::kStoreRequest, id, BootOf(id), place, !doubled || random_.Chance(0.3));
  if (doubled)
    Push(Latency() + random_.Between(0, 40), Kind::kStoreRequest, id, BootOf(id), place, 1);
}

void Simulator::AskStore(const Event& event) {
  if (at(event.member).requests_held) {
    Push(1, event.kind, event.member, event.boot, event.a, event.b);
    return;
  }
  if (store_away_until_ > now_) return;
  const WriteKeys& write = requests_[event.a];
  bool done = store_.Write(write);
  if (done) {
    if (write.isr && !write.leader) ++counts_.in_sync_changes;
    if (options_.trace != nullptr)
      *options_.trace << "--- the store is written by " << event.member << "\n";
    invariants_.StoreWritten(store_);
    check_in_sync_ = true;
  }
  if (event.b == 0 || random_.Chance(faults_.lost_store_answer)) return;
  answers_.push_back({write.ticket, done, store_.now()});
  Push(Latency(), Kind::kStoreAnswer, event.member, event.boot, answers_.size() - 1);
}

void Simulator::Carry(MemberId id, ReadKeys&) {
  Push(Latency() + Latency(), Kind::kHint, id, BootOf(id));
}

void Simulator::AnswerHint(const Event& event) {
  if (store_away_until_ > now_) return;
  size_t back = random_.Chance(faults_.stale_hint) ? 1 + random_.Below(3) : 0;
  Step(event.member, Hint{store_.Past(back)});
}

void Simulator::Carry(MemberId id, AppendLog&) {
  Disk& disk = at(id).disk;
  if (incoming_ == nullptr) return;
  for (const LoggedSlot& slot : incoming_->slots) {
    if (!disk.log().empty() && slot.at.time <= disk.log().back().at.time) continue;
    invariants_.Appended(disk, slot);
    disk.Write(slot);
  }
}

void Simulator::Carry(MemberId id, SyncLog& action) {
  Member& member = at(id);
  Millis delay = random_.Between(0, 6);
  if (random_.Below(16) == 0) delay += random_.Between(0, 60);
  if (member.disk_hung_until > now_) delay += member.disk_hung_until - now_;
  Push(delay, Kind::kSynced, id, member.boot, action.generation, action.up_to,
       member.disk.written());
}

void Simulator::Carry(MemberId id, CutLog& action) {
  Disk& disk = at(id).disk;
  ++counts_.cuts;
  if (!at(id).impaired) invariants_.Cut(disk, action.after.time);
  disk.CutAfter(action.after.time);
  disk.applied = std::min(disk.applied, action.after.time);
  check_in_sync_ = true;
}

void Simulator::Carry(MemberId id, Apply& action) {
  Member& member = at(id);
  invariants_.Applying(*member.core, member.disk, action.up_to);
  if (!member.core->leading()) member.disk.commit = std::max(member.disk.commit, action.up_to);
  Push(random_.Between(0, random_.Below(8) == 0 ? 40 : 4), Kind::kApplied, id, member.boot,
       action.up_to);
}

void Simulator::Carry(MemberId id, KeepSnapshot&) { at(id).snapshot = at(id).core->applied(); }

void Simulator::Carry(MemberId id, OpenLog& action) {
  Member& member = at(id);
  ++counts_.leaders;
  invariants_.LogOpened(*member.core, member.disk);
  member.open_epoch = action.epoch;
  member.writes_paused = !action.writable;
  member.pending.clear();
  const auto& log = member.disk.log();
  member.last_slot = log.empty() ? 0 : log.back().at.time;
  member.last_chain = log.empty() ? 0 : log.back().chain;
}

void Simulator::Carry(MemberId id, CloseLog&) {
  ++counts_.step_downs;
  at(id).open_epoch = 0;
  Push(random_.Between(0, 6), Kind::kLogClosed, id, BootOf(id));
}

// Commits in flight end: most are written, some fail and leave a hole.
void Simulator::CloseLogOf(MemberId id) {
  Member& member = at(id);
  for (const LoggedSlot& slot : member.pending)
    if (random_.Chance(0.7)) member.disk.Write(slot);
  member.pending.clear();
  if (options_.rules.cut_holes_at_step_down) member.disk.CutHoles();
  if (!member.disk.log().empty()) member.disk.applied = member.disk.log().back().at.time;
  Step(id, LogClosed{member.disk.Summary()});
}

void Simulator::Carry(MemberId id, PauseWrites& action) { at(id).writes_paused = action.paused; }

void Simulator::Carry(MemberId id, WriteNoop& action) {
  Member& member = at(id);
  if (member.open_epoch != action.epoch) return;
  LoggedSlot slot = TakeSlot(id);
  Push(0, Kind::kWriteSlot, id, member.boot, slot.at.time, 0);
  Push(random_.Between(0, 2), Kind::kNoop, id, member.boot, action.token, slot.at.epoch,
       slot.at.time);
}

void Simulator::Carry(MemberId id, Committed& action) {
  Member& member = at(id);
  invariants_.CommitAdvanced(*member.core, member.disk, store_);
  if (!member.core->leading()) return;
  check_in_sync_ = true;
  member.snapshot = action.commit;
  if (random_.Below(4) == 0) member.disk.commit = std::max(member.disk.commit, action.commit);
}

void Simulator::Carry(MemberId id, Resync&) {
  ++counts_.copies;
  at(id).disk.copying = true;
  Push(random_.Between(10, 60), Kind::kCopied, id, BootOf(id));
}

// From whoever runs; of a leader's log only what is complete.
void Simulator::FinishCopy(MemberId id) {
  MemberId from = AnyMember();
  Member& source = at(from);
  if (from == id || !source.core || source.disk.copying) {
    Push(random_.Between(5, 30), Kind::kCopied, id, BootOf(id));
    return;
  }
  Member& member = at(id);
  size_t count = source.disk.CountUpTo(source.core->log().last().time);
  Disk copy;
  copy.Replace(
      {source.disk.log().begin(), source.disk.log().begin() + static_cast<ptrdiff_t>(count)});
  copy.local = member.disk.local;
  copy.local.data = NewDataId();
  copy.local.fresh = true;
  copy.local.acked = 0;
  copy.begin = source.disk.begin;
  copy.applied = source.core->applied();
  copy.commit = std::min(source.core->commit(), source.core->log().last().time);
  member.disk = std::move(copy);
  member.backup.reset();
  member.impaired = false;
  Step(id, Copied{member.disk.local.data, member.disk.Summary(), member.disk.applied,
                  member.disk.commit});
}

void Simulator::Carry(MemberId id, Answer& action) {
  if (action.code != 0) return;
  const Waiter& waiter = waiters_[action.id];
  const Core& leader = *at(id).core;
  int majority =
      leader.leading() ? leader.proposals().SmallestMajority() : leader.view().set().Majority();
  bool few = waiter.concern.kind == WriteConcern::Kind::kNumber && waiter.concern.number < majority;
  if (waiter.linearizable)
    invariants_.LinearizableRead(waiter.shows_promised);
  else if (!few)
    invariants_.Promised(waiter.slot, "an acknowledged write");
  ++counts_.promised;
}

void Simulator::Carry(MemberId, CommandDone&) {}
void Simulator::Carry(MemberId, Become&) {}

}  // namespace quire::repl
