// SPDX-License-Identifier: Apache-2.0
//
// Which member of a shard's set answers a read.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::router {

struct ReadPreference {
  enum class Mode : uint8_t {
    kPrimary,
    kPrimaryPreferred,
    kSecondary,
    kSecondaryPreferred,
    kNearest
  };
  Mode mode = Mode::kPrimary;
  std::vector<bson::Document> tags;  // sets of tags, the first that anybody has counts; none: any
  std::optional<int64_t> max_staleness_seconds;

  // Of a command's $readPreference; the primary when it has none. Errors: TypeMismatch,
  // BadValue.
  static Result<ReadPreference> Parse(const bson::Argument& command);
};

// What a member last said of itself.
struct MemberState {
  std::string host;
  bool primary = false;
  bool secondary = false;
  bson::Document tags;
  bson::Date last_write;
  int64_t term = 0;  // of its election, when it is the primary
  std::chrono::microseconds round_trip{0};
};

// The members that may answer; empty when none may.
std::vector<const MemberState*> Eligible(const std::vector<MemberState>& members,
                                         const ReadPreference& preference);

}  // namespace quire::router
