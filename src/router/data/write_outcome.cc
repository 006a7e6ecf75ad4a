// SPDX-License-Identifier: Apache-2.0
#include "router/data/write_outcome.h"

#include <algorithm>
#include <string>

#include "base/error_codes.h"
#include "request/write_reply.h"

namespace quire::router {

Status MergeErrors(const std::vector<Status>& errors) {
  const bool same = std::all_of(errors.begin(), errors.end(), [&](const Status& one) {
    return one.code() == errors.front().code();
  });
  if (same) {
    return errors.front();
  }
  std::string text = "multiple errors for op : ";
  for (const Status& one : errors) {
    text += (&one == &errors.front() ? "" : " :: and :: ") + std::string(one.message());
  }
  return {kMultipleErrorsOccurred, text};
}

bson::Document MergeConcernErrors(const std::vector<bson::Document>& errors) {
  if (errors.size() <= 1) {
    return errors.empty() ? bson::Document() : errors.front();
  }
  std::string text = "multiple errors reported : ";
  for (const bson::Document& one : errors) {
    const bson::Value message = one["errmsg"];
    text += &one == &errors.front() ? "" : " :: and :: ";
    text += message.is_string() ? message.AsString() : "";
  }
  return request::WriteConcernError({kWriteConcernFailed, text}, bson::Document());
}

}  // namespace quire::router
