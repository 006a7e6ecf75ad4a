// SPDX-License-Identifier: Apache-2.0
#include "repl/core/testing/invariants.h"

#include <algorithm>

namespace quire::repl {

void Invariants::Fail(const std::string& what) {
  if (violation_.empty()) violation_ = what;
}

int Invariants::FindCommitted(Time time) const {
  auto found = std::lower_bound(committed_.begin(), committed_.end(), time,
                                [](const LoggedSlot& slot, Time t) { return slot.at.time < t; });
  bool there = found != committed_.end() && found->at.time == time;
  return there ? static_cast<int>(found - committed_.begin()) : -1;
}

bool Invariants::Committed(const LoggedSlot& slot) const {
  int place = FindCommitted(slot.at.time);
  return place >= 0 && committed_[static_cast<size_t>(place)].chain == slot.chain;
}

void Invariants::LogOpened(const Core& core, const Disk& disk) {
  auto [leader, first] = leaders_.emplace(core.epoch(), core.boot());
  if (!first && leader->second != core.boot()) Broken("I1: two leaders in one epoch");
  // What later leaders have committed is not its concern: it leads no more and does not know it.
  size_t count = committed_.size();
  while (count > 0 && committed_in_[count - 1] >= core.epoch()) --count;
  if (count == 0) return;
  const auto& log = disk.log();
  if (log.size() < count || log[count - 1].chain != committed_[count - 1].chain)
    Fail("a leader lacks what is committed");
}

void Invariants::Appended(const Disk& disk, const LoggedSlot& slot) {
  uint64_t last = disk.log().empty() ? 0 : disk.log().back().chain;
  if (last != slot.previous_chain) Broken("I2: a follower's log is no prefix of its leader's");
}

void Invariants::CommitAdvanced(const Core& core, const Disk& disk, const Store& store) {
  size_t count = disk.CountUpTo(core.commit());
  const auto& log = disk.log();
  if (count == 0) return;
  size_t known = std::min(count, committed_.size());
  if (known > 0 && log[known - 1].chain != committed_[known - 1].chain) {
    Fail("two committed histories");
    return;
  }
  for (size_t i = committed_.size(); i < count; ++i) {
    uint64_t last = committed_.empty() ? 0 : committed_.back().chain;
    if (log[i].previous_chain != last) Fail("a hole was committed");
    committed_.push_back(log[i]);
    committed_in_.push_back(core.epoch());
  }
  std::erase_if(open_promises_, [&](const auto& promise) {
    if (promise.first.at.time > committed_.back().at.time) return false;
    if (!Committed(promise.first)) Fail(std::string(promise.second) + " was undone");
    return true;
  });
  if (!core.leading() || store_went_back_ || store.now().leader.leader != core.leader()) return;
  const InSyncSet& counted = core.proposals().Largest();
  for (const InSyncMember& member : store.now().isr.members)
    if (member.member != core.self() &&
        !(by_data_ ? counted.Contains(member) : counted.Contains(member.member)))
      Broken("I3: committed without a member of the in-sync set");
}

void Invariants::Cut(const Disk& disk, Time after) {
  size_t left = disk.CountUpTo(after);
  if (left >= std::min(disk.log().size(), committed_.size())) return;
  if (disk.log()[left].chain != committed_[left].chain) return;
  if (disk.local.accepted.epoch >= committed_in_[left]) Broken("I5: a committed slot is cut");
}

void Invariants::InSyncHolds(MemberId member, const Disk& disk, const Store& store) {
  if (committed_.empty() || losses_only_ || store_went_back_) return;
  if (!store.now().isr.members.Contains(InSyncMember{member, disk.local.data})) return;
  size_t count = committed_.size();
  const auto& log = disk.durable();
  if (log.size() < count || log[count - 1].chain != committed_.back().chain)
    Broken("I4: an in-sync member lacks what is committed");
  else if (disk.local.accepted.epoch < committed_in_.back())
    Broken("I4: an in-sync member has not accepted the epoch that committed");
}

void Invariants::Applying(const Core& core, const Disk& disk, Time up_to) {
  if (core.leading()) return;
  size_t count = disk.CountUpTo(up_to);
  if (count == 0) return;
  if (count > committed_.size() || committed_[count - 1].chain != disk.log()[count - 1].chain)
    Fail("I6: a follower applies what is not committed");
}

void Invariants::Promised(const LoggedSlot& slot, const char* how) {
  if (!Committed(slot)) {
    bool later = committed_.empty() || slot.at.time > committed_.back().at.time;
    if (!losses_only_)
      Fail(std::string("I7: ") + how + " is not committed");
    else if (later)
      open_promises_.emplace_back(slot, how);
    else
      Fail(std::string(how) + " was undone");
    return;
  }
  promised_ = std::max(promised_, FindCommitted(slot.at.time));
}

void Invariants::LinearizableRead(bool shows_promised) {
  if (!shows_promised) Fail("a linearizable read missed an acknowledged write");
}

void Invariants::StoreWritten(const Store& store) {
  const View& now = store.now();
  if (now.isr.unclean == 0 && !store_went_back_ && now.isr.members.size() < now.set().MinInSync())
    Broken("I8: the in-sync set is too small");
}

void Invariants::Persisting(const Local& before, const Local& now) {
  bool back = now.accepted.epoch < before.accepted.epoch || now.fence < before.fence ||
              now.heard.counter < before.heard.counter;
  if (back) Broken("I9: an accepted epoch went back");
}

void Invariants::Acking(const Disk& disk, const Ack& ack) {
  if (losses_only_) return;
  if (ack.epoch < disk.local.accepted.epoch || ack.epoch < disk.local.fence)
    Broken("I9: an acknowledgement below the accepted epoch");
  if (!ack.joined) return;
  size_t count = disk.CountUpTo(ack.durable);
  if (count == 0) return;
  const auto& durable = disk.durable();
  const auto& log = disk.log();
  if (durable.size() < count || durable[count - 1].chain != log[count - 1].chain)
    Broken("I10: acknowledged what is not durable");
  else if (count > 1 && log[count - 1].previous_chain != log[count - 2].chain)
    Broken("I10: acknowledged a hole");
}

}  // namespace quire::repl
