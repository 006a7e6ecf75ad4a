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

Status Unreachable() {
  return {kHostUnreachable, "A shard could not be reached: its primary has changed or ends"};
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
  if (code == kNetworkTimeout) {  // of the router's own: a connection that nobody answered
    return {kHostUnreachable, status.message()};
  }
  if (!IsNotPrimary(code) && !IsStepDown(code) && code != kCallbackCanceled) {
    return status;
  }
  return Unreachable();
}

bson::Document WithoutStateChange(const bson::Document& reply) {
  auto scrubbed = [](bson::View error) {
    const bson::Value code = error["code"];
    if (code.type() != bson::Type::kInt32 || !run::IsStateChange(code.AsInt32())) {
      return bson::Document(error);
    }
    bson::Builder out;
    for (const bson::Element& field : error) {
      if (field.name() == "code") {
        out.Append("code", static_cast<int32_t>(kHostUnreachable));
      } else if (field.name() == "codeName") {
        out.Append("codeName", "HostUnreachable");
      } else if (field.name() == "errmsg") {
        out.Append("errmsg", Unreachable().message());
      } else if (field.name() != "errInfo") {
        out.Append(field);
      }
    }
    return out.Finish();
  };
  bson::Builder out;
  for (const bson::Element& field : reply.view()) {
    if (field.name() == "writeConcernError" && field.type() == bson::Type::kDocument) {
      out.Append(field.name(), scrubbed(field.value().AsDocument()));
    } else if (field.name() == "writeErrors" && field.type() == bson::Type::kArray) {
      out.BeginArray(field.name());
      for (const bson::Element& error : field.value().AsArray()) {
        out.Push(scrubbed(error.value().AsDocument()));
      }
      out.End();
    } else {
      out.Append(field);
    }
  }
  return out.Finish();
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
