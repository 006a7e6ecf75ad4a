// SPDX-License-Identifier: Apache-2.0
//
// The clients of a simulated set: writes with several concerns, retries, majority and linearizable
// reads.
#include <algorithm>

#include "repl/core/testing/simulator.h"

namespace quire::repl {

MemberId Simulator::WritableMember() {
  MemberId first = AnyMember();
  for (int i = 0; i < options_.members; ++i) {
    MemberId id = (first + i) % options_.members;
    const Member& member = at(id);
    if (member.paused_until > now_ || member.open_epoch == 0 || member.writes_paused) continue;
    if (member.core && member.core->writable()) return id;
  }
  return kNoMember;
}

void Simulator::RunClient() {
  uint64_t what = random_.Below(20);
  if (what < 3) {
    ReadMajority(AnyMember());
    return;
  }
  MemberId id = WritableMember();
  if (id == kNoMember) return;
  if (what < 14)
    StartWrite(id);
  else if (what < 17)
    RetryWrite(id);
  else
    ReadLinearizable(id);
}

LoggedSlot Simulator::TakeSlot(MemberId id) {
  Member& member = at(id);
  LoggedSlot slot;
  int64_t wall = 10000 + now_ + member.wall_skew;
  slot.at = {member.open_epoch, std::max(static_cast<Time>(wall), member.last_slot + 1)};
  slot.previous = member.last_slot;
  slot.previous_chain = member.last_chain;
  slot.chain = Random(member.last_chain ^ ++last_chain_ << 20).Next();
  member.last_slot = slot.at.time;
  member.last_chain = slot.chain;
  member.pending.push_back(slot);
  return slot;
}

void Simulator::StartWrite(MemberId id) {
  Member& member = at(id);
  constexpr size_t kInFlight = 4;
  if (member.pending.size() >= kInFlight) return;
  Waiter waiter;
  waiter.slot = TakeSlot(id);
  uint64_t concern = random_.Below(8);
  int majority = member.core->proposals().SmallestMajority();
  if (concern < 2) {
    waiter.concern.kind = WriteConcern::Kind::kNumber;
    waiter.concern.number = static_cast<int>(1 + random_.Below(static_cast<uint64_t>(majority)));
  }
  if (random_.Below(8) == 0) waiter.concern.timeout = 30;
  waiters_.push_back(waiter);
  Millis delay = random_.Between(0, random_.Below(8) == 0 ? 25 : 3);
  Push(delay, Kind::kWriteSlot, id, member.boot, waiter.slot.at.time, waiters_.size() - 1, 1);
}

// The slot is written, in whatever order; all up to the first that is not are visible.
void Simulator::WriteSlotOf(const Event& event) {
  Member& member = at(event.member);
  auto slot = std::find_if(member.pending.begin(), member.pending.end(),
                           [&](const LoggedSlot& one) { return one.at.time == event.a; });
  if (slot == member.pending.end() || member.open_epoch == 0) return;
  member.disk.Write(*slot);
  member.disk.applied = std::max(member.disk.applied, slot->at.time);
  member.pending.erase(slot);
  Time visible = member.disk.log().back().at.time;
  for (const LoggedSlot& one : member.pending) visible = std::min(visible, one.at.time - 1);
  size_t count = member.disk.CountUpTo(visible);
  if (count > 0) Step(event.member, Grown{member.disk.log()[count - 1].at.time});
  if (event.c == 1) Push(random_.Between(0, 3), Kind::kAwait, event.member, event.boot, event.b);
}

void Simulator::AwaitSlot(const Event& event) {
  const Waiter& waiter = waiters_[event.a];
  Step(event.member, Await{event.a, waiter.slot.at, waiter.concern});
}

// A statement whose answer is remembered: nothing is written, the reply says what was done before.
void Simulator::RetryWrite(MemberId id) {
  Member& member = at(id);
  const auto& log = member.disk.log();
  size_t visible = member.disk.CountUpTo(member.core->log().last().time);
  if (visible == 0) return;
  Waiter waiter;
  waiter.slot = log[visible - 1 - random_.Below(std::min<size_t>(visible, 4))];
  if (!options_.rules.empty_replies_wait) {
    invariants_.Promised(waiter.slot, "a retried write");
    return;
  }
  waiters_.push_back(waiter);
  Step(id, Await{waiters_.size() - 1, {member.open_epoch, member.last_slot}, waiter.concern});
}

void Simulator::ReadMajority(MemberId id) {
  const Member& member = at(id);
  if (!member.core || member.paused_until > now_) return;
  Core::MajorityReads reads = member.core->majority_reads();
  if (reads == Core::MajorityReads::kNone) return;
  Time up_to = reads == Core::MajorityReads::kApplied ? member.core->applied() : member.snapshot;
  size_t count = member.disk.CountUpTo(up_to);
  if (count > 0) invariants_.Promised(member.disk.log()[count - 1], "what a majority read showed");
}

void Simulator::ReadLinearizable(MemberId id) {
  Member& member = at(id);
  Waiter waiter;
  waiter.linearizable = true;
  int promised = invariants_.promised();
  if (promised >= 0) {
    auto place = static_cast<size_t>(promised);
    const auto& log = member.disk.log();
    waiter.shows_promised =
        log.size() > place && log[place].chain == invariants_.committed()[place].chain;
  }
  waiters_.push_back(waiter);
  Step(id, Linearize{waiters_.size() - 1});
}

}  // namespace quire::repl
