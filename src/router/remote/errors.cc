// SPDX-License-Identifier: Apache-2.0
#include "router/remote/errors.h"

#include <algorithm>
#include <array>

#include "base/error_codes.h"
#include "run/labels.h"

namespace quire::router {

namespace {

template <size_t N>
bool IsAnyOf(const std::array<int, N>& codes, int code) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

}  // namespace

bool IsNetworkError(int code) {
  static constexpr std::array<int, 5> kCodes = {kHostUnreachable, kHostNotFound, kNetworkTimeout,
                                                kSocketException, kCallbackCanceled};
  return IsAnyOf(kCodes, code);
}

bool IsNotPrimary(int code) {
  static constexpr std::array<int, 3> kCodes = {kNotWritablePrimary, kNotPrimaryNoSecondaryOk,
                                                kNotPrimaryOrSecondary};
  return IsAnyOf(kCodes, code);
}

bool IsStepDown(int code) {
  static constexpr std::array<int, 4> kCodes = {kInterruptedAtShutdown,
                                                kInterruptedDueToReplStateChange,
                                                kShutdownInProgress, kPrimarySteppedDown};
  return IsAnyOf(kCodes, code);
}

bool IsUnreachable(int code) {
  return IsNetworkError(code) || IsNotPrimary(code) || IsStepDown(code) ||
         code == kFailedToSatisfyReadPreference;
}

bool IsStale(int code) { return code == kStaleConfig || code == kStaleDbVersion; }

Status ForClients(const Status& status) {
  const int code = status.code();
  if (!IsNotPrimary(code) && !IsStepDown(code) && code != kCallbackCanceled) {
    return status;
  }
  return {kHostUnreachable, "A shard could not be reached: its primary has changed or ends"};
}

bool MentionsStateChange(const bson::Argument& reply) {
  auto changes = [](const bson::Value& error) {
    const bson::Value code = error.is_document() ? error.AsDocument()["code"] : bson::Value();
    return code.type() == bson::Type::kInt32 && run::IsStateChange(code.AsInt32());
  };
  if (changes(reply.view()["writeConcernError"])) {
    return true;
  }
  const bson::Value errors = reply.view()["writeErrors"];
  if (!errors.is_array()) {
    return false;
  }
  const bson::View list = errors.AsArray();
  return std::any_of(list.begin(), list.end(),
                     [&](const bson::Element& error) { return changes(error.value()); });
}

}  // namespace quire::router
