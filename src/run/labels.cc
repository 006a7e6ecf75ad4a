// SPDX-License-Identifier: Apache-2.0
#include "run/labels.h"

#include <algorithm>
#include <iterator>

#include "base/error_codes.h"
#include "run/backend.h"

namespace quire::run {

namespace {

using request::Call;

// Errors after which a client may run the whole transaction again.
bool IsTransient(int code) {
  constexpr int kCodes[] = {
      kWriteConflict, kLockTimeout,    kSnapshotUnavailable,          kNoSuchTransaction,
      kStaleConfig,   kStaleDbVersion, kPreparedTransactionInProgress};
  return std::find(std::begin(kCodes), std::end(kCodes), code) != std::end(kCodes);
}

// Errors after which a change stream cannot be resumed.
bool EndsStream(int code) {
  return code == kChangeStreamFatalError || code == kChangeStreamHistoryLost;
}

// Errors after which a change stream can be resumed, perhaps at another node.
bool InterruptsStream(int code) {
  constexpr int kCodes[] = {kStaleShardVersion, kFailedToSatisfyReadPreference, kStaleEpoch,
                            kRetryChangeStream, kStaleConfig};
  return IsRetryable(code) ||
         std::find(std::begin(kCodes), std::end(kCodes), code) != std::end(kCodes);
}

bool StartsStream(bson::View command) {
  const bson::Value pipeline = command["pipeline"];
  return pipeline.is_array() && !pipeline.AsArray().empty() &&
         pipeline.AsArray().front().value().is_document() &&
         pipeline.AsArray().front().value().AsDocument().Has("$changeStream");
}

// Whether the command that failed is known to read a change stream.
bool ReadsStream(const Call& call) {
  return call.summary.originating
             ? StartsStream(*call.summary.originating)
             : call.command.Is(request::kRunsPipeline) && StartsStream(call.body);
}

}  // namespace

Status WithLabel(const Status& status, std::string_view label, std::string_view second) {
  bson::Builder extra;
  if (!status.extra().empty()) {
    bson::View old(status.extra().data());
    if (old.Has("errorLabels")) {
      return status;
    }
    extra.AppendFields(old);
  }
  extra.BeginArray("errorLabels").Push(label);
  if (!second.empty()) {
    extra.Push(second);
  }
  extra.End();
  return status.WithExtra(extra.Finish().bytes());
}

Status WithLabels(const Status& status, const bson::Value& labels) {
  if (labels.AsArray().empty()) {
    return status;
  }
  bson::Builder extra;
  extra.Append("errorLabels", labels);
  return status.WithExtra(extra.Finish().bytes());
}

Status WithoutLabel(const Status& status, std::string_view label) {
  if (status.extra().empty()) {
    return status;
  }
  const bson::View old(status.extra().data());
  const bson::Value labels = old["errorLabels"];
  if (!labels.is_array()) {
    return status;
  }
  bson::Builder kept;
  kept.BeginArray("errorLabels");
  for (const bson::Element& one : labels.AsArray()) {
    if (!one.value().is_string() || one.value().AsString() != label) {
      kept.Push(one.value());
    }
  }
  kept.End();
  const bson::Document others = kept.Finish();
  bson::Builder extra;
  for (const bson::Element& field : old) {
    if (field.name() != "errorLabels") {
      extra.Append(field);
    } else if (!others["errorLabels"].AsArray().empty()) {
      extra.AppendFields(others);
    }
  }
  return status.WithExtra(extra.Finish().bytes());
}

bool IsRetryable(int code) {
  constexpr int kCodes[] = {kHostUnreachable,
                            kHostNotFound,
                            kNetworkTimeout,
                            kShutdownInProgress,
                            kPrimarySteppedDown,
                            kExceededTimeLimit,
                            kSocketException,
                            kNotWritablePrimary,
                            kInterruptedAtShutdown,
                            kNotPrimaryNoSecondaryOk,
                            kNotPrimaryOrSecondary,
                            kInterruptedDueToReplStateChange,
                            kReadConcernMajorityNotAvailableYet};
  return std::find(std::begin(kCodes), std::end(kCodes), code) != std::end(kCodes);
}

bool IsStateChange(int code) {
  constexpr int kCodes[] = {kLegacyNotPrimary,        kNotWritablePrimary,
                            kNotPrimaryNoSecondaryOk, kNotPrimaryOrSecondary,
                            kPrimarySteppedDown,      kInterruptedDueToReplStateChange,
                            kInterruptedAtShutdown,   kShutdownInProgress};
  return std::find(std::begin(kCodes), std::end(kCodes), code) != std::end(kCodes);
}

bool IsShutdown(int code) { return code == kInterruptedAtShutdown || code == kShutdownInProgress; }

bool IsRetryableWrite(const Call& call) {
  return call.generic.txn_number &&
         (call.command.Is(request::kEndsTransaction) || !call.generic.in_transaction());
}

Status Labelled(const Status& status, const Call& call, bool in_transaction,
                const Backend& backend) {
  if (EndsStream(status.code())) {
    return WithLabel(status, "NonResumableChangeStreamError");
  }
  if (InterruptsStream(status.code()) && ReadsStream(call)) {
    return WithLabel(status, "ResumableChangeStreamError");
  }
  const bool retryable = IsRetryable(status.code());
  if (in_transaction &&
      (IsTransient(status.code()) || (retryable && !call.command.Is(request::kEndsTransaction)))) {
    return WithLabel(status, "TransientTransactionError");
  }
  if (backend.MayBeRepeated(status.code()) && IsRetryableWrite(call)) {
    const bool wrote = call.op.may_have_written || !backend.knows_writes();
    return WithLabel(status, "RetryableWriteError", wrote ? "" : "NoWritesPerformed");
  }
  return status;
}

}  // namespace quire::run
