// SPDX-License-Identifier: Apache-2.0
#include "run/fail_point.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "request/fields.h"

namespace quire::run {

using request::Truthy;

namespace {

constexpr std::string_view kFailCommand = "failCommand";
constexpr std::string_view kFailGetMore = "failGetMoreAfterCursorCheckout";
constexpr std::string_view kTimeOut = "maxTimeAlwaysTimeOut";
constexpr std::string_view kNoTimeOut = "maxTimeNeverTimeOut";
constexpr std::string_view kRetryableWrite = "onPrimaryTransactionalWrite";
constexpr std::string_view kNames[] = {kFailCommand,
                                       kFailGetMore,
                                       kTimeOut,
                                       kNoTimeOut,
                                       kRetryableWrite,
                                       FailPoints::kHoldReply,
                                       FailPoints::kHoldChange,
                                       FailPoints::kTakeOverSoon,
                                       FailPoints::kLoseLog,
                                       FailPoints::kApplyNothing};

bool Names(const bson::Value& list, const request::Call& call) {
  for (const bson::Element& e : list.AsArray()) {
    if (e.value().is_string() &&
        (e.value().AsString() == call.command.name ||
         e.value().AsString() == call.body.front().name() ||
         (!call.command.alias.empty() && e.value().AsString() == call.command.alias))) {
      return true;
    }
  }
  return false;
}

// The name of the application; the first hello brings it along.
std::string_view ApplicationOf(const request::Call& call) {
  const bson::View metadata = call.client.has_metadata            ? call.client.metadata.view()
                              : call.body["client"].is_document() ? call.body["client"].AsDocument()
                                                                  : bson::View();
  const bson::Value application = metadata["application"];
  const bson::Value name =
      application.is_document() ? application.AsDocument()["name"] : bson::Value();
  return name.is_string() ? name.AsString() : "";
}

std::string NamespaceOf(const request::Call& call) {
  const bson::Value first = call.body.front().value();
  const bool more = call.command.kind == request::OpKind::kGetMore;
  const bson::Value target = more ? call.body["collection"] : first;
  return std::string(call.database) + "." +
         (target.is_string() ? std::string(target.AsString()) : "");
}

// Whether failCommand is met by the call.
bool Concerns(const bson::View& data, const request::Call& call) {
  if (call.command.Is(request::kNoFailPoint)) {
    return false;
  }
  if (!Truthy(data["failAllCommands"]) && !Names(data["failCommands"], call)) {
    return false;
  }
  if (data["appName"].is_string() && data["appName"].AsString() != ApplicationOf(call)) {
    return false;
  }
  return !data["namespace"].is_string() || data["namespace"].AsString() == NamespaceOf(call);
}

int CodeOf(const bson::Value& value) {
  return value.is_number() ? static_cast<int>(bson::ClampedInt64(value)) : 0;
}

Failure MakeFailure(std::string_view name, const bson::View& data) {
  Failure failure;
  if (name == kRetryableWrite) {
    failure.code = CodeOf(data["failBeforeCommitExceptionCode"]);
    failure.hang_up = !data.Has("closeConnection") || Truthy(data["closeConnection"]);
    return failure;
  }
  if (Truthy(data["blockConnection"])) {
    failure.block = std::chrono::milliseconds(bson::ClampedInt64(data["blockTimeMS"]));
  }
  failure.hang_up = Truthy(data["closeConnection"]);
  failure.code = CodeOf(data["errorCode"]);
  failure.rewritten = Truthy(data["allowRewriteStateChange"]);
  failure.labels = bson::OwnedValue(data["errorLabels"]);
  failure.write_concern_error = bson::OwnedValue(data["writeConcernError"]);
  return failure;
}

constexpr unsigned kOfCommand = 1;
constexpr unsigned kOfGetMore = 2;
constexpr unsigned kOfWrite = 4;

unsigned PointOf(std::string_view name) {
  return name == kFailCommand      ? kOfCommand
         : name == kFailGetMore    ? kOfGetMore
         : name == kRetryableWrite ? kOfWrite
                                   : 0;
}

struct Known {
  std::string_view field;
  unsigned points;
  bool (*fits)(const bson::Value& value);
  std::string_view expected;
};

bool IsSwitch(const bson::Value& value) {
  return value.type() == bson::Type::kBool || value.is_number();
}
bool IsArray(const bson::Value& value) { return value.is_array(); }
bool IsString(const bson::Value& value) { return value.is_string(); }
bool IsDocument(const bson::Value& value) { return value.is_document(); }
bool IsNumber(const bson::Value& value) { return value.is_number(); }
bool IsTime(const bson::Value& value) {
  return value.is_number() && bson::ClampedInt64(value) >= 0;
}

constexpr Known kData[] = {
    {"failCommands", kOfCommand | kOfGetMore, IsArray, "an array"},  // of getMore: it alone
    {"failAllCommands", kOfCommand, IsSwitch, "a boolean"},
    {"errorCode", kOfCommand | kOfGetMore, IsNumber, "a number"},
    // The text of the error stays the server's own.
    {"errmsg", kOfCommand | kOfGetMore, IsString, "a string"},
    {"errorLabels", kOfCommand, IsArray, "an array"},
    {"allowRewriteStateChange", kOfCommand, IsSwitch, "a boolean"},
    {"closeConnection", kOfCommand | kOfGetMore | kOfWrite, IsSwitch, "a boolean"},
    {"blockConnection", kOfCommand, IsSwitch, "a boolean"},
    {"blockTimeMS", kOfCommand, IsTime, "a number of at least 0"},
    {"writeConcernError", kOfCommand, IsDocument, "a document"},
    {"appName", kOfCommand, IsString, "a string"},
    {"namespace", kOfCommand, IsString, "a string"},
    {"failBeforeCommitExceptionCode", kOfWrite, IsNumber, "a number"},
    // Every command that arrives is one of a client's.
    {"failInternalCommands", kOfCommand, IsSwitch, "a boolean"},
    {"failLocalClients", kOfCommand, IsSwitch, "a boolean"},
};

Status CheckData(std::string_view name, const bson::View& data) {
  for (const bson::Element& e : data) {
    const Known* known = std::find_if(std::begin(kData), std::end(kData), [&](const Known& k) {
      return k.field == e.name() && (k.points & PointOf(name)) != 0;
    });
    if (known == std::end(kData)) {
      return {kBadValue,
              "unknown field '" + std::string(e.name()) + "' in the data of " + std::string(name)};
    }
    if (!known->fits(e.value())) {
      return {kBadValue, "'" + std::string(e.name()) + "' in the data of " + std::string(name) +
                             " must be " + std::string(known->expected)};
    }
  }
  if (name == kFailCommand && !data.Has("failCommands") && !Truthy(data["failAllCommands"])) {
    return {kBadValue, "the data of failCommand must name the failCommands"};
  }
  if (Truthy(data["blockConnection"]) && !data.Has("blockTimeMS")) {
    return {kInvalidOptions, "must specify 'blockTimeMS' when 'blockConnection' is true"};
  }
  return Status::Ok();
}

}  // namespace

Status FailPoints::ReadMode(const bson::Value& mode, Point* point) {
  if (mode.is_string()) {
    if (mode.AsString() != "off" && mode.AsString() != "alwaysOn") {
      return {kBadValue, "unknown mode: " + std::string(mode.AsString())};
    }
    point->mode = mode.AsString() == "off" ? Mode::kOff : Mode::kAlways;
    return Status::Ok();
  }
  if (!mode.is_document()) {
    return {kTypeMismatch, "'mode' must be a string or JSON object"};
  }
  const bson::View how = mode.AsDocument();
  if (const bson::Value chance = how["activationProbability"]; chance.is_number()) {
    point->mode = Mode::kRandom;
    point->probability = bson::ToDouble(chance);
    return point->probability >= 0 && point->probability <= 1
               ? Status::Ok()
               : Status(kBadValue, "activationProbability must be between 0.0 and 1.0");
  }
  for (const auto& [field, which] : {std::pair{"times", Mode::kTimes}, {"skip", Mode::kSkip}}) {
    if (!how.Has(field)) {
      continue;
    }
    if (!how[field].is_number() || bson::ClampedInt64(how[field]) < 0) {
      return {kBadValue, "'" + std::string(field) + "' option to 'mode' must be positive"};
    }
    point->left = bson::ClampedInt64(how[field]);
    point->mode = which == Mode::kTimes && point->left == 0 ? Mode::kOff : which;
    return Status::Ok();
  }
  return {kBadValue, "'mode' must be one of off, alwaysOn, times, skip and activationProbability"};
}

Result<int64_t> FailPoints::Configure(bson::View command) {
  const bson::Value name = command.front().value();
  if (!name.is_string()) {
    return request::WrongType("configureFailPoint", command.front(), "string");
  }
  if (std::find(std::begin(kNames), std::end(kNames), name.AsString()) == std::end(kNames)) {
    return Status(kFailPointSetFailed, std::string(name.AsString()) + " not found");
  }
  const bson::Value data = command["data"];
  if (!data.missing() && !data.is_document()) {
    return Status(kTypeMismatch, "the 'data' option must be a JSON object");
  }
  Point wanted;
  RETURN_IF_ERROR(ReadMode(command["mode"], &wanted));
  if (data.is_document()) {
    wanted.data = bson::Document(data.AsDocument());
  }
  if (wanted.mode != Mode::kOff) {
    RETURN_IF_ERROR(CheckData(name.AsString(), wanted.data));
  }
  int64_t met = 0;
  {
    MutexLock lock(mutex_);
    Point& point = points_[std::string(name.AsString())];
    met = wanted.met = point.met;
    point = std::move(wanted);
    armed_ = std::any_of(points_.begin(), points_.end(),
                         [](const auto& p) { return p.second.mode != Mode::kOff; });
  }
  changed_.Ring();
  return met;
}

bool FailPoints::Fires(Point* point) {
  switch (point->mode) {
    case Mode::kOff:
      return false;
    case Mode::kAlways:
      return true;
    case Mode::kTimes:
      if (--point->left == 0) {
        point->mode = Mode::kOff;
      }
      return true;
    case Mode::kSkip:
      return point->left-- <= 0;
    case Mode::kRandom:
      break;
  }
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(random) < point->probability;
}

std::optional<Failure> FailPoints::MeetPoint(std::string_view name, const request::Call* call) {
  if (!armed()) {
    return std::nullopt;
  }
  MutexLock lock(mutex_);
  const auto found = points_.find(name);
  if (found == points_.end() || found->second.mode == Mode::kOff ||
      (call != nullptr && !Concerns(found->second.data, *call)) || !Fires(&found->second)) {
    return std::nullopt;
  }
  ++found->second.met;
  return MakeFailure(name, found->second.data);
}

std::optional<Failure> FailPoints::Meet(const request::Call& call) {
  return MeetPoint(kFailCommand, &call);
}

Status FailPoints::MeetCheckout(request::Call& call) {
  const std::optional<Failure> failure = MeetPoint(kFailGetMore);
  return failure ? End(*failure, call) : Status::Ok();
}

Status FailPoints::MeetTimeLimit(OpContext& op) {
  if (!op.has_deadline()) {
    return Status::Ok();
  }
  if (MeetPoint(kNoTimeOut)) {
    op.SetDeadline(OpContext::Clock::time_point::max());
    return Status::Ok();
  }
  return MeetPoint(kTimeOut) ? Status(kMaxTimeMSExpired, "operation exceeded time limit")
                             : Status::Ok();
}

Status FailPoints::MeetCommit(request::Call& call) {
  const std::optional<Failure> failure = MeetPoint(kRetryableWrite);
  if (!failure) {
    return Status::Ok();
  }
  call.outcome.hang_up = call.outcome.hang_up || failure->hang_up;
  return failure->code == 0 ? Status::Ok()
                            : Status(failure->code, "Failing a write via a fail point");
}

bool FailPoints::MeetHold(std::string_view point) { return MeetPoint(point).has_value(); }

bool FailPoints::Holds(std::string_view point) {
  if (!armed()) {
    return false;
  }
  MutexLock lock(mutex_);
  const auto found = points_.find(point);
  return found != points_.end() && found->second.mode != Mode::kOff;
}

Status End(const Failure& failure, request::Call& call) {
  call.outcome.hang_up = failure.hang_up;
  if (failure.hang_up) {
    return {kHostUnreachable, "The connection is closed by a fail point"};
  }
  return failure.code == 0 ? Status::Ok()
                           : Status(failure.code, "Failing command via 'failCommand' failpoint");
}

}  // namespace quire::run
