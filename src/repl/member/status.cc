// SPDX-License-Identifier: Apache-2.0
//
// What the member shows of itself and of the others.
#include <algorithm>
#include <utility>

#include "repl/config/set_config.h"
#include "repl/member/member_internal.h"
#include "repl/message/codec.h"
#include "repl/message/fields.h"

namespace quire::repl {
namespace {

// Whether a hello would be answered otherwise.
bool SameFace(const engine::SetStatus& a, const engine::SetStatus& b) {
  return a.initiated == b.initiated && a.self == b.self && a.primary == b.primary &&
         a.state == b.state && a.writable == b.writable && a.epoch == b.epoch &&
         a.config.bytes() == b.config.bytes();
}

}  // namespace

Position Member::Impl::PositionAt(Time time) const {
  const LogSummary& log = core_->log();
  for (const Position& end : log.ends) {
    if (time <= end.time) {
      return {time <= log.begin.time ? log.begin.epoch : end.epoch, time};
    }
  }
  return {log.last().epoch, time};
}

engine::MemberState Member::Impl::ShownState() const {
  if (copying_) {
    return engine::MemberState::kStartup2;
  }
  if (!core_) {
    return engine::MemberState::kStartup;
  }
  if (rolling_back_) {
    return engine::MemberState::kRollback;
  }
  switch (core_->state()) {
    case MemberState::kStartup:
      return engine::MemberState::kStartup;
    case MemberState::kPrimary:
      return engine::MemberState::kPrimary;
    case MemberState::kSecondary:
      return maintenance > 0 ? engine::MemberState::kRecovering : engine::MemberState::kSecondary;
    case MemberState::kRecovering:
      return engine::MemberState::kRecovering;
    case MemberState::kInitialSync:
      return engine::MemberState::kStartup2;
    case MemberState::kRemoved:
      return engine::MemberState::kRemoved;
  }
  return engine::MemberState::kUnknown;
}

MemberId Member::Impl::Primary() const {
  if (!core_) {
    return kNoMember;
  }
  if (core_->state() == MemberState::kPrimary) {
    return self_;
  }
  const MemberId leader = core_->leader().member;
  auto told = spread_.find(leader);
  auto seen = seen_.find(leader);
  const bool down = seen != seen_.end() && seen->second.down;
  const bool fresh = spread_at_ >= 0 && Now() - spread_at_ < options.settings.election;
  const bool primary = told != spread_.end() && told->second.state == engine::MemberState::kPrimary;
  return !core_->leading() && leader != self_ && fresh && primary && !down ? leader : kNoMember;
}

void Member::Impl::Publish() {
  dirty_ = false;
  auto next = std::make_shared<engine::SetStatus>();
  next->state = ShownState();
  next->rollback_id = identity_.rollback_id;
  bool reconfigured = false;
  if (set_) {
    const Epoch epoch = core_ ? core_->epoch() : 0;
    if (shown_set_ != set_ || shown_epoch_ != epoch) {
      shown_set_ = set_;
      shown_epoch_ = epoch;
      shown_config_ = ConfigDocument(*set_, epoch, true);
      reconfigured = true;
    }
    next->initiated = true;
    next->config = shown_config_;
    next->self = set_->Find(self_) == nullptr ? kNoMember : self_;
    next->primary = Primary();
    next->newly_added = static_cast<int>(
        std::count_if(set_->members.begin(), set_->members.end(),
                      [](const MemberConfig& member) { return member.newly_added; }));
  }
  if (core_) {
    next->writable = next->state == engine::MemberState::kPrimary;
    next->caught_up = core_->applied() <= core_->commit();
    next->epoch = core_->epoch();
    next->last = FromCore(core_->log().last());
    next->applied = FromCore(PositionAt(core_->applied()));
    next->commit = FromCore(PositionAt(core_->commit()));
    next->election_wall_millis = election_wall_millis_;
    next->seen_at_election = FromCore(seen_at_election_);
    next->applied_at_election = FromCore(applied_at_election_);
    next->committed_at_election = FromCore(committed_at_election_);
    if (next->writable) {
      next->election = FromCore(election_);
    }
  }
  if (set_) {
    FillMembers(next.get());
  }
  bool other = false;
  {
    MutexLock lock(published_mutex_);
    other = !SameFace(*status_, *next);
    next->topology_counter = status_->topology_counter + (other ? 1 : 0);
    status_ = std::move(next);
  }
  if (core_ && !core_->leading()) {
    paused = false;  // who comes now is told that this is no primary
  }
  if (other && changed != nullptr) {
    changed->Ring();
  }
  if (reconfigured) {
    applier_.Post([this, config = shown_config_] { options.configured(config); });
  }
}

engine::MemberStatus Member::Impl::OwnStatus() const {
  engine::MemberStatus own;
  own.id = self_;
  own.self = true;
  own.healthy = true;
  own.state = ShownState();
  own.uptime_seconds = Now() / 1000;
  own.config_version = static_cast<int64_t>(set_->version);
  own.message = copy_message_;
  if (core_) {
    own.in_sync = core_->view().isr.members.Contains(InSyncMember{self_, core_->local().data});
    own.written = FromCore(PositionAt(core_->durable()));
    own.applied = FromCore(PositionAt(core_->applied()));
  }
  return own;
}

engine::MemberStatus Member::Impl::StatusOfPeer(const MemberConfig& member) const {
  engine::MemberStatus out;
  out.id = member.id;
  if (auto found = seen_.find(member.id); found != seen_.end()) {
    const Seen& seen = found->second;
    out.healthy = seen.at != 0 && !seen.down && Now() - seen.at < options.settings.election;
    out.state = out.healthy                  ? seen.state
                : seen.at == 0 && !seen.down ? engine::MemberState::kUnknown
                                             : engine::MemberState::kDown;
    out.uptime_seconds = out.healthy ? seen.uptime_seconds : 0;
    out.ping_millis = seen.ping_millis;
    out.last_heartbeat_millis = seen.wall_millis;
    out.last_heartbeat_received_millis = seen.received_millis;
    out.message = seen.problem;
  }
  out.config_version = static_cast<int64_t>(set_->version);
  if (!core_ || !core_->leading()) {
    return out;
  }
  if (const Peer* peer = core_->peers().Find(member.id)) {
    out.in_sync = core_->view().isr.members.Contains(InSyncMember{peer->id, peer->data});
    out.written = FromCore(PositionAt(peer->durable));
    out.applied = FromCore(PositionAt(peer->applied));
  }
  return out;
}

void Member::Impl::FillMembers(engine::SetStatus* status) const {
  const bool told = core_ && !core_->leading() && spread_at_ >= 0 &&
                    Now() - spread_at_ < options.settings.election;
  for (const MemberConfig& member : set_->members) {
    if (member.id == self_) {
      status->members.push_back(OwnStatus());
      continue;
    }
    auto spread = spread_.find(member.id);
    status->members.push_back(told && spread != spread_.end() ? spread->second
                                                              : StatusOfPeer(member));
  }
}

bson::Document Member::Impl::SpreadDocument() const {
  bson::Builder out;
  for (const MemberConfig& member : set_->members) {
    const engine::MemberStatus one = member.id == self_ ? OwnStatus() : StatusOfPeer(member);
    FieldWriter fields;
    fields.Signed("id", one.id).Signed("state", static_cast<int64_t>(one.state));
    fields.Bool("healthy", one.healthy).Bool("inSync", one.in_sync);
    fields.At("written", ToCore(one.written)).At("applied", ToCore(one.applied));
    fields.Signed("uptime", one.uptime_seconds).Signed("ping", one.ping_millis);
    fields.Signed("heartbeat", one.last_heartbeat_millis);
    fields.Signed("received", one.last_heartbeat_received_millis);
    fields.Signed("version", one.config_version).Text("message", one.message);
    out.Append(std::to_string(member.id), fields.Finish());
  }
  return out.Finish();
}

void Member::Impl::TakeSpread(bson::View body) {
  FieldReader all(body);
  std::map<MemberId, engine::MemberStatus> told;
  for (const bson::Element& element : all.Document("members")) {
    if (!element.value().is_document()) {
      return;
    }
    FieldReader in(element.value().AsDocument());
    engine::MemberStatus one;
    one.id = in.Member("id");
    one.state = static_cast<engine::MemberState>(in.Signed("state"));
    one.healthy = in.Bool("healthy");
    one.in_sync = in.Bool("inSync");
    one.written = FromCore(in.At("written"));
    one.applied = FromCore(in.At("applied"));
    one.uptime_seconds = in.Signed("uptime");
    one.ping_millis = in.Signed("ping");
    one.last_heartbeat_millis = in.Signed("heartbeat");
    one.last_heartbeat_received_millis = in.Signed("received");
    one.config_version = in.Signed("version");
    one.message = in.Text("message");
    if (!in.ok()) {
      return;
    }
    // The leader itself is heard of by this very message.
    if (one.id == core_->leader().member) {
      one.last_heartbeat_millis = one.last_heartbeat_received_millis = bson::Date::Now().millis;
    }
    told.emplace(one.id, std::move(one));
  }
  spread_ = std::move(told);
  spread_at_ = Now();
  dirty_ = true;
}

}  // namespace quire::repl
