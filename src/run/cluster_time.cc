// SPDX-License-Identifier: Apache-2.0
//
// The gates about the times that come with a command: the latest its client has seen, and the one
// it wants to read after.
#include <chrono>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/json/text_forms.h"
#include "request/fields.h"
#include "run/backend.h"
#include "run/dispatcher.h"
#include "run/gates.h"

namespace quire::run {

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

// Lets the clock go on from $clusterTime. With access control strangers may not set it by a second,
// clients to what a member has signed, or, where no time is signed, not far past the wall clock.
Status TakeClusterTime(Running& running) {
  const request::Call& call = running.call;
  const bson::Element& given = call.generic.cluster_time;
  if (!given.present() || given.value().nullish()) {
    return Status::Ok();
  }
  if (given.type() != bson::Type::kDocument) {
    return request::WrongType(call.command.name, given, "object");
  }
  ASSIGN_OR_RETURN(bson::Timestamp time, ReadClusterTime(given.value().AsDocument()));
  Backend& backend = running.dispatcher.backend();
  const bool stranger = backend.access_control() && call.client.login == nullptr;
  if (time <= backend.Now() || stranger) {
    return Status::Ok();
  }
  const auth::TimeSigner* signer = backend.time_signer();
  if (signer != nullptr && !backend.MaySetClock(running)) {
    const bson::Value signature = given.value().AsDocument()["signature"];
    RETURN_IF_ERROR(
        signer->Check(time, signature.is_document() ? signature.AsDocument() : bson::View()));
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
  if (!backend.access_control() || signer != nullptr ||
      time.seconds <= wall + static_cast<uint64_t>(backend.most_ahead().count())) {
    backend.AdvanceClock(time);
  }
  return Status::Ok();
}

// InvalidOptions when the read concern names a time that is still to come.
Status CheckReadTimes(Running& running) {
  const request::Generic& generic = running.call.generic;
  if (generic.read_concern.empty()) {
    return Status::Ok();
  }
  for (std::string_view name : {"afterClusterTime", "atClusterTime"}) {
    bson::Value time = generic.read_concern[name];
    bson::Timestamp now = running.dispatcher.backend().Now();
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

// What a read sees holds everything up to here.
Status TakeVisibleTime(Running& running) {
  if (Backend& backend = running.dispatcher.backend(); !backend.dates_replies_at_end()) {
    running.call.operation_time = backend.Visible();
  }
  return Status::Ok();
}

}  // namespace quire::run
