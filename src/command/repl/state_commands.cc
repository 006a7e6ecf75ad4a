// SPDX-License-Identifier: Apache-2.0
//
// Commands that change what a member of a set does: step down and up, freeze, maintenance, source
// and size of the log; and the messages of other members.
#include <array>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "command/authorise.h"
#include "command/repl/commands.h"
#include "command/repl/config.h"
#include "command/repl/set_view.h"
#include "engine/own_state.h"
#include "engine/replication.h"
#include "request/fields.h"
#include "store/log/note.h"

namespace quire::command::repl {

namespace {

using engine::MemberState;
using engine::SetStatus;
using std::chrono::seconds;

// An administrator waits for no longer than this.
constexpr int64_t kMostSeconds = int64_t{366} * 24 * 60 * 60;

Result<std::shared_ptr<const SetStatus>> StatusOfMember(Invocation& i) {
  auto status = i.engine.replication->status();
  if (!status->initiated) {
    return Status(kNotYetInitialized, "no replset config has been received");
  }
  return status;
}

// Whether MongoDB would let `self` copy from `source`.
Status CheckSource(const SetStatus& status, const SetMember& self, const SetMember& source) {
  const std::string host(source.host);
  if (source.id == self.id) {
    return {kInvalidOptions, "I cannot sync from myself"};
  }
  const std::string refused = "Cannot sync from \"" + host + "\" because it ";
  if (!source.builds_indexes && self.builds_indexes) {
    return {kInvalidOptions, refused + "does not build indexes"};
  }
  if (source.votes == 0 && self.votes > 0) {
    return {kInvalidOptions, refused + "is not a voter"};
  }
  const engine::MemberStatus* known = FindStatus(status, source.id);
  if (known == nullptr || !known->healthy) {
    return {kHostUnreachable, "I cannot reach the requested member: " + host};
  }
  return Status::Ok();
}

Status CheckSize(const bson::Element& size) {
  constexpr double kLeastMegabytes = 990;
  constexpr double kMostMegabytes = 1024.0 * 1024 * 1024;
  if (!size.value().is_number() || size.type() == bson::Type::kDecimal128) {
    return request::WrongType("replSetResizeOplog", size, "double");
  }
  const double megabytes = bson::ToDouble(size.value());
  if (!(megabytes >= kLeastMegabytes) || megabytes > kMostMegabytes) {
    return {51024, "BSON field 'size' value must be >= 990, actual value '" +
                       bson::ToJson(size.value()) + "'"};
  }
  return Status::Ok();
}

}  // namespace

Status StepDown(Invocation& i) {
  constexpr int64_t kDefaultSeconds = 60;
  constexpr int64_t kDefaultCatchUp = 10;
  if (i.engine.replication == nullptr) {
    return {kExceededTimeLimit,
            "No electable secondaries caught up as of now. Please use the replSetStepDown command "
            "with the argument {force: true} to force node to step down."};
  }
  const bool force = Truthy(i.body()["force"]);
  const bson::Value argument = i.body().front().value();
  int64_t stay_down = argument.is_number() ? bson::ClampedInt64(argument) : 0;
  if (stay_down == 0) {
    stay_down = kDefaultSeconds;
  }
  if (stay_down < 0) {
    return {kBadValue, "stepdown period must be a positive integer"};
  }
  const bson::Element given = i.body().Find("secondaryCatchUpPeriodSecs");
  int64_t catch_up = force ? 0 : std::min(kDefaultCatchUp, stay_down);
  if (given.present()) {
    if (!given.value().is_number()) {
      return request::WrongType("replSetStepDown", given, "long");
    }
    catch_up = bson::ClampedInt64(given.value());
  }
  if (catch_up < 0) {
    return {kBadValue, "secondaryCatchUpPeriodSecs period must be a positive or absent"};
  }
  if (stay_down < catch_up) {
    return {kBadValue, "stepdown period must be longer than secondaryCatchUpPeriodSecs"};
  }
  ASSIGN_OR_RETURN(const auto status, StatusOfMember(i));
  if (status->state != MemberState::kPrimary) {
    return {kNotWritablePrimary, "not primary so can't step down"};
  }
  return AwaitAnswer(i, [&](engine::AnswerFunction answer) {
    i.engine.replication->StepDown(seconds(std::min(stay_down, kMostSeconds)),
                                   seconds(std::min(catch_up, kMostSeconds)), force,
                                   std::move(answer));
  });
}

Status StepUp(Invocation& i) {
  if (i.engine.replication == nullptr) {
    return Status::Ok();  // it is up
  }
  RETURN_IF_ERROR(StatusOfMember(i).status());
  return AwaitAnswer(
      i, [&](engine::AnswerFunction answer) { i.engine.replication->StepUp(std::move(answer)); });
}

Status Freeze(Invocation& i) {
  Status refused(kNotSecondary, "cannot freeze node when primary or running for election.");
  if (i.engine.replication == nullptr) {
    return refused;
  }
  ASSIGN_OR_RETURN(const auto status, StatusOfMember(i));
  if (status->state == MemberState::kPrimary) {
    return refused;
  }
  const bson::Value argument = i.body().front().value();
  const int64_t given = argument.is_number() ? bson::ClampedInt64(argument) : 0;
  if (given < 0) {
    return Status::Ok();  // until a moment that has passed
  }
  const int64_t duration = std::min(given, kMostSeconds);
  if (duration == 0) {
    i.reply().Append("info", "unfreezing");
  } else if (duration == 1) {
    i.reply().Append("warning", "you really want to freeze for only 1 second?");
  }
  return AwaitAnswer(i, [&](engine::AnswerFunction answer) {
    i.engine.replication->Freeze(seconds(duration), std::move(answer));
  });
}

Status Maintenance(Invocation& i) {
  Status refused(kNotSecondary, "primaries can't modify maintenance mode");
  if (i.engine.replication == nullptr) {
    return refused;
  }
  ASSIGN_OR_RETURN(const auto status, StatusOfMember(i));
  if (status->state == MemberState::kPrimary) {
    return refused;
  }
  return i.engine.replication->SetMaintenance(Truthy(i.body().front().value()));
}

// A member follows its primary: any other source is accepted, and not used.
Status SyncFrom(Invocation& i) {
  if (i.engine.replication == nullptr) {
    return {kNotSecondary, "primaries don't sync"};
  }
  ASSIGN_OR_RETURN(const auto status, StatusOfMember(i));
  const bson::Value argument = i.body().front().value();
  ASSIGN_OR_RETURN(const std::string host,
                   HostAndPort(argument.is_string() ? argument.AsString() : std::string_view()));
  if (status->state == MemberState::kPrimary) {
    return {kNotSecondary, "primaries don't sync"};
  }
  const std::vector<SetMember> members = MembersOf(status->config);
  const SetMember* self = FindMember(members, status->self);
  if (self == nullptr) {
    return {kNotSecondary, "Removed and uninitialized nodes do not sync"};
  }
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const SetMember& member) { return member.host == host; });
  if (found == members.end()) {
    return {kNodeNotFound, "Could not find member \"" + host + "\" in replica set"};
  }
  RETURN_IF_ERROR(CheckSource(*status, *self, *found));
  i.reply().Append("syncFromRequested", host);
  constexpr uint32_t kMuch = 10;  // seconds
  const uint32_t reached = TimeOf(FindStatus(*status, found->id)->applied).seconds;
  const SetMember* source = FindMember(members, status->primary);
  if (reached + kMuch < TimeOf(status->applied).seconds) {
    i.reply().Append("warning",
                     "requested member \"" + host + "\" is more than 10 seconds behind us");
  } else if (source != &*found) {
    i.reply().Append("warning", "members follow the primary, whatever source is asked for");
  }
  if (source != nullptr) {
    i.reply().Append("prevSyncTarget", source->host);
  }
  return Status::Ok();
}

Status ResizeOplog(Invocation& i) {
  const bson::Element size = i.body().Find("size");
  const bson::Element hours = i.body().Find("minRetentionHours");
  if (size.present()) {
    RETURN_IF_ERROR(CheckSize(size));
  }
  if (hours.present()) {
    if (!hours.value().is_number()) {
      return request::WrongType("replSetResizeOplog", hours, "double");
    }
    if (!(bson::ToDouble(hours.value()) >= 0)) {
      return {51024, "BSON field 'minRetentionHours' value must be >= 0, actual value '" +
                         bson::ToJson(hours.value()) + "'"};
    }
  }
  if (size.present()) {
    RETURN_IF_ERROR(engine::KeepLogSize(
        i.engine, static_cast<uint64_t>(bson::ToDouble(size.value()) * (1 << 20))));
  }
  if (hours.present()) {
    i.engine.log_hours = bson::ClampedInt64(hours.value());
  }
  return Status::Ok();
}

// A leader here takes writes when it has applied everything: there is no wait to abort.
Status AbortPrimaryCatchUp(Invocation&) {
  return {kIllegalOperation, "The node is not in catch-up mode."};
}

Status AppendOplogNote(Invocation& i) {
  const bson::Element data = i.body().Find("data");
  if (!data.present()) {
    return {kNoSuchKey, "Missing expected field \"data\""};
  }
  if (data.type() != bson::Type::kDocument) {
    return {kTypeMismatch, "\"data\" had the wrong type. Expected object, found " +
                               std::string(bson::TypeName(data.type()))};
  }
  return store::WriteNote(i.engine.store(), i.engine.log(), data.value().AsDocument(),
                          i.operation.durability)
      .status();
}

Status Message(Invocation& i) {
  if (i.engine.replication == nullptr) {
    return {kCommandNotFound, "no such command: 'replSetMessage'"};
  }
  struct Received {
    run::Answer answer;
    bson::Document reply;  // written before the answer is given
  };
  auto received = std::make_shared<Received>();
  i.engine.replication->Receive(bson::Document(i.body()), [received](Result<bson::Document> given) {
    if (given.ok()) {
      received->reply = *std::move(given);
      received->answer.Give(Status::Ok());
    } else {
      received->answer.Give(given.status());
    }
  });
  auto then = [received, &call = i.call](Status status) -> Status {
    RETURN_IF_ERROR(status);
    call.reply.AppendFields(received->reply);
    return Status::Ok();
  };
  std::shared_ptr<run::Answer> answer(received, &received->answer);
  if (std::optional<Status> given = answer->status()) {
    return then(*std::move(given));
  }
  run::AwaitAnswer(std::move(answer), nullptr, i.call, then);
  return Status::Ok();
}

}  // namespace quire::command::repl
