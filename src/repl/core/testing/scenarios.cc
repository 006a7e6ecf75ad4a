// SPDX-License-Identifier: Apache-2.0
#include "repl/core/testing/scenarios.h"

#include <memory>

namespace quire::repl {
namespace {

// Three members and a primary; `second` and `third` are the others.
struct Set {
  explicit Set(const SimulatorOptions& options) : simulator(options) {
    simulator.AwaitPrimary(400);
    simulator.RunFor(80);
    first = simulator.AwaitPrimary(400);
    second = (first + 1) % 3;
    third = (first + 2) % 3;
  }

  // Until the in-sync set in the store has the member, or has it no more.
  void AwaitInSync(MemberId member, bool in) {
    for (int i = 0; i < 300 && simulator.store().now().isr.members.Contains(member) != in; ++i)
      simulator.RunFor(1);
  }
  // Makes it leader whatever the others hear, if the rules let it.
  void StepUp(MemberId member) {
    for (int i = 0; i < 6; ++i) {
      if (simulator.core(member) != nullptr && simulator.violation().empty())
        simulator.Give(member, StepUpCommand{1});
      simulator.RunFor(30);
    }
  }
  void Votes(MemberId member, bool votes) {
    MemberId leader = simulator.primary();
    if (leader == kNoMember) return;
    auto config = std::make_shared<SetConfig>(simulator.core(leader)->view().set());
    for (MemberConfig& one : config->members)
      if (one.id == member) one.votes = votes;
    simulator.Give(leader, ReconfigCommand{1, std::move(config)});
  }

  Simulator simulator;
  MemberId first, second, third;
};

// A leader sleeps while the set goes on without it; whoever leads then dies, and it wakes up.
void WokenLeader(Set* set) {
  Simulator& simulator = set->simulator;
  simulator.StopClients();
  simulator.RunFor(30);
  simulator.SetLinks(set->first, false);
  simulator.Pause(set->first, 10000);
  set->StepUp(set->second);
  simulator.StartClients();
  simulator.RunFor(10);
  simulator.StopClients();
  simulator.SetStore(false);
  simulator.Kill(set->second, true, false);
  simulator.Kill(set->third, false, false);
  simulator.Pause(set->first, 0);
  simulator.RunFor(1);
  simulator.SetLinks(set->first, true);
  simulator.Start(set->second);
  simulator.Start(set->third);
  simulator.RunFor(30);
  simulator.StartClients();
  simulator.RunFor(150);
}

// A member wins the election, and nobody hears it say so; the leader before removes it and goes on.
void UnheardLeader(Set* set) {
  Simulator& simulator = set->simulator;
  for (int i = 0; i < 90 && simulator.store().now().leader.leader.member != set->third; ++i) {
    if (i % 30 == 0) simulator.Give(set->third, StepUpCommand{1});
    simulator.RunFor(1);
    if (!simulator.core(set->third)->campaigning()) continue;
    simulator.SetLink(set->third, set->first, false);
    simulator.SetLink(set->third, set->second, false);
  }
  simulator.RunFor(120);
  simulator.SetLink(set->third, set->first, true);
  simulator.SetLink(set->third, set->second, true);
  simulator.RunFor(150);
}

// A member that was away comes back, far behind, and soon has to lead.
void EarlyJoin(Set* set) {
  Simulator& simulator = set->simulator;
  simulator.SetLinks(set->third, false);
  set->AwaitInSync(set->third, false);
  simulator.RunFor(100);
  simulator.SetLinks(set->third, true);
  set->AwaitInSync(set->third, true);
  simulator.RunFor(10);
  simulator.Kill(set->first, false, true);
  set->StepUp(set->third);
}

// The same for one that had no vote when it came back.
void EarlyVote(Set* set) {
  Simulator& simulator = set->simulator;
  simulator.SetLinks(set->third, false);
  set->Votes(set->third, false);
  simulator.RunFor(150);
  simulator.SetLinks(set->third, true);
  simulator.RunFor(20);
  set->Votes(set->third, true);
  set->AwaitInSync(set->third, true);
  simulator.RunFor(10);
  simulator.Kill(set->first, false, true);
  set->StepUp(set->third);
}

// A leader's sync takes long; meanwhile it is deposed, its tail is cut, and the new leader's slots
// have earlier times. Then it loses power.
void LateSync(Set* set) {
  Simulator& simulator = set->simulator;
  simulator.SetClock(set->first, 800);
  simulator.RunFor(10);
  simulator.HangDisk(set->first, 100);
  simulator.SetLinks(set->first, false);
  simulator.RunFor(20);
  simulator.SetClock(set->second, -800);
  simulator.SetClock(set->third, -800);
  simulator.SetStore(true);
  simulator.Give(set->second, StepUpCommand{1});
  simulator.RunFor(40);
  simulator.SetLinks(set->first, true);
  for (int i = 0; i < 60 && simulator.violation().empty(); ++i) {
    simulator.RunFor(1);
    const Core* core = simulator.core(set->first);
    if (core != nullptr && core->joined() && core->durable() > simulator.store().now().isr.floor)
      break;
  }
  simulator.RunFor(6);
  simulator.Kill(set->first, true, false);
  simulator.Kill(set->second, false, false);
  simulator.Start(set->first);
  simulator.Start(set->second);
  set->StepUp(set->first);
}

// A member in sync comes back with an empty disk, and soon has to lead.
void WipedMember(Set* set) {
  Simulator& simulator = set->simulator;
  simulator.Kill(set->third, false, false);
  simulator.Wipe(set->third);
  simulator.Start(set->third);
  simulator.RunFor(60);
  simulator.Kill(set->first, false, true);
  set->StepUp(set->third);
}

// The leader removes a member, commits without it, and dies at once; the store forgets the removal.
void ForgottenRemoval(Set* set) {
  Simulator& simulator = set->simulator;
  simulator.SetLinks(set->third, false);
  const Core* leader = simulator.core(set->first);
  for (int i = 0; i < 300 && leader->view().isr.members.Contains(set->third); ++i) {
    simulator.RunFor(1);
    if (!leader->leading()) return;
  }
  simulator.Kill(set->first, false, true);
  simulator.StoreGoesBack(1, false);
  simulator.SetLinks(set->third, true);
  simulator.RunFor(70);  // the member looks at the keys
  set->StepUp(set->third);
}

// The request that adds a member is late; the leader does without it meanwhile, and then it
// arrives.
void LateAddition(Set* set) {
  Simulator& simulator = set->simulator;
  simulator.SetLinks(set->third, false);
  set->AwaitInSync(set->third, false);
  simulator.RunFor(30);
  simulator.HoldRequests(set->first, true);
  simulator.SetLinks(set->third, true);
  const Core* leader = simulator.core(set->first);
  auto adding = [&] { return leader->leading() && leader->proposals().open().has_value(); };
  for (int i = 0; i < 200 && !adding(); ++i) simulator.RunFor(1);
  simulator.SetLinks(set->third, false);
  simulator.RunFor(60);
  simulator.HoldRequests(set->first, false);
  set->AwaitInSync(set->third, true);
  simulator.Kill(set->first, false, true);
  simulator.SetLinks(set->third, true);
  set->StepUp(set->third);
}

// A candidate has everybody's word; before its request arrives, it is removed from the in-sync set,
// and the store forgets that.
void ForgottenBallot(Set* set) {
  Simulator& simulator = set->simulator;
  simulator.HoldRequests(set->third, true);
  for (int i = 0; i < 90 && !simulator.core(set->third)->campaigning(); ++i) {
    if (i % 30 == 0) simulator.Give(set->third, StepUpCommand{1});
    simulator.RunFor(1);
  }
  Counter asked = simulator.core(set->third)->view().stamp.counter;
  simulator.SetLinks(set->third, false);
  set->AwaitInSync(set->third, false);
  simulator.RunFor(30);
  simulator.StoreGoesBack(simulator.store().now().stamp.counter - asked, true);
  simulator.Kill(set->first, false, false);
  simulator.HoldRequests(set->third, false);
  simulator.RunFor(30);
  simulator.SetLinks(set->third, true);
  simulator.RunFor(150);
}

// The same, and the new leader, whom nobody follows, has time to write the keys; then it is a
// candidate again, which may have counted further than those who heard of what the store forgot.
void OutgrownCounter(Set* set) {
  Simulator& simulator = set->simulator;
  ForgottenBallot(set);
  simulator.Kill(set->third, false, false);
  simulator.Start(set->third);
  simulator.RunFor(30);
  set->StepUp(set->third);
  simulator.RunFor(150);
}

// A store that went back makes a second leader of an epoch, and a member that had accepted the
// first one, and acknowledged its slots, has lost its disk.
void ForgottenPromise(Set* set) {
  Simulator& simulator = set->simulator;
  simulator.HoldRequests(set->third, true);
  for (int i = 0; i < 90 && !simulator.core(set->third)->campaigning(); ++i) {
    if (i % 30 == 0) simulator.Give(set->third, StepUpCommand{1});
    simulator.RunFor(1);
  }
  Counter asked = simulator.core(set->third)->view().stamp.counter;
  simulator.SetLinks(set->third, false);
  for (int i = 0; i < 90 && simulator.store().now().leader.leader.member != set->second; ++i) {
    if (i % 30 == 0) simulator.Give(set->second, StepUpCommand{1});
    simulator.RunFor(1);
  }
  set->AwaitInSync(set->third, false);
  simulator.RunFor(15);
  simulator.Kill(set->second, false, false);
  simulator.Kill(set->first, false, false);
  simulator.Wipe(set->first);
  simulator.StoreGoesBack(simulator.store().now().stamp.counter - asked, true);
  simulator.Start(set->first);
  simulator.HoldRequests(set->third, false);
  simulator.RunFor(30);
  simulator.SetLinks(set->third, true);
  simulator.RunFor(300);
}

// An operator recovers a member while the leader, which it does not see, goes on with another.
void HastyRecovery(Set* set) {
  Simulator& simulator = set->simulator;
  simulator.StopClients();
  simulator.RunFor(80);
  simulator.SetLink(set->first, set->third, false);
  simulator.SetLink(set->third, set->first, false);
  set->AwaitInSync(set->third, false);
  simulator.RunFor(20);
  simulator.SetLink(set->first, set->second, false);
  simulator.RunFor(100);
  simulator.Give(set->third, RecoverCommand{1, false});
  simulator.RunFor(4);
  simulator.SetStore(false);
  simulator.SetLink(set->first, set->second, true);
  simulator.StartClients();
  simulator.RunFor(30);
  simulator.SetStore(true);
  simulator.RunFor(150);
}

struct Scenario {
  std::string_view name;
  void (*play)(Set*);
  bool slow_followers;
};
constexpr Scenario kScenarios[] = {{"woken_leader", WokenLeader, false},
                                   {"unheard_leader", UnheardLeader, false},
                                   {"early_join", EarlyJoin, true},
                                   {"early_vote", EarlyVote, true},
                                   {"late_sync", LateSync, true},
                                   {"wiped_member", WipedMember, true},
                                   {"forgotten_removal", ForgottenRemoval, false},
                                   {"late_addition", LateAddition, false},
                                   {"forgotten_ballot", ForgottenBallot, false},
                                   {"outgrown_counter", OutgrownCounter, false},
                                   {"forgotten_promise", ForgottenPromise, false},
                                   {"hasty_recovery", HastyRecovery, false}};

}  // namespace

std::string RunScenario(std::string_view name, SimulatorOptions options) {
  options.members = 3;
  options.vary = false;
  options.faults = Faults();
  options.faults.between = 0;
  options.faults.lost_message = options.faults.doubled_message = options.faults.stale_hint = 0;
  options.faults.lost_store_request = options.faults.doubled_store_request = 0;
  options.faults.lost_store_answer = 0;
  options.settings.hung_disk = options.settings.slow = INT64_MAX / 4;
  options.settings.proof = INT64_MAX / 4;  // no promise hangs on it
  options.settings.courtesy = 0;
  for (const Scenario& scenario : kScenarios) {
    if (scenario.name != name) continue;
    options.faults.divided_append = scenario.slow_followers ? 1 : 0;
    Set set(options);
    if (set.first != kNoMember) scenario.play(&set);
    return set.simulator.violation();
  }
  return "no scenario of this name";
}

}  // namespace quire::repl
