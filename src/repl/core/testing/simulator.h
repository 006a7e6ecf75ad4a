// SPDX-License-Identifier: Apache-2.0
//
// A replica set of cores under faults, in one thread and in simulated time.
//
// A run is a function of its options: events happen in the order of a queue, and everything that is
// a matter of chance comes from the seed. The invariants are checked all the time.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "repl/core/core.h"
#include "repl/core/testing/disk.h"
#include "repl/core/testing/invariants.h"
#include "repl/core/testing/random.h"
#include "repl/core/testing/store.h"

namespace quire::repl {

// How often what goes wrong, in relation to each other; 0: never.
struct Faults {
  Millis between = 45;     // two faults, on average
  double kill = 1;         // kill -9
  double power = 1;        // the unsynced end of the log is gone
  double torn_step = 0.5;  // the process ends between two actions of one step
  double wipe = 0.15;      // the disk is empty
  double rot = 0.1;        // the log ends before what was acknowledged
  double restore = 0.15;   // the folder is an old copy of itself
  double pause = 0.8;      // SIGSTOP
  double isolate = 1;      // nothing from, to, or from and to a member
  double cut_link = 1;     // nothing from one member to another
  double refused = 0.5;    // a member seems dead to another, and is not
  double hung_disk = 0.3;
  double store_away = 0.5;
  double store_back = 0.15;  // as from an older backup
  double reconfig = 0.8;
  double step_down = 0.5;
  double step_up = 0.5;
  double freeze = 0.1;
  double recover = 0.3;
  double trim = 0.3;
  double clock_jump = 0.2;
  double lost_message = 0.04;  // of all
  double doubled_message = 0.03;
  double slow_message = 0.03;
  double lost_store_request = 0.08;
  double doubled_store_request = 0.08;
  double lost_store_answer = 0.12;
  double stale_hint = 0.2;
  double unseen_death = 0.4;    // a process that ends looks like a silent one to another member
  double divided_append = 0.4;  // of those with many slots only the first arrive
  int64_t clock_skew = 60;
};

struct SimulatorOptions {
  uint64_t seed = 1;
  int members = 3;
  int steps = 1500;
  bool vary = true;  // each run leaves some kinds of faults out and has more of others
  bool losses_only = false;
  Rules rules;
  Faults faults;
  Settings settings = ShortTimes();
  std::ostream* trace = nullptr;

  // As the defaults relate, but in a hundredth of the time: a run of a second sees many elections.
  static Settings ShortTimes();
};

struct SimulatorCounts {
  uint64_t steps = 0;
  uint64_t leaders = 0;
  uint64_t step_downs = 0;
  uint64_t committed = 0;
  uint64_t promised = 0;
  uint64_t in_sync_changes = 0;
  uint64_t cuts = 0;
  uint64_t copies = 0;
};

class Simulator {
 public:
  explicit Simulator(const SimulatorOptions& options);
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  // Runs options.steps events, or until an invariant is violated. Returns the violation, or "".
  const std::string& Run();

  // No faults any more, everybody runs and is connected: whether within `within` there is a
  // primary, and the members' logs are equal when nobody writes.
  bool Settles(Millis within);

  // For tests that choose what happens. Members are 0 to n - 1.
  void RunFor(Millis duration);
  void StopFaults();
  void StopClients() { clients_ = false; }
  void StartClients() { clients_ = true; }
  // Runs until there is a primary, at most for so long. Returns it, or kNoMember.
  MemberId AwaitPrimary(Millis at_most);
  void Kill(MemberId member, bool power_loss, bool starts_again);
  void Start(MemberId member);
  void Give(MemberId member, const Input& input) { Step(member, input); }
  void SetLink(MemberId from, MemberId to, bool works);
  void SetLinks(MemberId member, bool works);    // all of them, both ways
  void Pause(MemberId member, Millis duration);  // 0: goes on
  void HangDisk(MemberId member, Millis duration) { at(member).disk_hung_until = now_ + duration; }
  void SetClock(MemberId member, int64_t skew) { at(member).wall_skew = skew; }
  void Wipe(MemberId member);  // REQUIRES: it does not run
  void StoreGoesBack(size_t writes, bool revisions_too);
  void SetStore(bool reachable) { store_away_until_ = reachable ? 0 : kNever; }
  // Requests of the member reach the store only when it is held no more.
  void HoldRequests(MemberId member, bool held) { at(member).requests_held = held; }
  const Core* core(MemberId member) const;  // nullptr: not running
  MemberId primary() const;                 // whose log is open in the highest epoch, or kNoMember
  const Store& store() const { return store_; }
  const SimulatorCounts& counts() const { return counts_; }
  const std::string& violation() const { return invariants_.violation(); }
  Millis now() const { return now_; }

 private:
  static constexpr Millis kNever = INT64_MAX / 4;

  enum class Kind : uint8_t {
    kTick,
    kDeliver,
    kStoreRequest,
    kStoreAnswer,
    kHint,
    kSynced,
    kWriteSlot,
    kAwait,
    kNoop,
    kApplied,
    kLogClosed,
    kCopied,
    kPeerDown,
    kRestart,
    kClient,
    kFault,
  };
  struct Event {
    Millis at = 0;
    uint64_t order = 0;
    Kind kind = Kind::kTick;
    MemberId member = kNoMember;
    Boot boot = 0;  // of the process it is for; 0: any
    uint64_t a = 0, b = 0, c = 0;
  };
  struct Envelope {
    MemberId from = kNoMember;
    MemberId to = kNoMember;
    Message message;
    std::vector<LoggedSlot> slots;
    int copies = 0;
  };
  struct Member {
    Disk disk;
    std::optional<Disk> backup;
    std::optional<Core> core;
    Boot boot = 0;
    Millis paused_until = 0;
    Millis disk_hung_until = 0;
    double rate = 1;
    Millis offset = 0;
    int64_t wall_skew = 0;
    bool requests_held = false;
    bool doomed = false;    // ends within its next step
    bool impaired = false;  // its disk has lost what it acknowledged
    // Leader
    Epoch open_epoch = 0;
    bool writes_paused = false;
    Time last_slot = 0;
    uint64_t last_chain = 0;
    std::vector<LoggedSlot> pending;  // handed out, not written
    Time snapshot = 0;
  };
  struct Waiter {
    LoggedSlot slot;
    WriteConcern concern;
    bool linearizable = false;
    bool shows_promised = true;
  };

  // simulator.cc
  void Push(Millis delay, Kind kind, MemberId member, Boot boot, uint64_t a = 0, uint64_t b = 0,
            uint64_t c = 0);
  bool Next();
  void Handle(const Event& event);
  void Step(MemberId member, const Input& input);
  void CheckInSync();
  Millis ClockOf(const Member& member) const;
  Member& at(MemberId member) { return members_[static_cast<size_t>(member)]; }
  const Member& at(MemberId member) const { return members_[static_cast<size_t>(member)]; }
  Boot BootOf(MemberId member) const { return at(member).boot; }
  DataId NewDataId() { return ++last_data_; }
  MemberId AnyMember() { return static_cast<MemberId>(random_.Below(members_.size())); }

  // network.cc: what an action does
  void Carry(MemberId member, Action* action);
  void Carry(MemberId member, Persist& action);
  void Carry(MemberId member, Send& action);
  void Carry(MemberId member, WriteKeys& action);
  void Carry(MemberId member, ReadKeys& action);
  void Carry(MemberId member, AppendLog& action);
  void Carry(MemberId member, SyncLog& action);
  void Carry(MemberId member, CutLog& action);
  void Carry(MemberId member, Apply& action);
  void Carry(MemberId member, KeepSnapshot& action);
  void Carry(MemberId member, OpenLog& action);
  void Carry(MemberId member, CloseLog& action);
  void Carry(MemberId member, PauseWrites& action);
  void Carry(MemberId member, WriteNoop& action);
  void Carry(MemberId member, Committed& action);
  void Carry(MemberId member, Resync& action);
  void Carry(MemberId member, Answer& action);
  void Carry(MemberId member, CommandDone& action);
  void Carry(MemberId member, Become& action);
  void Deliver(const Event& event);
  void AskStore(const Event& event);
  void AnswerHint(const Event& event);
  void CloseLogOf(MemberId member);
  void FinishCopy(MemberId member);
  Millis Latency();

  // clients.cc
  void RunClient();
  LoggedSlot TakeSlot(MemberId member);
  void StartWrite(MemberId member);
  void RetryWrite(MemberId member);
  void ReadMajority(MemberId member);
  void ReadLinearizable(MemberId member);
  void WriteSlotOf(const Event& event);
  void AwaitSlot(const Event& event);
  MemberId WritableMember();

  // faults.cc
  void VaryFaults();
  void InjectFault();
  void InjectDiskFault(MemberId member, int kind);
  void Isolate(MemberId member);
  void Reconfigure();
  void TrimLog(MemberId member);

  SimulatorOptions options_;
  Faults faults_;
  Random random_;
  Invariants invariants_;
  Store store_;
  std::vector<Member> members_;
  std::vector<Event> queue_;  // a heap, the next event first
  std::vector<Envelope> envelopes_;
  std::vector<uint32_t> free_envelopes_;
  std::vector<WriteKeys> requests_;
  std::vector<StoreAnswer> answers_;
  std::vector<Waiter> waiters_;
  std::vector<Action> actions_;
  Envelope* incoming_ = nullptr;  // the message being taken
  std::vector<std::vector<Millis>> link_cut_until_;
  Millis store_away_until_ = 0;
  Millis now_ = 0;
  uint64_t order_ = 0;
  Boot last_boot_ = 0;
  DataId last_data_ = 0;
  uint64_t last_chain_ = 0;
  CommandId last_command_ = 0;
  bool clients_ = true;
  bool check_in_sync_ = false;
  SimulatorCounts counts_;
};

}  // namespace quire::repl
