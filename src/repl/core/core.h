// SPDX-License-Identifier: Apache-2.0
//
// A member of a replica set as a pure state machine: PacificA's primary and backups with an in-sync
// set, agreed on by compare-and-swap of three keys in a coordination store.
//
// No thread, clock, disk or network: what happens comes in by Step, what is to be done goes out.
// The bytes of the log never pass through it, only positions. docs/architecture.md describes the
// protocol.
#pragma once

#include <optional>
#include <vector>

#include "repl/core/ballot.h"
#include "repl/core/events.h"
#include "repl/core/peers.h"
#include "repl/core/proposals.h"
#include "repl/core/rules.h"
#include "repl/core/settings.h"
#include "repl/core/waiters.h"

namespace quire::repl {

// Not safe for concurrent use.
class Core {
 public:
  // `seed` shifts this member's timers against those of others.
  Core(MemberId self, Boot boot, const Settings& settings, uint64_t seed, const Rules& rules = {});
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // One input; appends everything that is to be done about it, in order. The same inputs give the
  // same actions. The first input is Started.
  void Step(const Input& input, std::vector<Action>* out);

  // What other parts of a server show and ask for.
  MemberId self() const { return self_; }
  Boot boot() const { return boot_; }
  MemberState state() const { return shown_.state; }
  bool leading() const { return role_ == Role::kLeader; }
  // Whether slots are handed out, and in which epoch; to clients only when writable().
  bool log_open() const { return leading() && phase_ == Phase::kOpen; }
  bool writable() const;
  Epoch epoch() const { return local_.accepted.epoch; }
  const Leadership& leader() const { return local_.accepted; }
  Time commit() const { return commit_; }
  Time applied() const { return applied_; }
  Time durable() const { return durable_; }
  const LogSummary& log() const { return log_; }
  const Local& local() const { return local_; }
  const View& view() const { return leading() ? proposals_.confirmed() : view_; }
  bool joined() const { return joined_; }
  bool campaigning() const { return campaign_.has_value(); }
  // Leader: the set that all have to acknowledge (M), and what it knows of the others.
  const Proposals& proposals() const { return proposals_; }
  const Peers& peers() const { return peers_; }
  // What a majority read may show: everything applied, a kept snapshot, or (recovering) nothing.
  enum class MajorityReads { kApplied, kSnapshot, kNone };
  MajorityReads majority_reads() const;

 private:
  enum class Role { kFollower, kLeader, kClosing, kCopying };
  enum class Phase { kElected, kApplying, kOpen };  // of a leader

  // core.cc: inputs of all roles
  void On(const Tick& tick);
  void On(const Started& started);
  void On(const Synced& synced);
  void On(const Applied& applied);
  void On(const Trimmed& trimmed);
  void On(const Received& received);
  void On(const Hint& hint);
  void On(const PeerDown& down);
  void On(const LogClosed& closed);
  void On(const Copied& copied);
  void On(const StoreAnswer& answer);
  void FinishStep();
  void RequestSync();
  void RequestApply();
  void Show();
  template <typename T>
  void Do(T action) {
    out_->emplace_back(std::move(action));
  }
  template <typename T>
  void SendTo(MemberId to, T message) {
    out_->emplace_back(Send{to, Message(std::move(message))});
  }
  void PersistLocal();
  Millis Jitter(Millis up_to);

  // follower.cc
  void Take(MemberId from, const Beacon& beacon);
  void Take(MemberId from, const Append& append);
  void Take(MemberId from, const Join& join);
  bool AcceptLeader(MemberId from, Epoch epoch, Boot boot, const Stamp& base);
  void BeginHandshake();
  void SendHello();
  void SendAck(Millis beacon, bool gap);
  void TakeCommit(Time commit);
  void CutTo(Position common);
  bool CheckFolder(bool in_sync, Time floor);
  void StartCopy();
  bool TooMuchUnapplied() const;

  // candidate.cc
  void Take(MemberId from, const PreVote& vote);
  void Take(MemberId from, const PreVoteAnswer& answer);
  void Take(MemberId from, const TakeOver& take_over);
  void TickCandidate();
  void StartBallot(bool transfer);
  void CloseBallot();
  void Campaign(bool transfer, Epoch above);
  void SendCampaign();
  void TakeCampaignAnswer(const StoreAnswer& answer);
  void EndCampaign();
  Candidate AsCandidate() const;
  bool HearsLeader() const;

  // leader.cc
  void Take(MemberId from, const Hello& hello);
  void Take(MemberId from, const Ack& ack);
  void Take(MemberId from, const Refused& refused);
  void On(const Grown& grown);
  void On(const LogBroken& broken);
  void BecomeLeader(const View& view);
  void AdvancePhase();
  void AdvanceCommit();
  void SendBeacons();
  void SendSlots(Peer* peer);
  void TickLeader();
  bool Proven() const;
  Time LowestApplied() const;  // of those in sync that answer
  void Throttle();
  void PauseOrResume();
  void StepDown();
  bool Silent(const Peer& peer) const;
  bool Lags(const Peer& peer) const;

  // in_sync.cc: the leader's writes of the keys
  void MaintainInSync();
  bool Qualifies(const Peer& peer) const;
  bool RemoveLaggard(InSyncSet* wanted) const;
  bool AddMember(InSyncSet* wanted) const;
  void Propose(View wanted, bool config_too, bool reconfig, CommandId command);
  void RewriteInSync();
  Ticket WriteTicket();
  void TakeLeaderAnswer(const StoreAnswer& answer);
  void LearnConfirmed(const View& now);

  // concerns.cc: those who wait
  void On(const Await& await);
  void On(const Abandon& abandon);
  void On(const Linearize& linearize);
  void On(const NoopWritten& noop);
  void CheckWaiters();
  void EndWaiters();

  // commands.cc
  void On(const StepDownCommand& command);
  void On(const StepUpCommand& command);
  void On(const FreezeCommand& command);
  void On(const ReconfigCommand& command);
  void On(const RecoverCommand& command);
  void Take(MemberId from, const Survey& survey);
  void Take(MemberId from, const SurveyAnswer& answer);
  void HandOver();
  void HandTo(MemberId successor);
  void FinishCommand(CommandId id, int code, MemberId hint = kNoMember);
  const Peer* Successor(bool whole) const;  // `whole`: who holds everything
  void ConsiderTakeover();
  void TickRecovery();
  void AskSurvivors();
  void FinishSurvey();
  void RecoverLater();
  void FailRecovery(MemberId hint = kNoMember);

  // Constant after construction
  const MemberId self_;
  const Boot boot_;
  const Settings settings_;
  const Rules rules_;

  std::vector<Action>* out_ = nullptr;  // of the step that runs
  uint64_t random_;
  Millis now_ = 0;
  Millis started_ = 0;

  // Every role
  Role role_ = Role::kFollower;
  Local local_;
  View view_;        // the newest hint or fact
  View store_hint_;  // the last hint, also when it is older than view_
  LogSummary log_;
  Time durable_ = 0;
  Time applied_ = 0;
  Time applying_ = 0;  // asked for
  Millis applied_at_ = 0;
  Time commit_ = 0;
  bool snapshot_ = false;  // a committed snapshot is kept
  uint64_t generation_ = 1;
  uint64_t sync_generation_ = 0;  // of the sync that runs; 0: none
  Millis sync_started_ = 0;
  Millis next_poll_ = 0;
  Millis next_lazy_ = 0;
  Become shown_;
  Ticket last_ticket_ = 0;
  uint64_t last_nonce_ = 0;

  // Follower
  uint64_t attempt_ = 0;
  bool joined_ = false;
  Millis heard_ = 0;
  bool heard_any_ = false;       // since the process began
  Millis election_timeout_ = 0;  // without a leader
  bool leader_down_ = false;
  Millis next_handshake_ = 0;
  Time told_applied_ = 0;  // by the last acknowledgement

  // Candidate
  std::optional<Ballot> ballot_;
  uint64_t round_ = 0;
  Millis next_ballot_ = 0;
  Millis wanted_since_ = -1;  // to campaign; -1: does not
  Millis frozen_until_ = 0;
  struct OpenCampaign {
    Versions expected;
    Stamp base;
    View wanted;
    bool config = false;      // writes that key, too
    Ticket first_ticket = 0;  // later ones are retries
    Millis sent = 0;
  };
  std::optional<OpenCampaign> campaign_;
  CommandId step_up_ = 0;
  Millis step_up_until_ = 0;
  Millis take_over_until_ = 0;  // the leader before wants this member to be the next

  // Leader
  Phase phase_ = Phase::kElected;
  Millis elected_ = 0;
  Stamp base_;      // of the keys that the election compared
  Time start_ = 0;  // the log's end at the election
  Proposals proposals_;
  Peers peers_;
  struct SentWrite {
    Ticket ticket = 0;
    Millis sent = 0;
  };
  std::vector<SentWrite> writes_;  // of the keys, not answered
  Millis next_beacon_ = 0;
  Time told_commit_ = 0;  // by the last beacon
  Millis next_change_ = 0;
  Millis next_write_ = 0;  // of the in-sync set, unchanged
  Millis floor_written_ = 0;
  Millis proven_ = 0;  // a write sent then was confirmed
  bool muted_ = false;
  Time lag_target_ = 0;  // when all had applied the one before
  Millis lag_since_ = 0;
  bool throttled_ = false;
  bool paused_ = false;  // clients' writes
  struct Handing {
    CommandId command = 0;
    Millis begun = 0;
    Millis until = 0;
    Millis stay_down = 0;
    bool force = false;
  };
  std::optional<Handing> handing_;

  // Requests that wait
  Waiters waiters_;
  std::vector<WaiterId> linearize_;        // for a no-op not yet asked for
  std::vector<WaiterId> linearize_asked_;  // for the one that is being written
  uint64_t noop_token_ = 0;                // of the last no-op asked for
  std::vector<Held> held_;                 // kept for its memory

  // Recovery: tried again until it is done, cannot be, or has taken too long
  struct Recovery {
    CommandId command = 0;
    bool accept_loss = false;
    std::shared_ptr<const SetConfig> config;
    Millis deadline = 0;
    Millis next = 0;  // not asked again before
    // The others have been asked.
    bool asked = false;
    uint64_t round = 0;
    Epoch epoch = 0;
    Millis until = 0;
    std::vector<std::pair<MemberId, SurveyAnswer>> answers;
  };
  std::optional<Recovery> recovery_;
};

}  // namespace quire::repl
