// SPDX-License-Identifier: Apache-2.0
#include "expr/date/time_zone.h"

#include <unicode/basictz.h>
#include <unicode/strenum.h>
#include <unicode/timezone.h>
#include <unicode/unistr.h>

#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "expr/date/calendar.h"

namespace quire::expr::date {

class TimeZone::Rules {
 public:
  explicit Rules(std::unique_ptr<icu::BasicTimeZone> zone) : zone_(std::move(zone)) {}

  int64_t OffsetAt(int64_t utc_millis) const {
    int32_t raw = 0;
    int32_t dst = 0;
    UErrorCode status = U_ZERO_ERROR;
    zone_->getOffset(static_cast<UDate>(utc_millis), false, raw, dst, status);
    return int64_t{raw} + dst;
  }
  int64_t OffsetAtLocal(int64_t local_millis) const {
    int32_t raw = 0;
    int32_t dst = 0;
    UErrorCode status = U_ZERO_ERROR;
    zone_->getOffsetFromLocal(static_cast<UDate>(local_millis), UCAL_TZ_LOCAL_FORMER,
                              UCAL_TZ_LOCAL_LATTER, raw, dst, status);
    return int64_t{raw} + dst;
  }

 private:
  std::unique_ptr<icu::BasicTimeZone> zone_;
};

namespace {

// Every Olson id ICU knows, without ICU's own three-letter aliases.
const std::unordered_set<std::string>& KnownIds() {
  static const std::unordered_set<std::string> ids = [] {
    static constexpr std::string_view kIcuOnly[] = {
        "ACT", "AET", "AGT", "ART", "AST", "BET", "BST", "CAT", "CNT", "CST", "CTT", "EAT", "ECT",
        "IET", "IST", "JST", "MIT", "NET", "NST", "PLT", "PNT", "PRT", "PST", "SST", "VST"};
    std::unordered_set<std::string> all;
    std::unique_ptr<icu::StringEnumeration> names(icu::TimeZone::createEnumeration());
    UErrorCode status = U_ZERO_ERROR;
    while (const char* name = names ? names->next(nullptr, status) : nullptr) {
      all.insert(name);
    }
    for (std::string_view id : kIcuOnly) {
      all.erase(std::string(id));
    }
    return all;
  }();
  return ids;
}

int TwoDigits(std::string_view s) {
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return digit(s[0]) && digit(s[1]) ? (s[0] - '0') * 10 + s[1] - '0' : -1;
}

// "+hh", "+hhmm", "+hh:mm".
std::optional<int64_t> ParseOffset(std::string_view id) {
  if (id.empty() || (id[0] != '+' && id[0] != '-')) {
    return std::nullopt;
  }
  int sign = id[0] == '-' ? -1 : 1;
  id.remove_prefix(1);
  if (id.size() == 5 && id[2] == ':') {
    int hours = TwoDigits(id);
    int minutes = TwoDigits(id.substr(3));
    return hours < 0 || minutes < 0 ? std::nullopt
                                    : std::optional(sign * (hours * kHour + minutes * kMinute));
  }
  if (id.size() != 2 && id.size() != 4) {
    return std::nullopt;
  }
  int hours = TwoDigits(id);
  int minutes = id.size() == 4 ? TwoDigits(id.substr(2)) : 0;
  return hours < 0 || minutes < 0 ? std::nullopt
                                  : std::optional(sign * (hours * kHour + minutes * kMinute));
}

Status UnknownZone(std::string_view id) {
  return Status(40485, "unrecognized time zone identifier: \"" + std::string(id) + "\"");
}

}  // namespace

TimeZone TimeZone::FromOffset(int64_t offset_millis) {
  TimeZone zone;
  zone.offset_ = offset_millis;
  return zone;
}

Result<TimeZone> TimeZone::Parse(std::string_view id) {
  if (id == "UTC" || id == "GMT") {
    return TimeZone();
  }
  if (auto offset = ParseOffset(id)) {
    return FromOffset(*offset);
  }
  static std::mutex mutex;
  static std::unordered_map<std::string, std::shared_ptr<const Rules>> cache;
  std::string key(id);
  std::lock_guard lock(mutex);
  TimeZone zone;
  if (auto it = cache.find(key); it != cache.end()) {
    zone.rules_ = it->second;
    return zone;
  }
  if (!KnownIds().contains(key)) {
    return UnknownZone(id);
  }
  std::unique_ptr<icu::TimeZone> found(
      icu::TimeZone::createTimeZone(icu::UnicodeString::fromUTF8(key)));
  if (dynamic_cast<icu::BasicTimeZone*>(found.get()) == nullptr) {
    return UnknownZone(id);
  }
  std::unique_ptr<icu::BasicTimeZone> basic(static_cast<icu::BasicTimeZone*>(found.release()));
  zone.rules_ = std::make_shared<const Rules>(std::move(basic));
  cache.emplace(std::move(key), zone.rules_);
  return zone;
}

int64_t TimeZone::OffsetAt(int64_t utc_millis) const {
  return rules_ == nullptr ? offset_ : rules_->OffsetAt(utc_millis);
}

int64_t TimeZone::ToUtc(int64_t local_millis) const {
  return local_millis - (rules_ == nullptr ? offset_ : rules_->OffsetAtLocal(local_millis));
}

}  // namespace quire::expr::date
