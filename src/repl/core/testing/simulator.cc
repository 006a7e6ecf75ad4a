// SPDX-License-Identifier: Apache-2.0
#include "repl/core/testing/simulator.h"

#include <algorithm>

#include "repl/core/testing/trace.h"

namespace quire::repl {
namespace {

struct Later {
  template <typename Event>
  bool operator()(const Event& one, const Event& other) const {
    return one.at != other.at ? one.at > other.at : one.order > other.order;
  }
};

View FirstView(int members) {
  View view;
  auto config = std::make_shared<SetConfig>();
  config->version = 1;
  for (MemberId id = 0; id < members; ++id) {
    config->members.emplace_back().id = id;
    view.isr.members.Add({id, static_cast<DataId>(id) + 1});
  }
  view.config.config = std::move(config);
  view.stamp.counter = 1;
  return view;
}

}  // namespace

Settings SimulatorOptions::ShortTimes() {
  Settings settings;
  settings.beacon = 8;
  settings.silent = 32;
  settings.slow = 45;
  settings.between_changes = 10;
  settings.proof = 75;
  settings.rewrite = 30;
  settings.election = 95;
  settings.ballot = 10;
  settings.courtesy = 20;
  settings.store_retry = 25;
  settings.poll = 60;
  settings.floor = 80;
  settings.lazily = 30;
  settings.hung_disk = 50;
  settings.apply_lag = 100;
  settings.takeover_in_sync = 100;
  settings.takeover_uptime = 150;
  return settings;
}

Simulator::Simulator(const SimulatorOptions& options)
    : options_(options),
      faults_(options.faults),
      random_(options.seed * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(options.members)),
      invariants_(options.losses_only, options.rules.positions_by_data),
      store_(FirstView(options.members)),
      members_(static_cast<size_t>(options.members)),
      link_cut_until_(members_.size(), std::vector<Millis>(members_.size(), 0)) {
  if (options_.vary) VaryFaults();
  for (MemberId id = 0; id < options_.members; ++id) {
    Member& member = at(id);
    member.disk.local.data = NewDataId();
    member.disk.local.fresh = false;
    member.disk.local.heard.counter = 1;
    member.rate = 0.9 + 0.001 * static_cast<double>(random_.Below(201));
    member.offset = random_.Between(0, 1000);
    Start(id);
  }
  Push(1, Kind::kClient, kNoMember, 0);
  if (faults_.between > 0) Push(faults_.between, Kind::kFault, kNoMember, 0);
}

const std::string& Simulator::Run() {
  while (counts_.steps < static_cast<uint64_t>(options_.steps) && violation().empty()) Next();
  counts_.committed = invariants_.committed().size();
  return violation();
}

void Simulator::RunFor(Millis duration) {
  Millis until = now_ + duration;
  while (!queue_.empty() && queue_.front().at <= until && violation().empty()) Next();
  now_ = std::max(now_, until);
}

bool Simulator::Settles(Millis within) {
  StopFaults();
  Millis until = now_ + within;
  auto level = [&] {
    MemberId leader = primary();
    if (leader == kNoMember) return false;
    const Core& leading = *core(leader);
    for (const MemberConfig& member : store_.now().set().members) {
      const Core* other = core(member.id);
      if (other == nullptr || other->log().last() != leading.log().last()) return false;
      if (other->commit() != leading.log().last().time) return false;
    }
    return leading.writable();
  };
  StopClients();
  while (!level() && now_ < until && violation().empty()) RunFor(options_.settings.beacon);
  return violation().empty() && level();
}

void Simulator::StopFaults() {
  faults_ = Faults{};
  faults_.between = 0;
  faults_.lost_message = faults_.doubled_message = faults_.lost_store_request = 0;
  faults_.doubled_store_request = faults_.lost_store_answer = faults_.stale_hint = 0;
  store_away_until_ = 0;
  for (auto& row : link_cut_until_) std::fill(row.begin(), row.end(), 0);
  for (MemberId id = 0; id < options_.members; ++id) {
    Member& member = at(id);
    member.paused_until = member.disk_hung_until = 0;
    member.doomed = false;
    if (!member.core) Start(id);
  }
}

const Core* Simulator::core(MemberId member) const {
  return at(member).core ? &*at(member).core : nullptr;
}

MemberId Simulator::primary() const {
  MemberId found = kNoMember;
  for (MemberId id = 0; id < options_.members; ++id) {
    const Core* one = core(id);
    if (one == nullptr || !one->log_open()) continue;
    if (found == kNoMember || one->epoch() > core(found)->epoch()) found = id;
  }
  return found;
}

void Simulator::Push(Millis delay, Kind kind, MemberId member, Boot boot, uint64_t a, uint64_t b,
                     uint64_t c) {
  queue_.push_back({now_ + delay, ++order_, kind, member, boot, a, b, c});
  std::push_heap(queue_.begin(), queue_.end(), Later());
}

bool Simulator::Next() {
  if (queue_.empty()) return false;
  std::pop_heap(queue_.begin(), queue_.end(), Later());
  Event event = queue_.back();
  queue_.pop_back();
  now_ = std::max(now_, event.at);
  ++counts_.steps;
  if (event.member != kNoMember && event.kind != Kind::kStoreRequest) {
    const Member& member = at(event.member);
    if (event.boot != 0 && event.boot != member.boot)
      event.boot = 0;  // of a process that ended
    else if (event.kind != Kind::kRestart && member.paused_until > now_) {
      Push(member.paused_until - now_, event.kind, event.member, event.boot, event.a, event.b,
           event.c);
      return true;
    }
  }
  Handle(event);
  if (check_in_sync_) CheckInSync();
  return true;
}

void Simulator::Handle(const Event& event) {
  bool running = event.member != kNoMember && at(event.member).core && event.boot != 0;
  switch (event.kind) {
    case Kind::kTick:
      if (!running) return;
      Push(random_.Between(5, 12), Kind::kTick, event.member, event.boot);
      Step(event.member, Tick{ClockOf(at(event.member))});
      return;
    case Kind::kDeliver:
      Deliver(event);
      return;
    case Kind::kStoreRequest:
      AskStore(event);
      return;
    case Kind::kStoreAnswer:
      if (running) Step(event.member, answers_[event.a]);
      return;
    case Kind::kHint:
      if (running) AnswerHint(event);
      return;
    case Kind::kSynced:
      if (!running) return;
      at(event.member).disk.Sync(event.c);
      Step(event.member, Synced{event.a, event.b});
      return;
    case Kind::kWriteSlot:
      if (running) WriteSlotOf(event);
      return;
    case Kind::kAwait:
      if (running) AwaitSlot(event);
      return;
    case Kind::kNoop:
      if (running) Step(event.member, NoopWritten{event.a, {event.b, event.c}});
      return;
    case Kind::kApplied:
      if (!running) return;
      at(event.member).disk.applied = std::max(at(event.member).disk.applied, event.a);
      Step(event.member, Applied{event.a});
      return;
    case Kind::kLogClosed:
      if (running) CloseLogOf(event.member);
      return;
    case Kind::kCopied:
      if (running) FinishCopy(event.member);
      return;
    case Kind::kPeerDown:
      if (running) Step(event.member, PeerDown{static_cast<MemberId>(event.a)});
      return;
    case Kind::kRestart:
      if (!at(event.member).core) Start(event.member);
      return;
    case Kind::kClient:
      Push(random_.Between(1, 5), Kind::kClient, kNoMember, 0);
      if (clients_) RunClient();
      return;
    case Kind::kFault:
      if (faults_.between == 0) return;
      Push(random_.Between(1, 2 * faults_.between), Kind::kFault, kNoMember, 0);
      InjectFault();
      return;
  }
}

void Simulator::Step(MemberId id, const Input& input) {
  Member& member = at(id);
  actions_.clear();
  member.core->Step(input, &actions_);
  if (options_.trace != nullptr) Trace(*options_.trace, now_, id, input);
  size_t count = actions_.size();
  bool ends = member.doomed && count > 1;
  if (ends) count = random_.Below(count);
  for (size_t i = 0; i < count; ++i) {
    if (options_.trace != nullptr) Trace(*options_.trace, id, actions_[i]);
    Carry(id, &actions_[i]);
  }
  if (ends) Kill(id, random_.Chance(0.5), true);
}

void Simulator::CheckInSync() {
  check_in_sync_ = false;
  for (MemberId id = 0; id < options_.members; ++id)
    if (!at(id).impaired) invariants_.InSyncHolds(id, at(id).disk, store_);
}

Millis Simulator::ClockOf(const Member& member) const {
  return static_cast<Millis>(static_cast<double>(now_) * member.rate) + member.offset;
}

void Simulator::Kill(MemberId id, bool power_loss, bool starts_again) {
  Member& member = at(id);
  if (!member.core) return;
  if (options_.trace != nullptr)
    *options_.trace << "--- " << id << (power_loss ? " loses power\n" : " is killed\n");
  member.core.reset();
  member.pending.clear();
  member.open_epoch = 0;
  member.doomed = false;
  if (power_loss) member.disk.LosePower(random_.Below(member.disk.unsynced() + 1));
  check_in_sync_ = true;
  member.boot = 0;
  for (MemberId other = 0; other < options_.members; ++other)
    if (other != id && !random_.Chance(faults_.unseen_death))
      Push(random_.Between(13, 25), Kind::kPeerDown, other, BootOf(other),
           static_cast<uint64_t>(id));
  if (starts_again) Push(random_.Between(5, 150), Kind::kRestart, id, 0);
}

void Simulator::Start(MemberId id) {
  Member& member = at(id);
  Disk& disk = member.disk;
  member.boot = ++last_boot_;
  member.wall_skew = random_.Between(-faults_.clock_skew, faults_.clock_skew);
  member.writes_paused = false;
  member.snapshot = 0;
  if (disk.copying) {  // a copy that was not finished is of no use
    Disk empty;
    empty.local.data = NewDataId();
    member.disk = empty;
    member.impaired = false;
  }
  if (options_.rules.cut_holes_at_start) disk.CutHoles();
  Time last = disk.log().empty() ? 0 : disk.log().back().at.time;
  disk.applied = std::min(disk.applied, last);
  disk.commit = std::min(disk.commit, last);
  if (options_.trace != nullptr)
    *options_.trace << "--- " << id << " starts as " << member.boot << "\n";
  member.core.emplace(id, member.boot, options_.settings, random_.Next(), options_.rules);
  Push(0, Kind::kTick, id, member.boot);
  Step(id, Started{ClockOf(member), disk.local, disk.Summary(), disk.applied, disk.commit});
}

void Simulator::SetLink(MemberId from, MemberId to, bool works) {
  link_cut_until_[static_cast<size_t>(from)][static_cast<size_t>(to)] = works ? 0 : kNever;
}

void Simulator::Pause(MemberId member, Millis duration) {
  if (duration == 0) {
    for (Event& event : queue_)
      if (event.member == member && event.at == at(member).paused_until) event.at = now_;
    std::make_heap(queue_.begin(), queue_.end(), Later());
  }
  at(member).paused_until = now_ + duration;
}

void Simulator::SetLinks(MemberId member, bool works) {
  for (MemberId other = 0; other < options_.members; ++other) {
    SetLink(member, other, works);
    SetLink(other, member, works);
  }
}

MemberId Simulator::AwaitPrimary(Millis at_most) {
  for (Millis until = now_ + at_most; primary() == kNoMember && now_ < until;) RunFor(1);
  return primary();
}

}  // namespace quire::repl
