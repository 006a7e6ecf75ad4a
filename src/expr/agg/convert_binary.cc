// SPDX-License-Identifier: Apache-2.0
//
// Conversions from and to binary data.
#include <array>
#include <bit>
#include <cstring>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/agg/convert_internal.h"
#include "expr/agg/result_internal.h"
#include "expr/agg/text_internal.h"

namespace quire::expr::agg {

namespace {

constexpr uint8_t kUuidSubtype = 4;
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

Status Failure(std::string_view why) {
  return Status(kConversionFailure, std::string(why) + " in $convert with no onError value");
}

Status Unsupported(Type from, Type to) {
  return Failure("Unsupported conversion from " + std::string(bson::TypeName(from)) + " to " +
                 std::string(bson::TypeName(to)));
}

std::string EncodeBase64(std::string_view bytes, std::string_view alphabet, bool padded) {
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    size_t n = std::min<size_t>(3, bytes.size() - i);
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < n ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) {
      if (j <= n) {
        out += alphabet[group >> (18 - 6 * j) & 63];
      } else if (padded) {
        out += '=';
      }
    }
  }
  return out;
}

bool DecodeBase64(std::string_view text, std::string_view alphabet, bool padding_required,
                  std::string* out) {
  if (padding_required && text.size() % 4 != 0) {
    return false;
  }
  while (text.ends_with('=') && text.size() % 4 != 1) {
    text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) {
    return false;
  }
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    size_t digit = alphabet.find(c);
    if (digit == std::string_view::npos) {
      return false;
    }
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      *out += static_cast<char>(bits >> count & 0xFF);
    }
  }
  return true;
}

std::string EncodeHex(std::string_view bytes, const char* digits) {
  std::string out;
  for (char c : bytes) {
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  c = static_cast<char>(c | 32);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool DecodeHex(std::string_view text, std::string* out) {
  if (text.size() % 2 != 0) {
    return false;
  }
  for (size_t i = 0; i < text.size(); i += 2) {
    int high = HexDigit(text[i]);
    int low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) {
      return false;
    }
    *out += static_cast<char>(high << 4 | low);
  }
  return true;
}

bool DecodeUuid(std::string_view text, std::string* out) {
  if (text.size() != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' ||
      text[23] != '-') {
    return false;
  }
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i != 8 && i != 13 && i != 18 && i != 23) {
      digits += text[i];
    }
  }
  return DecodeHex(digits, out);
}

std::string EncodeUuid(std::string_view bytes) {
  std::string hex = EncodeHex(bytes, "0123456789abcdef");
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" +
         hex.substr(16, 4) + "-" + hex.substr(20);
}

bool ValidUtf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    auto lead = static_cast<unsigned char>(text[i]);
    size_t size = lead < 0x80                   ? 1
                  : lead >= 0xC2 && lead < 0xE0 ? 2
                  : lead >= 0xE0 && lead < 0xF0 ? 3
                  : lead >= 0xF0 && lead < 0xF5 ? 4
                                                : 0;
    if (size == 0 || i + size > text.size()) {
      return false;
    }
    for (size_t j = 1; j < size; ++j) {
      if (!IsContinuation(text[i + j])) {
        return false;
      }
    }
    auto next = size > 1 ? static_cast<unsigned char>(text[i + 1]) : 0;
    if ((lead == 0xE0 && next < 0xA0) || (lead == 0xED && next > 0x9F) ||
        (lead == 0xF0 && next < 0x90) || (lead == 0xF4 && next > 0x8F)) {
      return false;
    }
    i += size;
  }
  return true;
}

Result<Value> StringToBinary(std::string_view text, const ConvertTarget& target,
                             EvalContext& eval) {
  if (target.format.empty()) {
    return Status(4341115,
                  "Format must be speficied when converting from 'string' to 'binData' in "
                  "$convert");
  }
  bool uuid = target.format == "uuid";
  if (uuid != (target.subtype == kUuidSubtype)) {
    return Failure("Only the UUID format is allowed with the UUID subtype");
  }
  std::string out;
  bool ok = false;
  if (target.format == "base64") {
    ok = DecodeBase64(text, kBase64, true, &out);
  } else if (target.format == "base64url") {
    ok = DecodeBase64(text, kBase64Url, false, &out);
  } else if (target.format == "hex") {
    ok = DecodeHex(text, &out);
  } else if (uuid) {
    ok = DecodeUuid(text, &out);
  } else if (target.format == "utf8") {
    out = text;
    ok = true;
  }
  if (!ok) {
    return Failure("Input string is not valid in format '" + std::string(target.format) + "'");
  }
  return Value::Binary(eval.arena->Adopt(std::move(out)), target.subtype);
}

Result<Value> ConvertedString(std::string text, EvalContext& eval) {
  if (!CheckStringSize(text.size()).ok()) {
    return Failure("the string would be longer than 16 MB");
  }
  return MakeString(eval, std::move(text));
}

Result<Value> BinaryToString(const Value& value, const ConvertTarget& target, EvalContext& eval) {
  std::string_view bytes = value.AsBinary();
  bool is_uuid = value.binary_subtype() == kUuidSubtype;
  std::string_view format = target.format;
  if (format.empty()) {
    return Status(4341115,
                  "Format must be speficied when converting from 'binData' to 'string' in "
                  "$convert");
  }
  if (format == "auto") {
    format = is_uuid && bytes.size() == 16 ? "uuid" : "base64";
  }
  if (format == "base64") {
    return ConvertedString(EncodeBase64(bytes, kBase64, true), eval);
  }
  if (format == "base64url") {
    return ConvertedString(EncodeBase64(bytes, kBase64Url, false), eval);
  }
  if (format == "hex") {
    return ConvertedString(EncodeHex(bytes, "0123456789ABCDEF"), eval);
  }
  if (format == "uuid") {
    if (!is_uuid || bytes.size() != 16) {
      return Failure("Unsupported conversion of binData that is no UUID to a UUID string");
    }
    return MakeString(eval, EncodeUuid(bytes));
  }
  if (!ValidUtf8(bytes)) {
    return Failure("Invalid UTF-8");
  }
  RETURN_IF_ERROR(CheckStringSize(bytes.size()));
  return Value(bytes);
}

Value NumberToBinary(const Value& value, const ConvertTarget& target, EvalContext& eval) {
  std::string bytes;
  value.AppendTo(&bytes);
  if (target.big_endian) {
    bytes = std::string(bytes.rbegin(), bytes.rend());
  }
  return Value::Binary(eval.arena->Adopt(std::move(bytes)), target.subtype);
}

// The bytes as a signed integer of their own width; false for odd widths.
bool ReadInteger(std::string_view bytes, bool big_endian, int64_t* out) {
  if (bytes.size() != 1 && bytes.size() != 2 && bytes.size() != 4 && bytes.size() != 8) {
    return false;
  }
  uint64_t bits = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    size_t at = big_endian ? i : bytes.size() - 1 - i;
    bits = bits << 8 | static_cast<unsigned char>(bytes[at]);
  }
  auto shift = static_cast<unsigned>(64 - 8 * bytes.size());
  *out = static_cast<int64_t>(bits << shift) >> shift;
  return true;
}

Result<Value> BinaryToNumber(const Value& value, const ConvertTarget& target) {
  std::string_view bytes = value.AsBinary();
  int64_t n = 0;
  if (!ReadInteger(bytes, target.big_endian, &n)) {
    return Failure("Unsupported length of binData for a conversion to a number");
  }
  if (target.type == Type::kDouble) {
    if (bytes.size() == 8) {
      return Value(std::bit_cast<double>(n));
    }
    if (bytes.size() == 4) {
      return Value(static_cast<double>(std::bit_cast<float>(static_cast<int32_t>(n))));
    }
    return Failure("Unsupported length of binData for a conversion to double");
  }
  if (target.type == Type::kInt64) {
    return Value(n);
  }
  if (bytes.size() > 4) {
    return Failure("Unsupported length of binData for a conversion to int");
  }
  return Value(static_cast<int32_t>(n));
}

}  // namespace

Result<Value> ConvertBinary(const Value& value, const ConvertTarget& target, EvalContext& eval) {
  if (value.type() == Type::kBinary) {
    switch (target.type) {
      case Type::kBinary:
        if (value.binary_subtype() != target.subtype) {
          return Failure("Conversions between different binData subtypes are not supported");
        }
        return value;
      case Type::kString:
        return BinaryToString(value, target, eval);
      case Type::kInt32:
      case Type::kInt64:
      case Type::kDouble:
        return BinaryToNumber(value, target);
      case Type::kBool:
        return Value(true);
      default:
        return Unsupported(value.type(), target.type);
    }
  }
  switch (value.type()) {
    case Type::kString:
      return StringToBinary(value.AsString(), target, eval);
    case Type::kInt32:
    case Type::kInt64:
    case Type::kDouble:
      return NumberToBinary(value, target, eval);
    default:
      return Unsupported(value.type(), target.type);
  }
}

}  // namespace quire::expr::agg
