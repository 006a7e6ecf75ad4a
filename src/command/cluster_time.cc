// SPDX-License-Identifier: Apache-2.0
#include "command/cluster_time.h"

#include <chrono>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/json/text_forms.h"
#include "request/fields.h"

namespace quire::command {

namespace {

Result<bson::Timestamp> ReadClusterTime(bson::View fields) {
  constexpr std::string_view kName = "$clusterTime";
  bson::Element time = fields.Find("clusterTime");
  if (!time.present()) {
    return request::MissingField(kName, "clusterTime");
  }
  if (time.type() != bson::Type::kTimestamp) {
    return request::WrongType(kName, time, "timestamp");
  }
  bson::Element signature = fields.Find("signature");
  if (signature.present() && !signature.value().nullish() &&
      signature.type() != bson::Type::kDocument) {
    return request::WrongType(kName, signature, "object");
  }
  return time.value().AsTimestamp();
}

}  // namespace

Status TakeClusterTime(const request::Call& call, bool trusted, engine::Engine& engine) {
  bson::Element given = call.body.Find("$clusterTime");
  if (!given.present() || given.value().nullish()) {
    return Status::Ok();
  }
  if (given.type() != bson::Type::kDocument) {
    return request::WrongType(call.command.name, given, "object");
  }
  ASSIGN_OR_RETURN(bson::Timestamp time, ReadClusterTime(given.value().AsDocument()));
  if (time <= engine.clock().Now()) {
    return Status::Ok();
  }
  constexpr uint64_t kMostAhead = 365 * 24 * 60 * 60;
  auto wall = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
  if (time.seconds > wall + kMostAhead) {
    return {kClusterTimeFailsRateLimiter, "New cluster time, " + std::to_string(time.seconds) +
                                              ", is too far from this node's wall clock time, " +
                                              std::to_string(wall) + "."};
  }
  if (trusted || time.seconds <= wall) {
    engine.clock().Advance(time);
  }
  return Status::Ok();
}

Status CheckReadTimes(const request::Generic& generic, engine::Engine& engine) {
  if (generic.read_concern.empty()) {
    return Status::Ok();
  }
  for (std::string_view name : {"afterClusterTime", "atClusterTime"}) {
    bson::Value time = generic.read_concern[name];
    bson::Timestamp now = engine.clock().Now();
    if (time.type() == bson::Type::kTimestamp && time.AsTimestamp() > now) {
      return {kInvalidOptions, "readConcern " + std::string(name) +
                                   " value must not be greater than the current clusterTime. "
                                   "Requested clusterTime: " +
                                   bson::TimestampText(time.AsTimestamp()) +
                                   "; current clusterTime: " + bson::TimestampText(now)};
    }
  }
  return Status::Ok();
}

}  // namespace quire::command
