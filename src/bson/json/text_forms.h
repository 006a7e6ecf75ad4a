// SPDX-License-Identifier: Apache-2.0
//
// The texts of values: base64, ISO 8601 dates and doubles as extended JSON has them, timestamps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quire/bson.h"

namespace quire::bson {

std::string ToBase64(std::string_view bytes);
// With or without padding; nothing when malformed.
std::optional<std::string> FromBase64(std::string_view text);

// "2012-12-24T12:15:30.501Z"; the fraction only when there is one.
// REQUIRES: years 0 to 9999.
std::string ToIsoDate(int64_t millis);
// Date and time with Z, +hh:mm, +hhmm or +hh; seconds and their fraction may be left out.
std::optional<int64_t> FromIsoDate(std::string_view text);

// The shortest text that reads back as the same double and shows it is one: "1.0", "1e+300",
// "NaN", "-Infinity".
std::string DoubleText(double d);

// "Timestamp(1700000000, 1)", as scripts and messages show it.
std::string TimestampText(Timestamp time);

}  // namespace quire::bson
