// SPDX-License-Identifier: Apache-2.0
#include "repl/member/member.h"

#include <algorithm>
#include <utility>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/try.h"
#include "engine/own_state.h"
#include "repl/config/set_config.h"
#include "repl/member/member_internal.h"
#include "repl/member/random_id.h"
#include "repl/message/codec.h"
#include "repl/message/fields.h"
#include "request/reply.h"

namespace quire::repl {
namespace {

// Between two looks at the clock; what happens in between does not wait for it.
constexpr Millis kTick = 20;
constexpr Millis kProbe = 1000;      // without a leader
constexpr Millis kReadAlone = 1000;  // the keys, before there is a set
constexpr Millis kIdleNoop = 10000;
constexpr Millis kExpireCopies = 10000;
constexpr Millis kTidy = 1000;

}  // namespace

Member::Impl::Impl(engine::Engine& engine, std::unique_ptr<engine::ReplicaData> replica,
                   std::unique_ptr<coord::Store> store, MemberOptions wanted)
    : options(std::move(wanted)),
      data(std::move(replica)),
      engine_(engine),
      store_(std::move(store)),
      names_(options.cluster, options.set_name),
      boot_(RandomId()),
      status_(std::make_shared<engine::SetStatus>()) {}

Millis Member::Impl::Now() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               began_)
             .count() +
         1;
}

Status Member::Impl::TakeStored(bson::View stored) {
  FieldReader in(stored);
  if (in.Text("set") != options.set_name) {
    return {kInconsistentReplicaSetNames, "The folder belongs to the replica set '" +
                                              std::string(in.Text("set")) + "', not to '" +
                                              options.set_name + "'"};
  }
  ASSIGN_OR_RETURN(local_, DecodeLocal(in.Document("core")));
  identity_.id = in.Member("id");
  identity_.store = in.Number("store");
  identity_.copied = in.Bool("copied");
  if (!stored["rollbackId"].missing()) {  // else the folder is an older version's
    identity_.rollback_id = static_cast<int32_t>(in.Signed("rollbackId"));
    // Whoever ends in another way may have lost the end of the log.
    if (!in.Bool("ended")) {
      RaiseRollbackId();
    }
  }
  for (const bson::Element& element : in.Document("keys", true)) {
    FieldReader key(element.value().AsDocument());
    coord::Entry& entry = entries_.emplace_back();
    entry.key = key.Text("key");
    entry.value = key.Text("value");
    entry.modified = key.Signed("modified");
  }
  if (!in.ok()) {
    return {kFailedToParse, "The folder's place in its replica set cannot be read"};
  }
  return Status::Ok();
}

void Member::Impl::MakeSender() {
  sender_ = std::make_unique<LogSender>(
      data.get(), [this](bson::Builder* body) { AppendEnvelope(body); },
      [this](MemberId to, const bson::Document& body, std::function<void(bool)> done) {
        std::string host;
        if (auto config = shared_config()) {
          auto hosts = HostsOf(*config);
          host = hosts.contains(to) ? hosts.at(to) : "";
        }
        constexpr std::chrono::seconds kTimeout{30};
        SendTo(host, "log", body, kTimeout,
               [done = std::move(done)](const Result<bson::Document>& reply) {
                 done(reply.ok() && request::StatusOf(*reply).ok());
               });
      },
      [this] {
        Post([this] {
          if (core_ && core_->leading()) {
            Step(Trimmed{PositionAt(core_->commit())});
          }
        });
      });
}

void Member::Impl::ListenToLog() {
  data->OnGrown([this, inbox = inbox_] {
    if (!grown_.exchange(true)) {
      inbox->Post([this] {
        grown_ = false;
        if (core_) {
          Step(Grown{data->Visible()});
        }
      });
    }
  });
  data->OnBroken([this, inbox = inbox_](const Status& why) {
    log::Error("REPL", "The log cannot be written; another member has to lead",
               {{"error", why.ToString()}});
    inbox->Post([this] {
      if (core_) {
        Step(LogBroken{});
      }
    });
  });
}

Status Member::Impl::Start(peer::PoolOptions peers) {
  ASSIGN_OR_RETURN(start_, data->Start());
  ASSIGN_OR_RETURN(std::optional<bson::Document> copy, IdentityOfCopy(options.dbpath));
  const bson::View stored = copy ? copy->view() : start_.local.view();
  local_.data = RandomId();
  if (!stored.empty()) {
    RETURN_IF_ERROR(TakeStored(stored));
    const bson::Document local = LocalDocument(local_);
    RETURN_IF_ERROR(data->SaveLocal(local));
  }
  if (copy) {
    RETURN_IF_ERROR(engine::ForgetSource(engine_));
    RETURN_IF_ERROR(ForgetCopy(options.dbpath));
  }
  appended_ = start_.log.ends.empty() ? start_.log.begin.time : start_.log.ends.back().time;

  peers.on_link = [this](const std::string& host, peer::LinkEvent event) {
    Post([this, host, event] { OnLink(host, event); });
  };
  ASSIGN_OR_RETURN(pool_, peer::Pool::Start(std::move(peers)));
  source_ = std::make_unique<CopySource>(data.get(), options.dbpath);
  MakeSender();
  for (Worker* worker : {&disk_, &applier_, &store_writes_, &store_reads_, &copies_, &copier_}) {
    RETURN_IF_ERROR(worker->Start());
  }
  RETURN_IF_ERROR(sender_->Start());
  ListenToLog();
  if (identity_.id != kNoMember) {
    ASSIGN_OR_RETURN(std::optional<View> view, DecodeKeys(names_, entries_));
    if (view) {
      MakeCore(identity_.id, *view);
    }
  }
  Publish();
  ASSIGN_OR_RETURN(thread_, StartThread([this] { Run(); }));
  auto watcher = store_->Watch(names_.prefix, [this] { Post([this] { ReadKeysSoon(); }); });
  if (watcher.ok()) {
    watcher_ = *std::move(watcher);
  }
  return Status::Ok();
}

Member::Impl::~Impl() {
  stopping_ = true;
  inbox_->Close();
  if (thread_.joinable()) {
    thread_.join();
  }
  watcher_.reset();
  data->OnGrown([] {});
  data->OnBroken([](const Status&) {});
  if (sender_) {
    sender_->Stop();
  }
  for (Worker* worker : {&disk_, &applier_, &store_writes_, &store_reads_, &copies_, &copier_}) {
    worker->Stop();
  }
  pool_.reset();
  if (core_) {
    // When it fails, the next process takes this one for one that was killed.
    const bson::Document local = LocalDocument(local_, true);
    (void)data->SaveLocal(local);
  }
  const Status ends(kInterruptedAtShutdown, "interrupted at shutdown");
  for (auto& [id, wait] : waits_) {
    wait->Give(ends);
  }
  for (TimeWait& wait : time_waits_) {
    wait.state->Give(ends);
  }
  for (auto& [id, command] : commands_) {
    command.answer(ends);
  }
}

void Member::Impl::Run() {
  std::vector<Inbox::Task> tasks;
  Millis next = 0;
  while (!inbox_->closed()) {
    const Millis wait = std::max<Millis>(next - Now(), 0);
    inbox_->Take(std::chrono::steady_clock::now() + std::chrono::milliseconds(wait), &tasks);
    if (Now() >= next) {
      next = Now() + kTick;
      OnTick();
    }
    for (Inbox::Task& task : tasks) {
      task();
    }
    tasks.clear();
    CheckTimeWaits();
    if (dirty_) {
      Publish();
    }
  }
}

void Member::Impl::OnTick() {
  const Millis now = Now();
  if (core_) {
    Step(Tick{now});
  } else if (now >= next_read_) {
    next_read_ = now + kReadAlone;
    ReadKeysSoon();
  }
  const bool alone = core_ && !core_->leading() && now - spread_at_ > kProbe;
  if (alone && now >= next_probe_) {
    next_probe_ = now + kProbe;
    for (const auto& [id, host] : hosts_) {
      if (id != self_) {
        SendProbe(id);
      }
    }
    LookForNewNumber();
  }
  if (delay_ > 0 || apply_stopped_.exchange(false)) {
    KickApply();
  }
  if (core_ && core_->log_open() && !engine_.writable) {
    Step(LogBroken{});
  }
  if (core_ && core_->writable()) {
    const auto wall = static_cast<Millis>(bson::Date::Now().millis);
    const auto last = static_cast<Millis>(data->LastSlot().time >> 32) * 1000;
    if (wall - last >= kIdleNoop && now >= noop_asked_ + kIdleNoop) {
      noop_asked_ = now;
      PostNoop(0, "periodic noop");
    }
  }
  if (core_ && now >= next_tidy_) {
    next_tidy_ = now + kTidy;
    applier_.Post([this] { data->Tidy(); });
  }
  if (now >= next_expire_) {
    next_expire_ = now + kExpireCopies;
    copies_.Post([this] { source_->Expire(std::chrono::steady_clock::now()); });
  }
  if (copying_ && next_copy_ != 0 && now >= next_copy_) {
    next_copy_ = 0;
    CopyFrom(SourceOfCopy());
  }
}

void Member::Impl::Step(const Input& input) {
  if (given_up_) {
    return;
  }
  actions_.clear();
  const bool was_primary = core_->state() == MemberState::kPrimary;
  const Epoch before = core_->epoch();
  core_->Step(input, &actions_);
  if (core_->epoch() != before && !std::holds_alternative<Started>(input)) {
    NoteElection();
  }
  if (was_primary && core_->state() != MemberState::kPrimary) {
    Publish();  // before anybody is refused: the refusal carries the new topologyVersion
  }
  std::vector<CommandDone> done;
  for (const Action& action : actions_) {
    if (const auto* command = std::get_if<CommandDone>(&action)) {
      done.push_back(*command);
    } else {
      std::visit([this](const auto& one) { Do(one); }, action);
    }
  }
  AfterStep();
  // Whoever is told of it may look at once: last, when the new configuration is there.
  for (const CommandDone& one : done) {
    Do(one);
  }
}

void Member::Impl::NoteElection() {
  election_wall_millis_ = bson::Date::Now().millis;
  seen_at_election_ = core_->log().last();
  applied_at_election_ = PositionAt(core_->applied());
  committed_at_election_ = PositionAt(core_->commit());
}

void Member::Impl::AfterStep() {
  dirty_ = true;
  sender_->set_commit(core_->commit());
  const View& view = core_->view();
  if (!view.known() || view.config.config == set_) {
    return;
  }
  set_ = view.config.config;
  hosts_ = HostsOf(*set_);
  const MemberConfig* own = set_->Find(self_);
  delay_ = own == nullptr ? 0 : own->delay;
  {
    MutexLock lock(published_mutex_);
    config_ = set_;
  }
  LookForNewNumber();
}

// Its number is given for life: with another one it is another member.
void Member::Impl::LookForNewNumber() {
  if (finding_ || set_->Find(self_) != nullptr) {
    return;
  }
  finding_ = true;
  FindSelf(*set_, [this](MemberId id) {
    finding_ = false;
    if (id != kNoMember && set_->Find(self_) == nullptr && set_->Find(id) != nullptr) {
      identity_.id = kNoMember;
      Do(Persist{core_->local()});
      StartAgain("this member has another _id in the new configuration");
    }
  });
}

void Member::Impl::Fail(const Status& why) {
  log::Error("REPL", "The member's folder cannot be used any more", {{"error", why.ToString()}});
  options.failed(why);
}

void Member::Impl::StartAgain(const std::string& why) {
  if (!began_again_.exchange(true)) {
    log::Info("REPL", "The process starts again", {{"reason", why}});
    options.start_again();
  }
}

std::shared_ptr<const engine::SetStatus> Member::Impl::status() const {
  MutexLock lock(published_mutex_);
  return status_;
}

std::shared_ptr<const SetConfig> Member::Impl::shared_config() const {
  MutexLock lock(published_mutex_);
  return config_;
}

// --- The face

Result<std::unique_ptr<Member>> Member::Start(engine::Engine& engine,
                                              std::unique_ptr<engine::ReplicaData> data,
                                              std::unique_ptr<coord::Store> store,
                                              peer::PoolOptions peers, MemberOptions options) {
  std::unique_ptr<Member> member(new Member(
      std::make_unique<Impl>(engine, std::move(data), std::move(store), std::move(options))));
  member->impl_->changed = &member->changed;
  RETURN_IF_ERROR(member->impl_->Start(std::move(peers)));
  return member;
}

Member::Member(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Member::~Member() = default;

const std::string& Member::set_name() const { return impl_->options.set_name; }
std::shared_ptr<const engine::SetStatus> Member::status() const { return impl_->status(); }
bool Member::writes_paused() const { return impl_->paused; }
engine::ReplicaData& Member::data() { return *impl_->data; }

void Member::AskPrimary(bson::Document command, std::chrono::milliseconds timeout,
                        std::function<void(Result<bson::Document>)> answer) {
  impl_->AskPrimary(command, timeout, std::move(answer));
}

void Member::Initiate(bson::Document config, engine::AnswerFunction answer) {
  impl_->Post([this, config = std::move(config), answer = std::move(answer)] {
    impl_->Initiate(config, answer);
  });
}

void Member::Reconfigure(bson::Document config, bool force, engine::AnswerFunction answer) {
  impl_->Post([this, config = std::move(config), force, answer = std::move(answer)] {
    impl_->Reconfigure(config, force, answer);
  });
}

void Member::StepDown(std::chrono::milliseconds stay_down, std::chrono::milliseconds catch_up,
                      bool force, engine::AnswerFunction answer) {
  const CommandId id = impl_->NextCommand();
  StepDownCommand command{id, stay_down.count(), catch_up.count(), force};
  impl_->Post([this, id, command, answer = std::move(answer)] {
    impl_->Command(command, id, "stepDown", answer);
  });
}

void Member::StepUp(engine::AnswerFunction answer) {
  const CommandId id = impl_->NextCommand();
  impl_->Post([this, id, answer = std::move(answer)] {
    impl_->Command(StepUpCommand{id}, id, "stepUp", answer);
  });
}

void Member::Freeze(std::chrono::milliseconds duration, engine::AnswerFunction answer) {
  const CommandId id = impl_->NextCommand();
  impl_->Post([this, id, duration, answer = std::move(answer)] {
    impl_->Command(FreezeCommand{id, duration.count()}, id, "freeze", answer);
  });
}

Status Member::SetMaintenance(bool on) { return impl_->SetMaintenance(on); }

void Member::Receive(bson::Document message, std::function<void(Result<bson::Document>)> answer) {
  impl_->Receive(std::move(message), std::move(answer));
}

}  // namespace quire::repl
