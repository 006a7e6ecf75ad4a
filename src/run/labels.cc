// SPDX-License-Identifier: Apache-2.0
#include "run/labels.h"

#include <algorithm>
#include <iterator>

#include "base/error_codes.h"
#include "run/gates.h"

namespace quire::run {

namespace {

using request::Call;

// Errors after which a client may run the whole transaction again.
bool IsTransient(int code) {
  return code == kWriteConflict || code == kLockTimeout || code == kSnapshotUnavailable ||
         code == kNoSuchTransaction || code == kPreparedTransactionInProgress;
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

Status WithLabel(const Status& status, std::string_view label) {
  bson::Builder extra;
  if (!status.extra().empty()) {
    bson::View old(status.extra().data());
    if (old.Has("errorLabels")) {
      return status;
    }
    extra.AppendFields(old);
  }
  extra.BeginArray("errorLabels").Push(label).End();
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

bool IsRetryableWrite(const Call& call) {
  return call.generic.txn_number &&
         (call.command.Is(request::kEndsTransaction) || !call.generic.in_transaction());
}

Status Labelled(const Status& status, const Call& call, bool in_transaction) {
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
  if (retryable && IsRetryableWrite(call)) {
    return WithLabel(status, "RetryableWriteError");
  }
  return status;
}

// Errors of gates before the command have the labels that those gave them, but for those about the
// node's role: what they refuse may be tried again elsewhere.
Status LabelError(Running& running) {
  if (running.ran) {
    return Labelled(running.status, running.call, running.aborted);
  }
  const bool by_fail_point = running.failure && running.failure->code == running.status.code();
  return IsStateChange(running.status.code()) && !by_fail_point
             ? Labelled(running.status, running.call, running.call.generic.in_transaction())
             : Status::Ok();
}

}  // namespace quire::run
