// SPDX-License-Identifier: Apache-2.0
//
// When a write is replicated as far as its writer asked.
#pragma once

#include <span>
#include <string>

#include "base/error_codes.h"
#include "repl/core/config.h"
#include "repl/core/types.h"

namespace quire::repl {

struct WriteConcern {
  enum class Kind { kNumber, kMajority, kMode, kTags };

  Kind kind = Kind::kMajority;
  int number = 1;
  std::string mode;
  Millis timeout = 0;  // 0: none
  WriteTags tags;      // of kTags
};

// How far a member holds the log durably.
struct Held {
  MemberId member = kNoMember;
  Time held = 0;  // on disk, and shown to its readers
};

// Whether the set could ever meet it: 0, UnsatisfiableWriteConcern, UnknownReplWriteConcern, or
// NoSuchKey when no member has such a tag.
int CheckWriteConcern(const SetConfig& config, const WriteConcern& concern);

// Whether the slot at `time` is held by as many as the concern asks for. From `majority` on, a
// number asks for the commit point as well, so that no election undoes it.
bool MeetsWriteConcern(const SetConfig& config, const WriteConcern& concern, Time time, Time commit,
                       std::span<const Held> held, int majority);

}  // namespace quire::repl
