// SPDX-License-Identifier: Apache-2.0
//
// What an administrator asks for.
#include <algorithm>
#include <utility>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"
#include "quire/doc.h"
#include "repl/config/set_config.h"
#include "repl/member/member_internal.h"
#include "repl/message/codec.h"
#include "request/reply.h"

namespace quire::repl {
namespace {

constexpr std::chrono::seconds kCheckTimeout{5};
constexpr std::chrono::seconds kStoreTimeout{5};
// A forced configuration is newer than any that others may have made meanwhile.
constexpr uint64_t kForcedStep = 10000;

Status NotInConfig(const SetConfig& config, Epoch term, int code) {
  return {code, "No host described in new configuration with " +
                    VersionAndTerm(config.version, term) + " for replica set " + SetNameOf(config) +
                    " maps to this node"};
}

std::string_view NameOf(engine::MemberState state) {
  switch (state) {
    case engine::MemberState::kPrimary:
      return "PRIMARY";
    case engine::MemberState::kSecondary:
      return "SECONDARY";
    case engine::MemberState::kRecovering:
      return "RECOVERING";
    case engine::MemberState::kStartup2:
      return "STARTUP2";
    case engine::MemberState::kRollback:
      return "ROLLBACK";
    case engine::MemberState::kRemoved:
      return "REMOVED";
    default:
      return "STARTUP";
  }
}

// The status of a command that the state machine ended with `code`.
Status Explain(const std::string& what, int code) {
  switch (code) {
    case 0:
      return Status::Ok();
    case kNotWritablePrimary:
      return {code, what == "stepDown" ? "not primary so can't step down" : "not primary"};
    case kExceededTimeLimit:
      return {code,
              "No electable secondaries caught up as of " + bson::Date::Now().ToIso() +
                  ". Please use the replSetStepDown command with the argument {force: true} to "
                  "force node to step down."};
    case kNotSecondary:
      return {code, "cannot freeze node when primary or running for election. state: Primary"};
    case kConfigurationInProgress:
      return {code,
              "Cannot run replSetReconfig because the node is currently updating its "
              "configuration"};
    case kNewReplicaSetConfigurationIncompatible:
      return {code,
              "too few of the members that hold the newest data would be voters of the new "
              "configuration"};
    case kPrimarySteppedDown:
      return {code, "Primary stepped down before the command was done"};
    case kCommandFailed:
      return {code, what == "stepUp" ? "Election failed."
                    : what == "force"
                        ? "The set cannot be recovered from this member: it has to have no "
                          "primary, to hold data of its own that is not being copied anew, and "
                          "to reach the coordination store; and a majority has to answer unless "
                          "data is lost for ever"
                        : "the command failed"};
    default:
      return {code, "the command failed"};
  }
}

}  // namespace

void Member::Impl::Command(Input input, CommandId id, const char* what,
                           engine::AnswerFunction answer) {
  if (!core_) {
    answer({kNotYetInitialized, "no replset config has been received"});
    return;
  }
  commands_.emplace(id, OpenCommand{what, std::move(answer)});
  Step(input);
}

void Member::Impl::Do(const CommandDone& done) {
  auto found = commands_.find(done.id);
  if (found == commands_.end()) {
    return;
  }
  OpenCommand command = std::move(found->second);
  commands_.erase(found);
  Publish();
  Status status = Explain(command.what, done.code);
  if (auto other = hosts_.find(done.hint); other != hosts_.end() && done.hint != self_) {
    status = {done.code, "The member " + other->second + " holds newer data: recover from there"};
  }
  command.answer(std::move(status));
}

Status Member::Impl::SetMaintenance(bool on) {
  const auto shown = status();
  if (shown->state == engine::MemberState::kPrimary) {
    return {kNotSecondary, "primaries can't modify maintenance mode"};
  }
  if (on) {
    ++maintenance;
  } else {
    int now = maintenance;
    while (now > 0 && !maintenance.compare_exchange_weak(now, now - 1)) {
    }
    if (now == 0) {
      return {kOperationFailed, "already out of maintenance mode"};
    }
  }
  Post([this] { dirty_ = true; });
  return Status::Ok();
}

void Member::Impl::Reconfigure(const bson::Document& config, bool force,
                               engine::AnswerFunction answer) {
  if (!core_ || !set_) {
    answer({kNotYetInitialized, "no replset config has been received"});
    return;
  }
  if (!force && core_->state() != MemberState::kPrimary) {
    answer(
        {kNotWritablePrimary,
         "New config is rejected :: caused by :: replSetReconfig should only be run on a writable "
         "PRIMARY. Current state " +
             std::string(NameOf(ShownState())) + ";"});
    return;
  }
  auto parsed = ParseConfig(config);
  if (!parsed.ok()) {
    answer(parsed.status());
    return;
  }
  auto next = std::make_shared<SetConfig>(*std::move(parsed));
  const SetConfig now = *set_;
  const bson::View old_document(now.document.data());
  const bson::Value id = old_document["settings"].AsDocument()["replicaSetId"];
  Status checked = CheckConfig(*next, kNewReplicaSetConfigurationIncompatible);
  if (checked.ok()) {
    checked = CheckReconfig(now, *next, core_->epoch(), force);
  }
  if (!checked.ok()) {
    answer(checked);
    return;
  }
  if (id.type() == bson::Type::kObjectId) {
    auto with_id = ParseConfig(WithSetId(bson::View(next->document.data()), id.AsObjectId()));
    if (with_id.ok()) {
      next->document = with_id->document;
    }
  }
  const auto hosts = HostsOf(*next);
  auto own = hosts.find(self_);
  if (own == hosts.end() || next->Find(self_) == nullptr) {
    answer(NotInConfig(*next, core_->epoch(), kNodeNotFound));
    return;
  }
  const CommandId command = NextCommand();
  if (force && !core_->leading()) {
    next->version = std::max(next->version, now.version) + kForcedStep;
    // It will be in sync itself, whether or not it has heard that it was.
    for (MemberConfig& member : next->members) {
      member.newly_added = member.votes && member.id != self_ && !now.Votes(member.id);
    }
    // What the store holds now decides whether anything has to be lost.
    ReadKeysThen([this, command, next = std::move(next), answer = std::move(answer)]() mutable {
      Recover(command, std::move(next), std::move(answer));
    });
    return;
  }
  if (force) {
    next->version = std::max(next->version, now.version) + kForcedStep;
  }
  Command(ReconfigCommand{command, std::move(next)}, command, "reconfig", std::move(answer));
}

void Member::Impl::Recover(CommandId command, std::shared_ptr<const SetConfig> config,
                           engine::AnswerFunction answer) {
  if (lost_keys_) {
    // Nothing has to be lost with them: a majority has to answer.
    identity_.store = lost_keys_->cluster;
    View anew = core_->view();
    anew.leader.version = anew.isr.version = anew.config.version = {};
    Step(Hint{std::move(anew)});
  }
  Command(RecoverCommand{command, /*accept_loss=*/!lost_keys_, std::move(config)}, command, "force",
          std::move(answer));
}

// --- A new set

struct Member::Impl::Founding {
  SetConfig config;
  MemberId self = kNoMember;
  engine::AnswerFunction answer;
  size_t left = 0;
  std::string problems;
  int code = kNodeNotFound;
};

void Member::Impl::Initiate(const bson::Document& wanted, engine::AnswerFunction answer) {
  if (core_ || set_ || copying_) {
    answer({kAlreadyInitialized, "already initialized"});
    return;
  }
  if (founding_) {
    answer({kConfigurationInProgress, "replSetInitiate is already running"});
    return;
  }
  bson::Document document = wanted;
  if (wanted.empty()) {
    document = Doc("_id", options.set_name, "version", 1, "members",
                   List(Doc("_id", 0, "host", options.hosts.empty() ? "" : options.hosts.front())));
  } else if (!wanted.view().Has("version")) {
    bson::Builder with;
    with.AppendFields(wanted).Append("version", 1);
    document = with.Finish();
  }
  auto parsed = ParseConfig(WithSetId(document, bson::ObjectId::Generate()));
  Status checked = parsed.status();
  if (checked.ok()) {
    checked = CheckConfig(*parsed, kInvalidReplicaSetConfig);
  }
  if (checked.ok() && SetNameOf(*parsed) != options.set_name) {
    checked = {kInvalidReplicaSetConfig, "Attempting to initiate a replica set with name " +
                                             SetNameOf(*parsed) + ", but command line reports " +
                                             options.set_name + "; rejecting"};
  }
  if (!checked.ok()) {
    answer(checked);
    return;
  }
  founding_ = true;
  auto founding = std::make_shared<Founding>();
  founding->config = *std::move(parsed);
  founding->answer = [this, answer = std::move(answer)](const Status& status) {
    founding_ = false;
    answer(status);
  };
  FindSelf(founding->config, [this, founding](MemberId self) {
    founding->self = self;
    if (self == kNoMember || !founding->config.Electable(self)) {
      founding->answer(self == kNoMember
                           ? NotInConfig(founding->config, 0, kInvalidReplicaSetConfig)
                           : Status(kInvalidReplicaSetConfig,
                                    "This node is not electable under the new "
                                    "configuration"));
      return;
    }
    CheckOthers(founding);
  });
}

void Member::Impl::CheckOthers(const std::shared_ptr<Founding>& founding) {
  const auto hosts = HostsOf(founding->config);
  founding->left = hosts.size() - 1;
  if (founding->left == 0) {
    Found(founding);
    return;
  }
  for (const auto& [id, host] : hosts) {
    if (id == founding->self) {
      continue;
    }
    bson::Builder body;
    AppendEnvelope(&body);
    body.Append("probe", true);
    SendTo(host, "beacon", body.Finish(), kCheckTimeout,
           [this, founding, host = host](Result<bson::Document> reply) {
             Post([this, founding, host, reply = std::move(reply)] {
               const Status status = reply.ok() ? request::StatusOf(*reply) : reply.status();
               std::string problem;
               auto flag = [&](const char* name) {
                 const bson::Value value = (*reply)[name];
                 return value.type() == bson::Type::kBool && value.AsBool();
               };
               if (!status.ok()) {
                 problem = host + " failed with " + status.message();
               } else if (flag("initiated")) {
                 problem = host + " failed with already initialized";
               } else if (flag("hasData")) {
                 founding->code = kCannotInitializeNodeWithData;
                 problem = "'" + host + "' has data already, cannot initiate set.";
               }
               if (!problem.empty()) {
                 founding->problems += (founding->problems.empty() ? "" : ", ") + problem;
               }
               if (--founding->left > 0) {
                 return;
               }
               if (founding->problems.empty()) {
                 Found(founding);
               } else {
                 founding->answer({founding->code,
                                   "replSetInitiate quorum check failed because not all proposed "
                                   "set members responded affirmatively: " +
                                       founding->problems});
               }
             });
           });
  }
}

void Member::Impl::Found(const std::shared_ptr<Founding>& founding) {
  // The folder's number has to outlive this process: the set is about to hang on it.
  const bson::Document local = LocalDocument(local_);
  if (Status saved = data->SaveLocal(local); !saved.ok()) {
    founding->answer(saved);
    return;
  }
  View view;
  for (MemberConfig& member : founding->config.members) {
    member.newly_added = member.votes && member.id != founding->self;
  }
  view.leader.leader = {0, founding->self, 0};  // nobody yet: the founder stands for election
  view.isr.members.Add({founding->self, local_.data});
  view.stamp.counter = 1;
  view.config.config = std::make_shared<const SetConfig>(founding->config);
  const std::string host = HostsOf(founding->config).at(founding->self);
  store_writes_.Post([this, founding,
                      transaction = EncodeFirst(names_, view, Nonce{boot_, 0}, host)] {
    auto answer = store_->Transact(transaction, std::chrono::steady_clock::now() + kStoreTimeout);
    Post([this, founding, answer = std::move(answer)] {
      if (!answer.ok()) {
        founding->answer(answer.status().WithPrefix(
            "whether the set was made is open, the coordination store did not answer: "));
        ReadKeysSoon();
        return;
      }
      auto keys = DecodeKeys(names_, answer->entries);
      const bool ours = keys.ok() && *keys && (*keys)->stamp.nonce == Nonce{boot_, 0};
      if (!answer->done && !ours) {
        founding->answer({kAlreadyInitialized, "already initialized"});
        ReadKeysSoon();
        return;
      }
      OnEntries(answer->position, answer->entries);
      founding->answer(Status::Ok());
    });
  });
}

}  // namespace quire::repl
