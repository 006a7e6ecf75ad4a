// SPDX-License-Identifier: Apache-2.0
//
// What goes wrong in a simulated set.
#include <algorithm>
#include <memory>

#include "repl/core/testing/simulator.h"

namespace quire::repl {

// Runs with few kinds of faults reach deeper than runs with a little of everything.
void Simulator::VaryFaults() {
  double* kinds[] = {
      &faults_.kill,       &faults_.power,    &faults_.torn_step, &faults_.wipe,
      &faults_.rot,        &faults_.restore,  &faults_.pause,     &faults_.isolate,
      &faults_.cut_link,   &faults_.refused,  &faults_.hung_disk, &faults_.store_away,
      &faults_.store_back, &faults_.reconfig, &faults_.step_down, &faults_.step_up,
      &faults_.freeze,     &faults_.recover,  &faults_.trim,      &faults_.clock_jump};
  for (double* kind : kinds) {
    uint64_t how = random_.Below(4);
    *kind *= how == 0 ? 0 : how == 1 ? 0.3 : how == 2 ? 1 : 2;
  }
  if (random_.Below(3) == 0) faults_.lost_message = faults_.doubled_message = 0;
  if (random_.Below(3) == 0) faults_.lost_message *= 4;
  // No promise hangs on the time after which a leader resigns, nor on who goes first.
  if (random_.Below(3) == 0) options_.settings.proof = kNever;
  if (random_.Below(3) == 0) options_.settings.courtesy = 0;
  faults_.between = random_.Between(faults_.between / 3, faults_.between * 2);
}

void Simulator::InjectFault() {
  const double weights[] = {
      faults_.kill,       faults_.power,    faults_.torn_step, faults_.wipe,
      faults_.rot,        faults_.restore,  faults_.pause,     faults_.isolate,
      faults_.cut_link,   faults_.refused,  faults_.hung_disk, faults_.store_away,
      faults_.store_back, faults_.reconfig, faults_.step_down, faults_.step_up,
      faults_.freeze,     faults_.recover,  faults_.trim,      faults_.clock_jump};
  double sum = 0;
  for (double weight : weights) sum += weight;
  if (sum <= 0) return;
  double at_weight = sum * static_cast<double>(random_.Below(1 << 20)) / (1 << 20);
  int kind = 0;
  while (at_weight >= weights[kind]) at_weight -= weights[kind++];

  // The leader is where it hurts.
  MemberId id = random_.Chance(0.4) && primary() != kNoMember ? primary() : AnyMember();
  Member& member = at(id);
  if (!member.core) return;
  CommandId command = ++last_command_;
  switch (kind) {
    case 0:
      Kill(id, false, true);
      break;
    case 1:
      Kill(id, true, true);
      break;
    case 2:
      member.doomed = true;
      break;
    case 3:
    case 4:
    case 5:
      InjectDiskFault(id, kind);
      break;
    case 6:
      member.paused_until = now_ + random_.Between(5, 400);
      break;
    case 7:
      Isolate(id);
      break;
    case 8: {
      auto to = static_cast<size_t>(AnyMember());
      link_cut_until_[static_cast<size_t>(id)][to] = now_ + random_.Between(10, 400);
      break;
    }
    case 9: {
      MemberId other = AnyMember();
      Push(0, Kind::kPeerDown, other, BootOf(other), static_cast<uint64_t>(id));
      break;
    }
    case 10:
      member.disk_hung_until = now_ + random_.Between(20, 250);
      break;
    case 11:
      store_away_until_ = now_ + random_.Between(10, 300);
      break;
    case 12:
      StoreGoesBack(1 + random_.Below(2), random_.Chance(0.5));
      break;
    case 13:
      Reconfigure();
      break;
    case 14:
      Step(id, StepDownCommand{command, 50, 40, random_.Chance(0.5)});
      break;
    case 15:
      Step(id, StepUpCommand{command});
      break;
    case 16:
      Step(id, FreezeCommand{command, random_.Between(0, 100)});
      break;
    case 17: {
      bool impaired = std::any_of(members_.begin(), members_.end(),
                                  [](const Member& one) { return one.impaired; });
      if (!impaired) Step(id, RecoverCommand{command, false});
      break;
    }
    case 18:
      TrimLog(id);
      break;
    default:
      member.wall_skew = random_.Between(-faults_.clock_skew, faults_.clock_skew);
      break;
  }
}

void Simulator::InjectDiskFault(MemberId id, int kind) {
  Member& member = at(id);
  Disk& disk = member.disk;
  if (disk.copying) return;
  if (kind == 3) {
    Kill(id, false, true);
    Wipe(id);
    return;
  }
  if (kind == 4) {
    // Only what the file of acknowledged positions can tell.
    Time acked = disk.local.acked;
    if (acked == 0 || disk.log().empty()) return;
    Kill(id, false, true);
    if (options_.trace != nullptr) *options_.trace << "--- its log is damaged\n";
    Time from = disk.log().front().at.time;
    disk.Rot(acked > from ? from + random_.Below(acked - from) + 1 : acked);
    disk.begin = {};  // what was trimmed later is back
    disk.applied = disk.commit = 0;
    member.impaired = true;
    return;
  }
  if (!member.backup) {
    member.backup = disk;
    return;
  }
  // An old copy that the floor can tell, wherever it is read.
  const auto& log = member.backup->log();
  Time end = log.empty() ? 0 : log.back().at.time;
  if (member.backup->local.data != disk.local.data || end >= store_.LowestFloor()) return;
  if (!store_.now().isr.members.Contains(InSyncMember{id, disk.local.data})) return;
  Kill(id, false, true);
  if (options_.trace != nullptr) *options_.trace << "--- its folder is an old copy\n";
  disk = *member.backup;
  member.backup.reset();
  member.impaired = true;
}

void Simulator::Wipe(MemberId id) {
  if (options_.trace != nullptr) *options_.trace << "--- the disk of " << id << " is wiped\n";
  Member& member = at(id);
  member.disk = Disk();
  member.disk.local.data = NewDataId();
  member.backup.reset();
  member.impaired = false;
}

void Simulator::StoreGoesBack(size_t writes, bool revisions_too) {
  if (options_.trace != nullptr) *options_.trace << "--- the store goes back\n";
  store_.GoBack(writes, revisions_too);
  invariants_.StoreWentBack();
}

void Simulator::Isolate(MemberId id) {
  uint64_t ways = 1 + random_.Below(3);
  Millis until = now_ + random_.Between(10, 500);
  auto self = static_cast<size_t>(id);
  for (size_t other = 0; other < members_.size(); ++other) {
    if ((ways & 1) != 0) link_cut_until_[self][other] = until;
    if ((ways & 2) != 0) link_cut_until_[other][self] = until;
  }
}

// Takes a vote from a member, or gives it one; removes a member, or brings it back.
void Simulator::Reconfigure() {
  MemberId leader = primary();
  if (leader == kNoMember || at(leader).paused_until > now_) return;
  auto config = std::make_shared<SetConfig>(core(leader)->view().set());
  MemberId id = AnyMember();
  auto member = std::find_if(config->members.begin(), config->members.end(),
                             [&](const MemberConfig& one) { return one.id == id; });
  uint64_t what = random_.Below(4);
  if (member == config->members.end()) {
    config->members.emplace_back().id = id;
  } else if (what == 0) {
    config->members.erase(member);
  } else if (what == 1) {
    member->priority = member->priority > 0 ? 0 : static_cast<double>(1 + random_.Below(3));
  } else {
    member->votes = !member->votes;
  }
  Step(leader, ReconfigCommand{++last_command_, std::move(config)});
}

void Simulator::TrimLog(MemberId id) {
  Member& member = at(id);
  Time up_to = std::min(member.core->commit(), member.core->applied());
  size_t count = member.disk.CountUpTo(up_to);
  if (member.disk.copying || count < 4) return;
  Position begin = member.disk.log()[count - 1 - random_.Below(count / 2)].at;
  if (begin.time <= member.disk.begin.time) return;
  member.disk.begin = begin;
  Step(id, Trimmed{begin});
}

}  // namespace quire::repl
