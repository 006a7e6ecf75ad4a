// SPDX-License-Identifier: Apache-2.0
//
// Decimal128 text, by the rules of the BSON decimal128 specification.
#include <bid_conf.h>
#include <bid_functions.h>

#include <algorithm>

#include "bson/decimal.h"

namespace quire::bson::decimal {

namespace {

// What a numeric string says: `digits` times 10^exponent. Digits beyond what decides the rounding
// are folded into one.
struct Scanned {
  bool negative = false;
  std::string digits;
  int64_t exponent = 0;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) {
    return false;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c) != lower[i]) {
      return false;
    }
  }
  return true;
}

// Reads digits with at most one point; false when there is no digit. Leaves the rest in *text.
bool ScanCoefficient(std::string_view* text, Scanned* out) {
  constexpr size_t kKept = 60;
  bool any = false;
  bool point = false;
  for (; !text->empty(); text->remove_prefix(1)) {
    char c = text->front();
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (!IsDigit(c)) {
      break;
    }
    any = true;
    if (out->digits.size() < kKept) {
      if (c != '0' || !out->digits.empty()) {
        out->digits.push_back(c);
      }
      out->exponent -= point ? 1 : 0;
    } else {
      if (c != '0') {
        out->digits.back() = '1';  // far below the 34th digit: only "not zero" matters
      }
      out->exponent += point ? 0 : 1;
    }
  }
  return any;
}

bool ScanExponent(std::string_view text, Scanned* out) {
  if (text.empty()) {
    return true;
  }
  if (text.front() != 'e' && text.front() != 'E') {
    return false;
  }
  text.remove_prefix(1);
  bool negative = false;
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  if (text.empty()) {
    return false;
  }
  constexpr int64_t kHuge = int64_t{1} << 40;
  int64_t value = 0;
  for (char c : text) {
    if (!IsDigit(c)) {
      return false;
    }
    value = std::min(kHuge, value * 10 + (c - '0'));
  }
  out->exponent += negative ? -value : value;
  return true;
}

std::string ScientificText(const std::string& digits, int adjusted) {
  std::string text = digits.substr(0, 1);
  if (digits.size() > 1) {
    text += '.';
    text.append(digits, 1);
  }
  text += adjusted < 0 ? "E-" : "E+";
  return text + std::to_string(adjusted < 0 ? -adjusted : adjusted);
}

std::string PlainText(const std::string& digits, int exponent) {
  if (exponent == 0) {
    return digits;
  }
  auto fraction = static_cast<size_t>(-exponent);
  if (digits.size() > fraction) {
    return digits.substr(0, digits.size() - fraction) + "." +
           digits.substr(digits.size() - fraction);
  }
  return "0." + std::string(fraction - digits.size(), '0') + digits;
}

}  // namespace

std::optional<Decimal128> FromString(std::string_view text, Flags* flags) {
  Scanned scanned;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    scanned.negative = text.front() == '-';
    text.remove_prefix(1);
  }
  if (EqualsIgnoringCase(text, "nan")) {
    return scanned.negative ? Negate(kNan) : kNan;
  }
  if (EqualsIgnoringCase(text, "inf") || EqualsIgnoringCase(text, "infinity")) {
    return scanned.negative ? kNegativeInfinity : kInfinity;
  }
  if (!ScanCoefficient(&text, &scanned) || !ScanExponent(text, &scanned)) {
    return std::nullopt;
  }
  constexpr int64_t kFar = 100000;
  int64_t exponent = std::min(kFar, std::max(-kFar, scanned.exponent));
  std::string number = scanned.negative ? "-" : "+";
  number += scanned.digits.empty() ? "0" : scanned.digits;
  number += "E" + std::to_string(exponent);
  unsigned raised = 0;
  BID_UINT128 raw = bid128_from_string(number.data(), BID_ROUNDING_TO_NEAREST, &raised);
  if (flags != nullptr) {
    flags->inexact = (raised & BID_INEXACT_EXCEPTION) != 0;
    flags->overflow = (raised & BID_OVERFLOW_EXCEPTION) != 0;
    flags->underflow = (raised & BID_UNDERFLOW_EXCEPTION) != 0;
  }
  return Decimal128{raw.w[0], raw.w[1]};
}

std::string ToString(Decimal128 d) {
  if (IsNan(d)) {
    return "NaN";
  }
  if (IsInfinite(d)) {
    return IsNegative(d) ? "-Infinity" : "Infinity";
  }
  Parts parts = Split(d);
  std::string digits;
  do {
    digits.insert(digits.begin(),
                  static_cast<char>('0' + static_cast<int>(parts.coefficient % 10)));
    parts.coefficient /= 10;
  } while (parts.coefficient != 0);
  int adjusted = parts.exponent + static_cast<int>(digits.size()) - 1;
  std::string sign = parts.negative ? "-" : "";
  if (parts.exponent > 0 || adjusted < -6) {
    return sign + ScientificText(digits, adjusted);
  }
  return sign + PlainText(digits, parts.exponent);
}

}  // namespace quire::bson::decimal
