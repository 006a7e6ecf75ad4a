// SPDX-License-Identifier: Apache-2.0
#include "bson/ordered.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "bson/decimal.h"
#include "bson/ordered_internal.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace quire::bson {

namespace {

constexpr double kTwo63 = 9223372036854775808.0;

// The type byte a document's field is led by: one per bracket.
uint8_t BracketByte(Type type) {
  switch (type) {
    case Type::kMinKey:
      return kMinKeyByte;
    case Type::kMissing:
    case Type::kUndefined:
      return kUndefinedByte;
    case Type::kNull:
      return kNullByte;
    case Type::kDouble:
    case Type::kInt32:
    case Type::kInt64:
    case Type::kDecimal128:
      return kNanByte;
    case Type::kString:
    case Type::kSymbol:
      return kStringByte;
    case Type::kDocument:
      return kDocumentByte;
    case Type::kArray:
      return kArrayByte;
    case Type::kBinary:
      return kBinaryByte;
    case Type::kObjectId:
      return kObjectIdByte;
    case Type::kBool:
      return kFalseByte;
    case Type::kDate:
      return kDateByte;
    case Type::kTimestamp:
      return kTimestampByte;
    case Type::kRegex:
      return kRegexByte;
    case Type::kDbPointer:
      return kDbPointerByte;
    case Type::kCode:
      return kCodeByte;
    case Type::kCodeWithScope:
      return kCodeWithScopeByte;
    case Type::kMaxKey:
      return kMaxKeyByte;
  }
  return kMaxKeyByte;
}

// How many of the string's first bytes need no escape, by steps of sixteen.
size_t PlainStart(std::string_view s) {
  size_t plain = 0;
#if defined(__SSE2__)
  const __m128i escape = _mm_set1_epi8(kEscapeByte);
  for (; s.size() - plain >= sizeof escape; plain += sizeof escape) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(s.data() + plain));
    if (_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(bytes, escape), bytes)) != 0) {
      break;
    }
  }
#endif
  return plain;
}

void Invert(std::string* out, size_t from) {
  for (size_t i = from; i < out->size(); ++i) {
    (*out)[i] = static_cast<char>(~(*out)[i]);
  }
}

class OrderedWriter {
 public:
  OrderedWriter(const StringCompare* strings, std::string* out, std::string* tags)
      : strings_(strings), out_(out), tags_(tags) {}

  void Write(const Value& value, int depth) {
    switch (value.type()) {
      case Type::kInt32:
        Tag(kInt32Tag);
        return WriteInteger(value.AsInt64());
      case Type::kInt64:
        Tag(kInt64Tag);
        return WriteInteger(value.AsInt64());
      case Type::kDouble:
        return WriteDouble(value.AsDouble());
      case Type::kDecimal128:
        return WriteDecimal(value.AsDecimal());
      case Type::kString:
        Tag(kStringTag);
        return WriteString(value.AsString());
      case Type::kSymbol:
        Tag(kSymbolTag);
        return WriteString(value.AsString());
      case Type::kBool:
        return Byte(value.AsBool() ? kTrueByte : kFalseByte);
      default:
        Byte(BracketByte(value.type()));
        WritePayload(value, depth);
    }
  }

 private:
  void Byte(uint8_t byte) { *out_ += static_cast<char>(byte); }

  void Tag(uint8_t tag) {
    if (tags_ != nullptr) {
      *tags_ += static_cast<char>(tag);
    }
  }

  // The `size` low bytes of `bits`, most significant first.
  void BigEndian(uint64_t bits, int size) {
    bits = __builtin_bswap64(bits);
    char bytes[sizeof bits];
    memcpy(bytes, &bits, sizeof bits);
    out_->append(bytes + 8 - size, static_cast<size_t>(size));
  }

  // An integer part below 2^63, and whether a fraction follows.
  void WriteIntegerPart(uint64_t magnitude, bool negative, bool fraction) {
    uint64_t bits = magnitude << 1 | static_cast<uint64_t>(fraction);
    int size = (71 - std::countl_zero(bits)) / 8;
    Byte(static_cast<uint8_t>(negative ? kNegativeInt1Byte - (size - 1)
                                       : kPositiveInt1Byte + (size - 1)));
    BigEndian(negative ? ~bits : bits, size);
  }

  void WriteInteger(int64_t i) {
    if (i == 0) {
      return Byte(kZeroByte);
    }
    if (i == INT64_MIN) {
      Byte(kNegativeLargeByte);
      return WriteMagnitude(kTwo63, true);
    }
    WriteIntegerPart(static_cast<uint64_t>(i < 0 ? -i : i), i < 0, false);
  }

  void WriteMagnitude(double magnitude, bool negative) {
    uint64_t bits = std::bit_cast<uint64_t>(magnitude);
    BigEndian(negative ? ~bits : bits, 8);
    Byte(negative ? static_cast<uint8_t>(~kExactDouble) : kExactDouble);
  }

  void WriteDouble(double d) {
    if (d == 0) {
      Tag(std::signbit(d) ? kNegativeZeroDoubleTag : kDoubleTag);
      return Byte(kZeroByte);
    }
    Tag(kDoubleTag);
    bool negative = d < 0;
    double magnitude = std::fabs(d);
    if (std::isnan(d)) {
      return Byte(kNanByte);
    }
    if (std::isinf(d)) {
      return Byte(negative ? kNegativeInfinityByte : kPositiveInfinityByte);
    }
    if (magnitude >= kTwo63) {
      Byte(negative ? kNegativeLargeByte : kPositiveLargeByte);
      return WriteMagnitude(magnitude, negative);
    }
    if (magnitude < 1) {
      Byte(negative ? kNegativeSmallByte : kPositiveSmallByte);
      return WriteMagnitude(magnitude, negative);
    }
    auto whole = static_cast<uint64_t>(magnitude);
    bool fraction = static_cast<double>(whole) != magnitude;
    WriteIntegerPart(whole, negative, fraction);
    if (fraction) {
      WriteMagnitude(magnitude, negative);
    }
  }

  void WriteDecimal(Decimal128 d) {
    bool finite = decimal::IsFinite(d);
    decimal::Parts parts = finite ? decimal::Split(d) : decimal::Parts{};
    bool zero = finite && parts.coefficient == 0;
    Tag(zero && parts.negative ? kNegativeZeroDecimalTag : kDecimalTag);
    auto exponent = static_cast<uint16_t>(parts.exponent + kDecimalExponentBias);
    Tag(static_cast<uint8_t>(exponent >> 8));
    Tag(static_cast<uint8_t>(exponent));
    if (zero) {
      return Byte(kZeroByte);
    }
    bool negative = decimal::IsNegative(d);
    if (decimal::IsNan(d)) {
      return Byte(kNanByte);
    }
    if (!finite) {
      return Byte(negative ? kNegativeInfinityByte : kPositiveInfinityByte);
    }
    WriteFiniteDecimal(decimal::Abs(d), negative);
  }

  void WriteFiniteDecimal(Decimal128 magnitude, bool negative) {
    double below = decimal::ToDouble(magnitude, decimal::Rounding::kToZero);
    if (below >= kTwo63) {
      Byte(negative ? kNegativeLargeByte : kPositiveLargeByte);
      return WriteDecimalMagnitude(below, magnitude, negative);
    }
    if (below < 1) {
      Byte(negative ? kNegativeSmallByte : kPositiveSmallByte);
      return WriteDecimalMagnitude(below, magnitude, negative);
    }
    bool fraction = false;
    auto whole =
        static_cast<uint64_t>(*decimal::ToInt64(magnitude, decimal::Rounding::kToZero, &fraction));
    WriteIntegerPart(whole, negative, fraction);
    if (fraction) {
      WriteDecimalMagnitude(below, magnitude, negative);
    }
  }

  // `below` is the decimal cut to a double; what that loses is kept by the decimal's 34 digits.
  void WriteDecimalMagnitude(double below, Decimal128 magnitude, bool negative) {
    if (decimal::CompareToDouble(magnitude, below) == 0) {
      return WriteMagnitude(below, negative);
    }
    size_t start = out_->size();
    BigEndian(std::bit_cast<uint64_t>(below), 8);
    Byte(kDecimalFollows);
    decimal::Parts parts = decimal::Split(magnitude);
    constexpr auto kTopDigit =
        static_cast<unsigned __int128>(1000000000000000ull) * 1000000000000000ull * 1000;  // 10^33
    while (parts.coefficient < kTopDigit) {
      parts.coefficient *= 10;
      --parts.exponent;
    }
    BigEndian(static_cast<uint64_t>(parts.exponent + kDecimalExponentBias), 2);
    BigEndian(static_cast<uint64_t>(parts.coefficient >> 64), 7);
    BigEndian(static_cast<uint64_t>(parts.coefficient), 8);
    if (negative) {
      Invert(out_, start);
    }
  }

  void WriteString(std::string_view s) {
    Byte(kStringByte);
    if (strings_ != nullptr) {
      Escaped(strings_->SortKey(s));
    } else {
      Escaped(s);
    }
  }

  void Escaped(std::string_view s) {
    size_t plain = 0;
    for (size_t i = PlainStart(s); i < s.size(); ++i) {
      if (static_cast<uint8_t>(s[i]) > kEscapeByte) {
        continue;
      }
      out_->append(s, plain, i - plain);
      Byte(kEscapeByte);
      Byte(static_cast<uint8_t>(s[i] + 1));
      plain = i + 1;
    }
    out_->append(s, plain);
    Byte(kEndByte);
  }

  void WriteFields(View view, bool names, int depth) {
    if (depth >= kMaxOrderedDepth) {
      return Escaped(view.bytes());
    }
    for (const Element& e : view) {
      if (names) {
        Byte(BracketByte(e.type()));
        out_->append(e.name());
        Byte(kEndByte);
      }
      Write(e.value(), depth + 1);
    }
    Byte(kEndByte);
  }

  void WriteObjectId(const ObjectId& id) {
    out_->append(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size());
  }

  void WritePayload(const Value& value, int depth) {
    switch (value.type()) {
      case Type::kDocument:
        return WriteFields(value.AsDocument(), true, depth);
      case Type::kArray:
        return WriteFields(value.AsArray(), false, depth);
      case Type::kBinary:
        BigEndian(value.AsBinary().size(), 4);
        Byte(value.binary_subtype());
        out_->append(value.AsBinary());
        return;
      case Type::kObjectId:
        return WriteObjectId(value.AsObjectId());
      case Type::kDate:
        return BigEndian(static_cast<uint64_t>(value.AsInt64()) ^ (uint64_t{1} << 63), 8);
      case Type::kTimestamp:
        return BigEndian(static_cast<uint64_t>(value.AsInt64()), 8);
      case Type::kRegex:
        out_->append(value.bytes());  // two C strings
        return;
      case Type::kDbPointer:
        BigEndian(value.DbPointerNamespace().size(), 4);
        out_->append(value.DbPointerNamespace());
        return WriteObjectId(value.DbPointerId());
      case Type::kCode:
        return Escaped(value.AsString());
      case Type::kCodeWithScope:
        return WriteCodeWithScope(value, depth);
      default:
        return;  // the type byte says it all
    }
  }

  // The scope's strings compare by their bytes whatever the collation.
  void WriteCodeWithScope(const Value& value, int depth) {
    Escaped(value.CodeWithScopeCode());
    OrderedWriter(nullptr, out_, tags_).WriteFields(value.CodeWithScopeScope(), true, depth);
  }

  const StringCompare* strings_;
  std::string* out_;
  std::string* tags_;
};

}  // namespace

void AppendOrdered(const Value& value, Direction direction, const StringCompare* strings,
                   std::string* out, std::string* type_bits) {
  size_t start = out->size();
  OrderedWriter(strings, out, type_bits).Write(value, 0);
  if (direction == Direction::kDescending) {
    Invert(out, start);
  }
}

void TrimTypeBits(std::string* type_bits) {
  while (!type_bits->empty() && type_bits->back() == 0) {
    type_bits->pop_back();
  }
}

}  // namespace quire::bson
