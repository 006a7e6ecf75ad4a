// SPDX-License-Identifier: Apache-2.0
//
// Decimal128 arithmetic by Intel's library, rounding to nearest even unless told otherwise. No
// function traps or throws: invalid operations give NaN, overflow an infinity.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quire/bson.h"

namespace quire::bson::decimal {

enum class Rounding : uint8_t { kNearestEven, kDown, kUp, kToZero, kNearestAway };

// What happened beside the result.
struct Flags {
  bool invalid = false;
  bool divide_by_zero = false;
  bool overflow = false;
  bool underflow = false;
  bool inexact = false;
};

// The three fields of a finite number: (-1)^negative * coefficient * 10^exponent. A non-canonical
// coefficient (above 34 digits) reads as zero, as the standard says.
struct Parts {
  bool negative = false;
  unsigned __int128 coefficient = 0;
  int exponent = 0;
};

inline constexpr int kMinExponent = -6176;
inline constexpr int kMaxExponent = 6111;
inline constexpr int kMaxDigits = 34;

inline constexpr Decimal128 kNan{0, 0x7c00000000000000};
inline constexpr Decimal128 kInfinity{0, 0x7800000000000000};
inline constexpr Decimal128 kNegativeInfinity{0, 0xf800000000000000};
inline constexpr Decimal128 kZero{0, 0x3040000000000000};

inline bool IsNan(Decimal128 d) { return (d.high & 0x7c00000000000000) == 0x7c00000000000000; }
inline bool IsInfinite(Decimal128 d) { return (d.high & 0x7c00000000000000) == 0x7800000000000000; }
inline bool IsFinite(Decimal128 d) { return (d.high & 0x7800000000000000) != 0x7800000000000000; }
// The sign bit: true for -0 too.
inline bool IsNegative(Decimal128 d) { return (d.high >> 63) != 0; }
bool IsZero(Decimal128 d);

// REQUIRES: IsFinite(d).
Parts Split(Decimal128 d);
// REQUIRES: at most 34 digits, exponent within [kMinExponent, kMaxExponent].
Decimal128 Join(const Parts& parts);

Decimal128 FromInt64(int64_t i);
// The nearest decimal of exactly 15 significant digits (1.5 gives 1.50000000000000), as MongoDB
// converts doubles; zero, infinities and NaN as they are.
Decimal128 FromDouble(double d);
// The nearest decimal of up to 34 digits.
Decimal128 FromDoubleExact(double d, Rounding rounding = Rounding::kNearestEven,
                           Flags* flags = nullptr);
// A number as the decimal128 specification writes it ("1.0", "-1E+3", "NaN", "inf"), rounded to 34
// digits when longer; nothing when it is not one.
std::optional<Decimal128> FromString(std::string_view text, Flags* flags = nullptr);

// The specification's text: "1.0", "1E+3", "NaN", "-Infinity".
std::string ToString(Decimal128 d);
double ToDouble(Decimal128 d, Rounding rounding = Rounding::kNearestEven, Flags* flags = nullptr);
// Rounded; nothing for NaN or when out of range. `inexact`, when not null, tells whether digits
// were lost.
std::optional<int64_t> ToInt64(Decimal128 d, Rounding rounding = Rounding::kToZero,
                               bool* inexact = nullptr);

// -1, 0, 1; NaN is below everything and equal to NaN; 1.0 equals 1.00.
int Compare(Decimal128 a, Decimal128 b);
// The same against a double's exact value.
int CompareToDouble(Decimal128 a, double b);
int CompareToInt64(Decimal128 a, int64_t b);

Decimal128 Add(Decimal128 a, Decimal128 b);
Decimal128 Subtract(Decimal128 a, Decimal128 b);
Decimal128 Multiply(Decimal128 a, Decimal128 b);
Decimal128 Divide(Decimal128 a, Decimal128 b);
// The remainder of truncated division: the sign is a's.
Decimal128 Mod(Decimal128 a, Decimal128 b);
Decimal128 Negate(Decimal128 d);
Decimal128 Abs(Decimal128 d);

// `d` rounded to the exponent of `quantum`; NaN when that takes more than 34 digits.
Decimal128 Quantize(Decimal128 d, Decimal128 quantum, Rounding rounding = Rounding::kNearestEven,
                    Flags* flags = nullptr);
// `d` rounded to `place` digits after the point (before it when negative), with the exponent
// -place; unchanged when it cannot hold that many digits or is not finite.
Decimal128 RoundToPlace(Decimal128 d, int place, Rounding rounding);
Decimal128 RoundToIntegral(Decimal128 d, Rounding rounding);
inline Decimal128 Trunc(Decimal128 d) { return RoundToIntegral(d, Rounding::kToZero); }

Decimal128 Sqrt(Decimal128 d);
Decimal128 Exp(Decimal128 d);
Decimal128 Ln(Decimal128 d);
Decimal128 Log10(Decimal128 d);
Decimal128 Log2(Decimal128 d);
Decimal128 Pow(Decimal128 base, Decimal128 exponent);

Decimal128 Sin(Decimal128 d);
Decimal128 Cos(Decimal128 d);
Decimal128 Tan(Decimal128 d);
Decimal128 Asin(Decimal128 d);
Decimal128 Acos(Decimal128 d);
Decimal128 Atan(Decimal128 d);
Decimal128 Atan2(Decimal128 y, Decimal128 x);
Decimal128 Sinh(Decimal128 d);
Decimal128 Cosh(Decimal128 d);
Decimal128 Tanh(Decimal128 d);
Decimal128 Asinh(Decimal128 d);
Decimal128 Acosh(Decimal128 d);
Decimal128 Atanh(Decimal128 d);

}  // namespace quire::bson::decimal
