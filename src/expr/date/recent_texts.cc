// SPDX-License-Identifier: Apache-2.0
#include "expr/date/recent_texts.h"

#include <algorithm>

#include "base/try.h"
#include "expr/date/calendar.h"
#include "expr/date/format.h"

namespace quire::expr::date {

namespace {

// REQUIRES: CheckFormat(format) is ok.
int64_t FinestUnit(std::string_view format) {
  int64_t finest = kDay;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      continue;
    }
    switch (format[++i]) {
      case 'H':
        finest = std::min(finest, kHour);
        break;
      case 'M':
        finest = std::min(finest, kMinute);
        break;
      case 'S':
        finest = std::min(finest, kSecond);
        break;
      case 'L':
        return 1;
      default:
        break;
    }
  }
  return finest;
}

}  // namespace

RecentTexts::Entry* RecentTexts::Find(std::string_view format) {
  for (Entry& entry : entries_) {
    if (entry.unit != 0 && entry.format == format) {
      return &entry;
    }
  }
  return nullptr;
}

Status RecentTexts::Check(std::string_view format) {
  return Find(format) != nullptr ? Status::Ok() : CheckFormat(format);
}

Result<std::string_view> RecentTexts::Format(std::string_view format, int64_t utc_millis,
                                             const TimeZone& zone) {
  Entry* entry = Find(format);
  if (entry == nullptr) {
    entry = &entries_[next_++ % kFormats];
    *entry = {std::string(format), FinestUnit(format), 0, 0, {}};
  }
  const int64_t offset = zone.OffsetAt(utc_millis);
  int64_t local = 0;
  int64_t past = 0;
  if (!entry->text.empty() && entry->offset == offset &&
      !__builtin_add_overflow(utc_millis, offset, &local) &&
      !__builtin_sub_overflow(local, entry->begin, &past) && past >= 0 && past < entry->unit) {
    return std::string_view(entry->text);
  }
  entry->text.clear();
  ASSIGN_OR_RETURN(entry->text, date::Format(format, utc_millis, zone));
  entry->offset = offset;
  entry->begin = FloorDiv(utc_millis + offset, entry->unit) * entry->unit;
  return std::string_view(entry->text);
}

}  // namespace quire::expr::date
