// SPDX-License-Identifier: Apache-2.0
#include "run/write_concern.h"

#include <string>
#include <utility>

#include "base/error_codes.h"
#include "bson/number.h"
#include "request/write_reply.h"

namespace quire::run {

bool WaitsForDisk(const request::WriteConcern& concern) {
  const bool majority = concern.w.is_string() && concern.w.AsString() == "majority";
  return concern.journal_given ? concern.journal : majority;
}

bool IsUnacknowledged(const request::WriteConcern& concern) {
  return concern.w.is_number() && bson::ClampedInt64(concern.w) == 0 && !concern.journal;
}

bson::Document ConcernErrorOfOne(const request::WriteConcern& concern) {
  int code = 0;
  std::string message;
  if (concern.w.is_number() && bson::ClampedInt64(concern.w) > 1) {
    code = kUnsatisfiableWriteConcern;
    message = "Not enough data-bearing nodes";
  } else if (concern.w.is_string() && concern.w.AsString() != "majority") {
    code = kUnknownReplWriteConcern;
    message = "No write concern mode named '" + std::string(concern.w.AsString()) +
              "' found in replica set configuration";
  }
  if (code == 0) {
    return {};
  }
  bson::Builder info;
  info.BeginDocument("writeConcern")
      .Append("w", concern.w)
      .Append("wtimeout", concern.wtimeout)
      .Append("provenance", "clientSupplied")
      .End();
  return request::WriteConcernError({code, std::move(message)}, info.Finish());
}

void AppendWriteConcernError(const request::WriteConcern& concern, bson::Builder* reply) {
  const bson::Document error = ConcernErrorOfOne(concern);
  if (!error.empty()) {
    reply->Append("writeConcernError", error);
  }
}

}  // namespace quire::run
