// SPDX-License-Identifier: Apache-2.0
//
// The member's insides. What is not said to be safe belongs to the member's own thread.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "repl/copy/folder_copy.h"
#include "repl/core/core.h"
#include "repl/keys/keys.h"
#include "repl/member/answers.h"
#include "repl/member/inbox.h"
#include "repl/member/log_sender.h"
#include "repl/member/member.h"
#include "repl/member/worker.h"

namespace quire::repl {

using Answered = std::function<void(Result<bson::Document>)>;

class Member::Impl {
 public:
  Impl(engine::Engine& engine, std::unique_ptr<engine::ReplicaData> data,
       std::unique_ptr<coord::Store> store, MemberOptions options);
  ~Impl();
  Status Start(peer::PoolOptions peers);

  // Safe for concurrent use.
  std::shared_ptr<const engine::SetStatus> status() const;
  std::shared_ptr<const SetConfig> shared_config() const;
  void Receive(bson::Document body, Answered answer);
  void AskPrimary(const bson::Document& command, std::chrono::milliseconds timeout,
                  Answered answer);
  // `ask` makes the input of a wait from its number.
  std::unique_ptr<engine::PendingAnswer> Await(std::function<Input(WaiterId)> ask,
                                               engine::AnswerFunction answer);
  std::unique_ptr<engine::PendingAnswer> AwaitTime(uint64_t time, bool committed,
                                                   engine::AnswerFunction answer);
  void Post(Inbox::Task task) { inbox_->Post(std::move(task)); }

  // --- commands.cc: on the member's thread
  void Initiate(const bson::Document& config, engine::AnswerFunction answer);
  void Reconfigure(const bson::Document& config, bool force, engine::AnswerFunction answer);
  void Recover(CommandId command, std::shared_ptr<const SetConfig> config,
               engine::AnswerFunction answer);
  void Command(Input input, CommandId id, const char* what, engine::AnswerFunction answer);
  CommandId NextCommand() { return ++last_command_; }
  Status SetMaintenance(bool on);

  const MemberOptions options;
  const std::unique_ptr<engine::ReplicaData> data;
  std::atomic<bool> paused{false};
  std::atomic<int> maintenance{0};

 private:
  struct Identity {
    MemberId id = kNoMember;  // in the configuration it was last in
    uint64_t store = 0;       // the coordination store's own id
    bool copied = false;      // the folder was copied from a member of the set
    int32_t rollback_id = 1;  // raised whenever what the folder showed may have been taken back
  };
  struct Seen {  // of another member
    engine::MemberState state = engine::MemberState::kUnknown;
    int64_t wall_millis = 0;      // its last answer
    int64_t received_millis = 0;  // its last message
    Millis at = 0;                // its last answer, by our clock
    int64_t ping_millis = 0;
    int64_t uptime_seconds = 0;
    bool down = false;
    std::string problem;
  };
  struct TimeWait {
    uint64_t time = 0;
    bool committed = false;
    std::shared_ptr<AnswerState> state;
  };
  struct OpenCommand {
    std::string what;
    engine::AnswerFunction answer;
  };
  // Slots that came with the Append that is being stepped.
  struct Incoming {
    std::vector<engine::LogSlot> slots;
    Answered answer;
  };

  // --- member.cc: the start
  // What the folder, or the copy in it, remembers of the member.
  Status TakeStored(bson::View stored);
  void MakeSender();
  void ListenToLog();

  // --- member.cc: the thread
  void Run();
  void OnTick();
  void Step(const Input& input);
  void AfterStep();
  void NoteElection();
  Millis Now() const;
  void Fail(const Status& why);
  // Runs `write` until it no longer fails for want of room on the disk.
  Status OnceThereIsRoom(const std::function<Status()>& write);
  void StartAgain(const std::string& why);

  // --- actions.cc
  void Do(const Persist& persist);
  void Do(const Send& send);
  void Do(const WriteKeys& write);
  void Do(const ReadKeys&);
  void Do(const AppendLog& append);
  void Do(const SyncLog& sync);
  void Do(const CutLog& cut);
  void Do(const Apply& apply);
  void Do(const KeepSnapshot&);
  void Do(const OpenLog& open);
  void Do(const CloseLog&);
  void Do(const PauseWrites& pause);
  void Do(const WriteNoop& noop);
  void Do(const Committed& committed);
  void Do(const Resync& resync);
  void Do(const Answer& answer);
  void Do(const CommandDone& done);
  void Do(const Become& become);
  void AppendQueued();
  void KickApply();
  void ApplySome();
  uint64_t ApplyLimit() const;
  void PostNoop(uint64_t token, const char* text);
  // `ended`: the process ends in order, and the folder takes no more.
  bson::Document LocalDocument(const Local& local, bool ended = false) const;
  // Writes what the member knows of itself; `lazily`: some time.
  void KeepLocal(bool lazily = false);
  void RaiseRollbackId();

  // --- join.cc: finding the set, and this member in it
  void ReadKeysSoon();
  // On the member's thread, when the store has answered or does not.
  void ReadKeysThen(std::function<void()> then);
  void OnEntries(const coord::Position& position, std::vector<coord::Entry> entries);
  bool KnownStore(const coord::Position& position, Counter counter);
  void NoteLostKeys(const coord::Position& position);
  void Discover(const View& view);
  void FindSelf(const SetConfig& config, std::function<void(MemberId)> found);
  void LookForNewNumber();
  void Found(MemberId id, const View& view);
  void MakeCore(MemberId id, const View& view);
  void CopyFrom(const std::string& host);
  std::string SourceOfCopy() const;

  // --- messages.cc
  void AppendEnvelope(bson::Builder* body) const;
  void SendTo(const std::string& host, const char* lane, const bson::Document& body,
              std::chrono::milliseconds timeout, peer::Done done);
  void SendMessage(MemberId to, const Message& message);
  void SendProbe(MemberId to);
  void TakeReply(MemberId from, const Result<bson::Document>& reply, Millis sent);
  void OnLink(const std::string& host, peer::LinkEvent event);
  void ReceiveSlots(bson::View body, Answered answer);
  void ReceiveMessage(bson::View body, Message message);
  bson::Document Introduction() const;
  bool HasUserData() const;

  // --- status.cc
  void Publish();
  engine::MemberState ShownState() const;
  void FillMembers(engine::SetStatus* status) const;
  engine::MemberStatus OwnStatus() const;
  engine::MemberStatus StatusOfPeer(const MemberConfig& member) const;
  bson::Document SpreadDocument() const;
  void TakeSpread(bson::View body);
  Position PositionAt(Time time) const;
  MemberId Primary() const;

  // --- waits.cc
  void CheckTimeWaits();
  void AskForNoop(uint64_t time);

  // --- commands.cc
  struct Founding;
  void CheckOthers(const std::shared_ptr<Founding>& founding);
  void Found(const std::shared_ptr<Founding>& founding);

  engine::Engine& engine_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  const std::unique_ptr<coord::Store> store_;
  const KeyNames names_;
  const Boot boot_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();

  // Published.
  mutable Mutex published_mutex_;
  std::shared_ptr<const engine::SetStatus> status_ QUIRE_GUARDED_BY(published_mutex_);
  std::shared_ptr<const SetConfig> config_ QUIRE_GUARDED_BY(published_mutex_);
  std::atomic<MemberId> self_id_{kNoMember};

  // Parts of slots that are larger than a message, by sender.
  Mutex parts_mutex_;
  struct Parts {
    int64_t piece = 0;  // the sender's number of the message that they are parts of
    int64_t count = 0;
    std::string bytes;
  };
  std::map<MemberId, Parts> parts_ QUIRE_GUARDED_BY(parts_mutex_);

  // The folder. `log_mutex_`: append, cut, apply, open and close happen one at a time.
  Mutex log_mutex_;
  Mutex local_mutex_;
  uint64_t local_saved_ QUIRE_GUARDED_BY(local_mutex_) = 0;
  uint64_t local_version_ = 0;
  // What the leader sent and the log does not hold yet.
  struct Queued {
    std::vector<engine::LogSlot> slots;
    size_t bytes = 0;
    std::vector<Answered> answers;  // of those who wait until it is written
    bool posted = false;
  };
  Mutex queued_mutex_;
  Queued queued_ QUIRE_GUARDED_BY(queued_mutex_);
  std::atomic<Time> appended_{0};      // written to the log up to here
  std::atomic<Time> apply_target_{0};  // what is to be applied
  std::atomic<bool> apply_posted_{false};
  std::atomic<Millis> delay_{0};
  std::atomic<bool> apply_stopped_{false};  // by options.applies_nothing
  std::atomic<bool> grown_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> began_again_{false};
  std::atomic<int> writes_under_way_{0};
  std::atomic<bool> read_posted_{false};

  // The member's own.
  std::unique_ptr<Core> core_;
  std::vector<Action> actions_;
  MemberId self_ = kNoMember;
  Identity identity_;
  Local local_;
  engine::ReplicaStart start_;
  std::vector<coord::Entry> entries_;  // of the newest keys
  Counter entries_counter_ = 0;
  std::optional<coord::Position> lost_keys_;  // where they should be
  std::shared_ptr<const SetConfig> set_;      // the configuration in force
  std::map<MemberId, std::string> hosts_;
  std::optional<Incoming> incoming_;
  std::map<MemberId, Seen> seen_;
  std::map<MemberId, engine::MemberStatus> spread_;  // what the leader says of the others
  Millis spread_at_ = -1;
  std::map<WaiterId, std::shared_ptr<AnswerState>> waits_;
  std::atomic<WaiterId> last_wait_{0};
  std::atomic<uint64_t> last_asked_{0};
  std::vector<TimeWait> time_waits_;
  Millis noop_asked_ = -1;
  std::map<CommandId, OpenCommand> commands_;
  std::atomic<CommandId> last_command_{0};
  bool dirty_ = true;
  std::shared_ptr<const SetConfig> shown_set_;
  Epoch shown_epoch_ = 0;
  bson::Document shown_config_;
  bool rolling_back_ = false;
  bool copying_ = false;
  bool given_up_ = false;  // the folder: it takes no more part in the set
  bool finding_ = false;
  bool founding_ = false;
  bool other_store_told_ = false;
  std::string copy_message_;
  Millis next_probe_ = 0;
  Millis next_read_ = 0;
  Millis next_expire_ = 0;
  Millis next_tidy_ = 0;
  Millis next_copy_ = 0;
  int64_t election_wall_millis_ = 0;
  Position election_;
  Position seen_at_election_;
  Position applied_at_election_;
  Position committed_at_election_;

  std::thread thread_;
  Worker disk_;     // appends and syncs
  Worker applier_;  // applies, writes no-ops, closes the log
  Worker store_writes_;
  Worker store_reads_;
  Worker copies_;  // as source
  Worker copier_;  // as target
  std::unique_ptr<CopySource> source_;
  std::unique_ptr<LogSender> sender_;
  std::unique_ptr<peer::Pool> pool_;
  std::unique_ptr<coord::Watcher> watcher_;

 public:
  Bell* changed = nullptr;  // Replication's
};

}  // namespace quire::repl
