// SPDX-License-Identifier: Apache-2.0
//
// Time zones by Olson name ("Europe/Berlin") or offset ("+05:30", "-0930", "+03").
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "quire/status.h"

namespace quire::expr::date {

// Cheap to copy; immutable and safe for concurrent use.
class TimeZone {
 public:
  // UTC.
  TimeZone() = default;
  // Error 40485 when there is no such zone. Names are case-sensitive.
  static Result<TimeZone> Parse(std::string_view id);
  static TimeZone FromOffset(int64_t offset_millis);

  bool utc() const { return rules_ == nullptr && offset_ == 0; }
  // What to add to UTC milliseconds to get local ones.
  int64_t OffsetAt(int64_t utc_millis) const;
  int64_t ToLocal(int64_t utc_millis) const { return utc_millis + OffsetAt(utc_millis); }
  // A local time that a change of clocks skips is read with the offset before the change, one that
  // occurs twice as its second occurrence.
  int64_t ToUtc(int64_t local_millis) const;

 private:
  class Rules;
  std::shared_ptr<const Rules> rules_;  // null: fixed offset
  int64_t offset_ = 0;
};

}  // namespace quire::expr::date
