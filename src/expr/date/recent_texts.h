// SPDX-License-Identifier: Apache-2.0
//
// Dates as text, row after row: most rows have the day, hour or minute of the row before, and a
// format that shows nothing finer gives the same text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "expr/date/time_zone.h"
#include "quire/status.h"

namespace quire::expr::date {

// The texts last made, a few formats at a time. Not safe for concurrent use.
class RecentTexts {
 public:
  // As CheckFormat.
  Status Check(std::string_view format);
  // As Format of format.h; valid until the next call. REQUIRES: Check(format) is ok.
  Result<std::string_view> Format(std::string_view format, int64_t utc_millis,
                                  const TimeZone& zone);

 private:
  struct Entry {
    std::string format;
    int64_t unit = 0;  // milliseconds within which the text stays as it is; 0: no entry
    int64_t offset = 0;
    int64_t begin = 0;  // of the unit that `text` is of, in local time
    std::string text;   // empty: none yet
  };
  static constexpr size_t kFormats = 4;

  Entry* Find(std::string_view format);

  std::array<Entry, kFormats> entries_;
  size_t next_ = 0;  // the entry that the next new format takes
};

}  // namespace quire::expr::date
