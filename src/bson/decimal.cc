// SPDX-License-Identifier: Apache-2.0
#include "bson/decimal.h"

#include <bid_conf.h>
#include <bid_functions.h>

#include <algorithm>
#include <cmath>

namespace quire::bson::decimal {

namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;
constexpr int kBias = 6176;

BID_UINT128 Raw(Decimal128 d) {
  BID_UINT128 raw;
  raw.w[0] = d.low;
  raw.w[1] = d.high;
  return raw;
}

Decimal128 Cooked(BID_UINT128 raw) { return {raw.w[0], raw.w[1]}; }

unsigned Mode(Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearestEven:
      return BID_ROUNDING_TO_NEAREST;
    case Rounding::kDown:
      return BID_ROUNDING_DOWN;
    case Rounding::kUp:
      return BID_ROUNDING_UP;
    case Rounding::kToZero:
      return BID_ROUNDING_TO_ZERO;
    case Rounding::kNearestAway:
      return BID_ROUNDING_TIES_AWAY;
  }
  return BID_ROUNDING_TO_NEAREST;
}

void Report(unsigned raised, Flags* flags) {
  if (flags == nullptr) {
    return;
  }
  flags->invalid = (raised & BID_INVALID_EXCEPTION) != 0;
  flags->divide_by_zero = (raised & BID_ZERO_DIVIDE_EXCEPTION) != 0;
  flags->overflow = (raised & BID_OVERFLOW_EXCEPTION) != 0;
  flags->underflow = (raised & BID_UNDERFLOW_EXCEPTION) != 0;
  flags->inexact = (raised & BID_INEXACT_EXCEPTION) != 0;
}

using UnaryFunction = BID_UINT128 (*)(BID_UINT128, unsigned, unsigned*);
using BinaryFunction = BID_UINT128 (*)(BID_UINT128, BID_UINT128, unsigned, unsigned*);

Decimal128 Unary(UnaryFunction f, Decimal128 d) {
  unsigned raised = 0;
  return Cooked(f(Raw(d), BID_ROUNDING_TO_NEAREST, &raised));
}

Decimal128 Binary(BinaryFunction f, Decimal128 a, Decimal128 b) {
  unsigned raised = 0;
  return Cooked(f(Raw(a), Raw(b), BID_ROUNDING_TO_NEAREST, &raised));
}

constexpr unsigned __int128 PowerOfTen(int n) {
  unsigned __int128 p = 1;
  while (n-- > 0) {
    p *= 10;
  }
  return p;
}

constexpr unsigned __int128 kCoefficientEnd = PowerOfTen(kMaxDigits);

}  // namespace

bool IsZero(Decimal128 d) { return IsFinite(d) && Split(d).coefficient == 0; }

Parts Split(Decimal128 d) {
  Parts parts;
  parts.negative = IsNegative(d);
  if ((d.high & 0x6000000000000000) == 0x6000000000000000) {
    // The large-coefficient form: always above 34 digits, so zero.
    parts.exponent = static_cast<int>((d.high >> 47) & 0x3fff) - kBias;
    return parts;
  }
  parts.exponent = static_cast<int>((d.high >> 49) & 0x3fff) - kBias;
  parts.coefficient = (static_cast<unsigned __int128>(d.high & 0x1ffffffffffff) << 64) | d.low;
  if (parts.coefficient >= kCoefficientEnd) {
    parts.coefficient = 0;
  }
  return parts;
}

Decimal128 Join(const Parts& parts) {
  Decimal128 d;
  d.low = static_cast<uint64_t>(parts.coefficient);
  d.high = static_cast<uint64_t>(parts.coefficient >> 64) |
           (static_cast<uint64_t>(parts.exponent + kBias) << 49) | (parts.negative ? kSign : 0);
  return d;
}

Decimal128 FromInt64(int64_t i) {
  Parts parts;
  parts.negative = i < 0;
  parts.coefficient = i < 0 ? uint64_t{0} - static_cast<uint64_t>(i) : static_cast<uint64_t>(i);
  return Join(parts);
}

Decimal128 FromDouble(double d) {
  constexpr int kDigits = 15;
  Decimal128 exact = FromDoubleExact(d);
  if (!std::isfinite(d) || d == 0) {
    return exact;
  }
  // 10^exponent10 <= |d| but for the last digit of the estimate, which the coefficient shows.
  int exponent10 = static_cast<int>(std::floor(std::log10(std::fabs(d)))) - (kDigits - 1);
  for (exponent10 -= 1;; ++exponent10) {
    Decimal128 rounded = Quantize(exact, Join({false, 1, exponent10}));
    if (Split(rounded).coefficient < PowerOfTen(kDigits)) {
      return rounded;
    }
  }
}

Decimal128 FromDoubleExact(double d, Rounding rounding, Flags* flags) {
  unsigned raised = 0;
  Decimal128 result = Cooked(binary64_to_bid128(d, Mode(rounding), &raised));
  Report(raised, flags);
  return result;
}

double ToDouble(Decimal128 d, Rounding rounding, Flags* flags) {
  unsigned raised = 0;
  double result = bid128_to_binary64(Raw(d), Mode(rounding), &raised);
  Report(raised, flags);
  return result;
}

std::optional<int64_t> ToInt64(Decimal128 d, Rounding rounding, bool* inexact) {
  unsigned raised = 0;
  Decimal128 integral = RoundToIntegral(d, rounding);
  int64_t result = bid128_to_int64_xint(Raw(integral), &raised);
  if ((raised & BID_INVALID_EXCEPTION) != 0) {
    return std::nullopt;
  }
  if (inexact != nullptr) {
    *inexact = Compare(integral, d) != 0;
  }
  return result;
}

int Compare(Decimal128 a, Decimal128 b) {
  if (IsNan(a) || IsNan(b)) {
    return static_cast<int>(IsNan(b)) - static_cast<int>(IsNan(a));
  }
  unsigned raised = 0;
  if (bid128_quiet_equal(Raw(a), Raw(b), &raised) != 0) {
    return 0;
  }
  return bid128_quiet_less(Raw(a), Raw(b), &raised) != 0 ? -1 : 1;
}

int CompareToDouble(Decimal128 a, double b) {
  Flags flags;
  // Truncated, so a lost digit means that |b| is above its decimal.
  Decimal128 truncated = FromDoubleExact(b, Rounding::kToZero, &flags);
  int order = Compare(a, truncated);
  if (order != 0 || !flags.inexact) {
    return order;
  }
  return b > 0 ? -1 : 1;
}

int CompareToInt64(Decimal128 a, int64_t b) { return Compare(a, FromInt64(b)); }

Decimal128 Add(Decimal128 a, Decimal128 b) { return Binary(bid128_add, a, b); }
Decimal128 Subtract(Decimal128 a, Decimal128 b) { return Binary(bid128_sub, a, b); }
Decimal128 Multiply(Decimal128 a, Decimal128 b) { return Binary(bid128_mul, a, b); }
Decimal128 Divide(Decimal128 a, Decimal128 b) { return Binary(bid128_div, a, b); }

Decimal128 Mod(Decimal128 a, Decimal128 b) {
  unsigned raised = 0;
  return Cooked(bid128_fmod(Raw(a), Raw(b), &raised));
}

Decimal128 Negate(Decimal128 d) { return {d.low, d.high ^ kSign}; }
Decimal128 Abs(Decimal128 d) { return {d.low, d.high & ~kSign}; }

Decimal128 Quantize(Decimal128 d, Decimal128 quantum, Rounding rounding, Flags* flags) {
  unsigned raised = 0;
  Decimal128 result = Cooked(bid128_quantize(Raw(d), Raw(quantum), Mode(rounding), &raised));
  Report(raised, flags);
  return result;
}

Decimal128 RoundToPlace(Decimal128 d, int place, Rounding rounding) {
  if (!IsFinite(d)) {
    return d;
  }
  int exponent = std::clamp(-place, kMinExponent, kMaxExponent);
  Decimal128 rounded = Quantize(d, Join({false, 1, exponent}), rounding);
  return IsNan(rounded) ? d : rounded;
}

Decimal128 RoundToIntegral(Decimal128 d, Rounding rounding) {
  unsigned raised = 0;
  switch (rounding) {
    case Rounding::kNearestEven:
      return Cooked(bid128_round_integral_nearest_even(Raw(d), &raised));
    case Rounding::kDown:
      return Cooked(bid128_round_integral_negative(Raw(d), &raised));
    case Rounding::kUp:
      return Cooked(bid128_round_integral_positive(Raw(d), &raised));
    case Rounding::kToZero:
      return Cooked(bid128_round_integral_zero(Raw(d), &raised));
    case Rounding::kNearestAway:
      return Cooked(bid128_round_integral_nearest_away(Raw(d), &raised));
  }
  return d;
}

Decimal128 Sqrt(Decimal128 d) { return Unary(bid128_sqrt, d); }
Decimal128 Exp(Decimal128 d) { return Unary(bid128_exp, d); }
Decimal128 Ln(Decimal128 d) { return Unary(bid128_log, d); }
Decimal128 Log10(Decimal128 d) { return Unary(bid128_log10, d); }
Decimal128 Log2(Decimal128 d) { return Unary(bid128_log2, d); }
Decimal128 Pow(Decimal128 base, Decimal128 exponent) { return Binary(bid128_pow, base, exponent); }

Decimal128 Sin(Decimal128 d) { return Unary(bid128_sin, d); }
Decimal128 Cos(Decimal128 d) { return Unary(bid128_cos, d); }
Decimal128 Tan(Decimal128 d) { return Unary(bid128_tan, d); }
Decimal128 Asin(Decimal128 d) { return Unary(bid128_asin, d); }
Decimal128 Acos(Decimal128 d) { return Unary(bid128_acos, d); }
Decimal128 Atan(Decimal128 d) { return Unary(bid128_atan, d); }
Decimal128 Atan2(Decimal128 y, Decimal128 x) { return Binary(bid128_atan2, y, x); }
Decimal128 Sinh(Decimal128 d) { return Unary(bid128_sinh, d); }
Decimal128 Cosh(Decimal128 d) { return Unary(bid128_cosh, d); }
Decimal128 Tanh(Decimal128 d) { return Unary(bid128_tanh, d); }
Decimal128 Asinh(Decimal128 d) { return Unary(bid128_asinh, d); }
Decimal128 Acosh(Decimal128 d) { return Unary(bid128_acosh, d); }
Decimal128 Atanh(Decimal128 d) { return Unary(bid128_atanh, d); }

}  // namespace quire::bson::decimal
