// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "bson/decimal.h"
#include "bson/ordered.h"
#include "bson/ordered_internal.h"

namespace quire::bson {

namespace {

// Reads one value; every read is bounded, so damaged bytes end in a false and nothing worse.
class Decoder {
 public:
  Decoder(std::string_view bytes, std::string_view tags, uint8_t mask)
      : bytes_(bytes), tags_(tags), mask_(mask) {}

  // `out` may be null: then the value is only moved past.
  bool Read(std::string_view name, Builder* out, int depth) {
    uint8_t type = 0;
    if (!Byte(&type)) {
      return false;
    }
    if (type >= kNanByte && type <= kPositiveInfinityByte) {
      return ReadNumber(type, name, out);
    }
    return ReadOther(type, name, out, depth);
  }

  std::string_view bytes() const { return bytes_; }
  std::string_view tags() const { return tags_; }

 private:
  // A number as read, before its tag says which type it had.
  struct Number {
    bool negative = false;
    bool integral = false;  // then `whole` is its magnitude
    uint64_t whole = 0;
    double magnitude = 0;     // else this
    bool is_decimal = false;  // or, when not exact, this
    decimal::Parts parts;
  };

  bool Byte(uint8_t* byte) {
    if (bytes_.empty()) {
      return false;
    }
    *byte = static_cast<uint8_t>(bytes_.front()) ^ mask_;
    bytes_.remove_prefix(1);
    return true;
  }

  bool BigEndian(int size, uint64_t* out) {
    *out = 0;
    uint8_t byte = 0;
    for (int i = 0; i < size; ++i) {
      if (!Byte(&byte)) {
        return false;
      }
      *out = *out << 8 | byte;
    }
    return true;
  }

  bool Bytes(uint64_t size, std::string* out) {
    if (size > bytes_.size()) {
      return false;
    }
    out->assign(bytes_, 0, size);
    bytes_.remove_prefix(size);
    for (char& c : *out) {
      c = static_cast<char>(c ^ mask_);
    }
    return true;
  }

  uint8_t Tag() {
    if (tags_.empty()) {
      return 0;
    }
    auto tag = static_cast<uint8_t>(tags_.front());
    tags_.remove_prefix(1);
    return tag;
  }

  // The double and what may follow it. Negative numbers are inverted on top of the direction.
  bool ReadMagnitude(Number* number) {
    uint8_t saved = mask_;
    mask_ ^= number->negative ? 0xff : 0;
    uint64_t bits = 0;
    uint8_t follows = 0;
    bool ok = BigEndian(8, &bits) && Byte(&follows);
    number->magnitude = std::bit_cast<double>(bits);
    number->integral = false;
    if (ok && follows == kDecimalFollows) {
      uint64_t exponent = 0;
      uint64_t high = 0;
      uint64_t low = 0;
      ok = BigEndian(2, &exponent) && BigEndian(7, &high) && BigEndian(8, &low);
      number->is_decimal = true;
      number->parts.exponent = static_cast<int>(exponent) - kDecimalExponentBias;
      number->parts.coefficient = static_cast<unsigned __int128>(high) << 64 | low;
    }
    mask_ = saved;
    return ok;
  }

  bool ReadIntegerPart(int size, Number* number) {
    uint8_t saved = mask_;
    mask_ ^= number->negative ? 0xff : 0;
    uint64_t bits = 0;
    bool ok = BigEndian(size, &bits);
    mask_ = saved;
    number->integral = true;
    number->whole = bits >> 1;
    return ok && ((bits & 1) == 0 || ReadMagnitude(number));
  }

  bool ReadNumber(uint8_t type, std::string_view name, Builder* out) {
    Number number;
    number.negative = type < kZeroByte;
    if (type == kZeroByte) {
      number.integral = true;
    } else if (type == kNanByte || type == kNegativeInfinityByte || type == kPositiveInfinityByte) {
      number.magnitude = type == kNanByte ? std::numeric_limits<double>::quiet_NaN()
                                          : std::numeric_limits<double>::infinity();
    } else if (type >= kNegativeInt8Byte && type <= kNegativeInt1Byte) {
      if (!ReadIntegerPart(kNegativeInt1Byte - type + 1, &number)) {
        return false;
      }
    } else if (type >= kPositiveInt1Byte && type <= kPositiveInt8Byte) {
      if (!ReadIntegerPart(type - kPositiveInt1Byte + 1, &number)) {
        return false;
      }
    } else if (!ReadMagnitude(&number)) {
      return false;
    }
    Value value = TypedNumber(number);
    if (out != nullptr) {
      out->Append(name, value);
    }
    return true;
  }

  Value TypedNumber(const Number& number) {
    uint8_t tag = Tag();
    switch (tag) {
      case kDoubleTag:
        return Value(AsDouble(number));
      case kNegativeZeroDoubleTag:
        return Value(-0.0);
      case kDecimalTag:
      case kNegativeZeroDecimalTag: {
        int exponent = Tag() << 8;
        exponent |= Tag();
        return Value(
            AsDecimal(number, tag == kNegativeZeroDecimalTag, exponent - kDecimalExponentBias));
      }
      default:
        return AsInteger(number, tag == kInt32Tag);
    }
  }

  static double AsDouble(const Number& number) {
    double magnitude = number.integral ? static_cast<double>(number.whole) : number.magnitude;
    return number.negative ? -magnitude : magnitude;
  }

  // Without its tag a number that is no integer is shown as the double it is nearest to.
  static Value AsInteger(const Number& number, bool narrow) {
    if (!number.integral && !(number.negative && number.magnitude == 9223372036854775808.0)) {
      return Value(AsDouble(number));
    }
    auto i = static_cast<int64_t>(number.integral ? number.whole : uint64_t{1} << 63);
    if (number.negative && number.integral) {
      i = -i;
    }
    bool fits = i == static_cast<int32_t>(i);
    return narrow && fits ? Value(static_cast<int32_t>(i)) : Value(i);
  }

  static Decimal128 AsDecimal(const Number& number, bool negative_zero, int exponent) {
    if (!number.integral && !std::isfinite(number.magnitude)) {
      return decimal::FromDoubleExact(AsDouble(number));
    }
    Decimal128 d;
    if (number.integral) {
      d = decimal::Join({number.negative || negative_zero, number.whole, 0});
    } else if (number.is_decimal) {
      d = FromNormalized(number);
    } else {
      d = decimal::FromDoubleExact(AsDouble(number));
    }
    exponent = std::min(decimal::kMaxExponent, std::max(decimal::kMinExponent, exponent));
    Decimal128 shaped = decimal::Quantize(d, decimal::Join({false, 1, exponent}));
    return decimal::IsNan(shaped) ? d : shaped;
  }

  // The coefficient was scaled up to 34 digits, which may have left the exponent below the range.
  static Decimal128 FromNormalized(const Number& number) {
    decimal::Parts parts = number.parts;
    parts.negative = number.negative;
    while (parts.exponent < decimal::kMinExponent && parts.coefficient != 0) {
      parts.coefficient /= 10;
      ++parts.exponent;
    }
    parts.exponent = std::min(parts.exponent, decimal::kMaxExponent);
    return decimal::Join(parts);
  }

  bool Escaped(std::string* out) {
    uint8_t byte = 0;
    while (Byte(&byte)) {
      if (byte == kEndByte) {
        return true;
      }
      if (byte == kEscapeByte) {
        if (!Byte(&byte) || byte == 0 || byte > kEscapeByte + 1) {
          return false;
        }
        --byte;
      }
      *out += static_cast<char>(byte);
    }
    return false;
  }

  bool CString(std::string* out) {
    uint8_t byte = 0;
    while (Byte(&byte)) {
      if (byte == 0) {
        return true;
      }
      *out += static_cast<char>(byte);
    }
    return false;
  }

  bool AtEnd() { return !bytes_.empty() && (static_cast<uint8_t>(bytes_.front()) ^ mask_) == 0; }

  // Fields or array elements up to the end byte.
  bool ReadFields(bool names, Builder* out, int depth) {
    uint32_t index = 0;
    while (!AtEnd()) {
      std::string name;
      uint8_t bracket = 0;
      if (names ? !Byte(&bracket) || !CString(&name) : bytes_.empty()) {
        return false;
      }
      if (!names) {
        name = std::to_string(index++);
      }
      if (!Read(name, out, depth + 1)) {
        return false;
      }
    }
    uint8_t end = 0;
    return Byte(&end);
  }

  bool ReadContainer(Type type, std::string_view name, Builder* out, int depth) {
    if (depth >= kMaxOrderedDepth) {
      std::string raw;
      return Escaped(&raw);
    }
    if (out != nullptr) {
      type == Type::kArray ? out->BeginArray(name) : out->BeginDocument(name);
    }
    if (!ReadFields(type == Type::kDocument, out, depth)) {
      return false;
    }
    if (out != nullptr) {
      out->End();
    }
    return true;
  }

  bool ReadObjectId(ObjectId* id) {
    std::string raw;
    if (!Bytes(id->bytes.size(), &raw)) {
      return false;
    }
    memcpy(id->bytes.data(), raw.data(), raw.size());
    return true;
  }

  bool ReadBinary(std::string_view name, Builder* out) {
    uint64_t size = 0;
    uint8_t subtype = 0;
    std::string raw;
    if (!BigEndian(4, &size) || !Byte(&subtype) || !Bytes(size, &raw)) {
      return false;
    }
    return Emit(name, Value::Binary(raw, subtype), out);
  }

  bool ReadRegex(std::string_view name, Builder* out) {
    std::string pattern;
    std::string options;
    if (!CString(&pattern) || !CString(&options)) {
      return false;
    }
    if (out != nullptr) {
      out->AppendRegex(name, pattern, options);
    }
    return true;
  }

  bool ReadDbPointer(std::string_view name, Builder* out) {
    uint64_t size = 0;
    std::string ns;
    ObjectId id;
    if (!BigEndian(4, &size) || !Bytes(size, &ns) || !ReadObjectId(&id)) {
      return false;
    }
    if (out != nullptr) {
      out->AppendDbPointer(name, ns, id);
    }
    return true;
  }

  bool ReadCodeWithScope(std::string_view name, Builder* out, int depth) {
    std::string code;
    Builder scope;
    if (!Escaped(&code)) {
      return false;
    }
    if (depth >= kMaxOrderedDepth) {
      std::string raw;
      return Escaped(&raw);
    }
    if (!ReadFields(true, &scope, depth)) {
      return false;
    }
    Document document = scope.Finish();
    if (out != nullptr) {
      out->AppendCodeWithScope(name, code, document);
    }
    return true;
  }

  bool ReadText(uint8_t type, std::string_view name, Builder* out) {
    std::string text;
    uint8_t tag = type == kStringByte ? Tag() : 0;
    if (!Escaped(&text)) {
      return false;
    }
    if (type == kCodeByte) {
      return Emit(name, Value::Code(text), out);
    }
    return Emit(name, tag == kSymbolTag ? Value::Symbol(text) : Value(std::string_view(text)), out);
  }

  bool ReadEightBytes(uint8_t type, std::string_view name, Builder* out) {
    uint64_t bits = 0;
    if (!BigEndian(8, &bits)) {
      return false;
    }
    if (type == kDateByte) {
      return Emit(name, Value(Date{static_cast<int64_t>(bits ^ (uint64_t{1} << 63))}), out);
    }
    Timestamp t{static_cast<uint32_t>(bits >> 32), static_cast<uint32_t>(bits)};
    return Emit(name, Value(t), out);
  }

  static bool Emit(std::string_view name, const Value& value, Builder* out) {
    if (out != nullptr) {
      out->Append(name, value);
    }
    return true;
  }

  bool ReadOther(uint8_t type, std::string_view name, Builder* out, int depth) {
    ObjectId id;
    switch (type) {
      case kMinKeyByte:
        return Emit(name, Value::MinKey(), out);
      case kUndefinedByte:
        return Emit(name, Value::Undefined(), out);
      case kNullByte:
        return Emit(name, Value::Null(), out);
      case kStringByte:
      case kCodeByte:
        return ReadText(type, name, out);
      case kDocumentByte:
        return ReadContainer(Type::kDocument, name, out, depth);
      case kArrayByte:
        return ReadContainer(Type::kArray, name, out, depth);
      case kBinaryByte:
        return ReadBinary(name, out);
      case kObjectIdByte:
        return ReadObjectId(&id) && Emit(name, Value(id), out);
      case kFalseByte:
      case kTrueByte:
        return Emit(name, Value(type == kTrueByte), out);
      case kDateByte:
      case kTimestampByte:
        return ReadEightBytes(type, name, out);
      case kRegexByte:
        return ReadRegex(name, out);
      case kDbPointerByte:
        return ReadDbPointer(name, out);
      case kCodeWithScopeByte:
        return ReadCodeWithScope(name, out, depth);
      case kMaxKeyByte:
        return Emit(name, Value::MaxKey(), out);
      default:
        return false;
    }
  }

  std::string_view bytes_;
  std::string_view tags_;
  uint8_t mask_;
};

}  // namespace

bool OrderedReader::Read(Direction direction, std::string_view name, Builder* out) {
  Decoder decoder(bytes_, type_bits_, direction == Direction::kDescending ? 0xff : 0);
  bool ok = decoder.Read(name, out, 0);
  bytes_ = ok ? decoder.bytes() : std::string_view();
  type_bits_ = decoder.tags();
  return ok;
}

void AppendAsOrdered(std::string_view name, const Value& value, const StringCompare* strings,
                     Builder* out) {
  std::string bytes;
  AppendOrdered(value, Direction::kAscending, strings, &bytes, nullptr);
  OrderedReader(bytes, {}).Read(Direction::kAscending, name, out);
}

bool OrderedReader::Skip(Direction direction) { return Read(direction, "", nullptr); }

}  // namespace quire::bson
