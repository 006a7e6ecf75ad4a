// SPDX-License-Identifier: Apache-2.0
#include "engine/stream/resume_token.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/ordered.h"

namespace quire::engine {

namespace {

// DO NOT CHANGE: tokens live as long as their users keep them.
constexpr uint8_t kTimestampByte = 0x82;
constexpr uint8_t kZeroByte = 0x29;
constexpr uint8_t kOneByteInteger = 0x2B;  // 0x2B + n: an integer of n + 1 bytes, doubled
constexpr uint8_t kMaxIntegerByte = 0x32;
constexpr uint8_t kFalseByte = 0x6E;
constexpr uint8_t kTrueByte = 0x6F;
constexpr uint8_t kBinaryByte = 0x5A;
constexpr uint8_t kUuidSubtype = 0x04;
constexpr uint8_t kUuidSize = 16;
constexpr uint8_t kEndByte = 0x04;
constexpr uint32_t kVersion = 1;
constexpr uint32_t kEventKind = 128;

constexpr int kUnknownType = 50811;

void AppendByte(uint8_t byte, std::string* out) { out->push_back(static_cast<char>(byte)); }

void AppendFixed(uint32_t value, std::string* out) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(value >> shift));
  }
}

void AppendInteger(uint32_t value, std::string* out) {
  if (value == 0) {
    return AppendByte(kZeroByte, out);
  }
  uint64_t doubled = uint64_t{value} << 1;
  int bytes = 1;
  while ((doubled >> (8 * bytes)) != 0) {
    ++bytes;
  }
  AppendByte(static_cast<uint8_t>(kOneByteInteger + bytes - 1), out);
  for (int i = bytes - 1; i >= 0; --i) {
    AppendByte(static_cast<uint8_t>(doubled >> (8 * i)), out);
  }
}

std::string ToHex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (char c : bytes) {
    auto byte = static_cast<uint8_t>(c);
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

int DigitOf(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

Result<std::string> FromHex(std::string_view hex) {
  Status bad(kFailedToParse, "resume token string was not a valid hex string");
  if (hex.size() % 2 != 0) {
    return bad;
  }
  std::string bytes;
  bytes.reserve(hex.size() / 2);
  for (size_t i = 0; i < hex.size(); i += 2) {
    int high = DigitOf(hex[i]);
    int low = DigitOf(hex[i + 1]);
    if (high < 0 || low < 0) {
      return bad;
    }
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  return bytes;
}

class TokenReader {
 public:
  explicit TokenReader(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  uint8_t peek() const { return static_cast<uint8_t>(rest_[0]); }
  std::string_view rest() const { return rest_; }

  Result<uint8_t> Byte() {
    if (rest_.empty()) {
      return TooShort();
    }
    uint8_t byte = peek();
    rest_.remove_prefix(1);
    return byte;
  }
  Result<uint32_t> Fixed() {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
      ASSIGN_OR_RETURN(uint8_t byte, Byte());
      value = value << 8 | byte;
    }
    return value;
  }
  Result<uint32_t> Integer() {
    ASSIGN_OR_RETURN(uint8_t type, Byte());
    if (type == kZeroByte) {
      return 0U;
    }
    if (type < kOneByteInteger || type > kMaxIntegerByte) {
      return Unknown(type);
    }
    uint64_t doubled = 0;
    for (int i = kOneByteInteger; i <= type; ++i) {
      ASSIGN_OR_RETURN(uint8_t byte, Byte());
      doubled = doubled << 8 | byte;
    }
    return static_cast<uint32_t>(doubled >> 1);
  }
  Result<bool> Bool() {
    ASSIGN_OR_RETURN(uint8_t type, Byte());
    if (type != kFalseByte && type != kTrueByte) {
      return Unknown(type);
    }
    return type == kTrueByte;
  }
  Status Uuid() {
    ASSIGN_OR_RETURN(uint8_t type, Byte());
    if (type != kBinaryByte) {
      return Unknown(type);
    }
    if (rest_.size() < 2 + kUuidSize) {
      return TooShort();
    }
    rest_.remove_prefix(2 + kUuidSize);
    return Status::Ok();
  }
  Status Identifier() {
    bson::OrderedReader reader(rest_, {});
    if (!reader.Skip(bson::Direction::kAscending)) {
      return TooShort();
    }
    rest_ = reader.rest();
    return Status::Ok();
  }

  static Status TooShort() { return {kOverflow, "resume token is incomplete: buffer overflow"}; }
  static Status Unknown(uint8_t type) {
    return {kUnknownType, "Unknown type in a resume token: " + std::to_string(type)};
  }

 private:
  std::string_view rest_;
};

Result<ResumePoint> Decode(std::string_view bytes) {
  TokenReader in(bytes);
  ResumePoint point;
  ASSIGN_OR_RETURN(uint8_t first, in.Byte());
  if (first != kTimestampByte) {
    return TokenReader::Unknown(first);
  }
  ASSIGN_OR_RETURN(point.time.seconds, in.Fixed());
  ASSIGN_OR_RETURN(point.time.increment, in.Fixed());
  ASSIGN_OR_RETURN(uint32_t version, in.Integer());
  if (version != kVersion) {
    return Status(kFailedToParse, "Invalid version of resume token: " + std::to_string(version));
  }
  ASSIGN_OR_RETURN(uint32_t kind, in.Integer());
  point.event = kind == kEventKind;
  ASSIGN_OR_RETURN(point.index, in.Integer());
  ASSIGN_OR_RETURN(point.invalidate, in.Bool());
  if (!point.event) {
    return point;
  }
  const std::string_view from_uuid = in.rest();
  RETURN_IF_ERROR(in.Uuid());
  RETURN_IF_ERROR(in.Identifier());
  point.identity = from_uuid.substr(0, from_uuid.size() - in.rest().size());
  if (!in.empty() && (in.peek() == kZeroByte || in.peek() == kOneByteInteger)) {
    point.split = true;
    ASSIGN_OR_RETURN(point.fragment, in.Integer());
  }
  return point;
}

}  // namespace

bson::Document MakeResumeToken(const ResumePoint& point, std::string_view uuid,
                               bson::View identifier) {
  std::string bytes;
  AppendByte(kTimestampByte, &bytes);
  AppendFixed(point.time.seconds, &bytes);
  AppendFixed(point.time.increment, &bytes);
  AppendInteger(kVersion, &bytes);
  AppendInteger(point.event ? kEventKind : 0, &bytes);
  AppendInteger(point.index, &bytes);
  AppendByte(point.invalidate ? kTrueByte : kFalseByte, &bytes);
  if (point.event) {
    AppendByte(kBinaryByte, &bytes);
    AppendByte(kUuidSize, &bytes);
    AppendByte(kUuidSubtype, &bytes);
    bytes.append(uuid);
    bytes.resize(bytes.size() + kUuidSize - uuid.size());
    bson::AppendOrdered(bson::Value(identifier), bson::Direction::kAscending, nullptr, &bytes,
                        nullptr);
    if (point.split) {
      AppendInteger(point.fragment, &bytes);
    }
  }
  AppendByte(kEndByte, &bytes);
  bson::Builder token;
  token.Append("_data", ToHex(bytes));
  return token.Finish();
}

bson::Document FragmentToken(bson::View token, uint32_t fragment) {
  std::string tail;
  AppendInteger(fragment, &tail);
  AppendByte(kEndByte, &tail);
  std::string data(token["_data"].AsString());
  data.resize(data.size() - 2);  // the end
  bson::Builder out;
  out.Append("_data", data + ToHex(tail));
  return out.Finish();
}

Result<ResumePoint> ReadResumeToken(bson::View token) {
  bson::Value data = token["_data"];
  if (!data.is_string()) {
    return Status(40647, "Bad resume token: _data of missing or of wrong type");
  }
  bson::Value type_bits = token["_typeBits"];
  if (!type_bits.missing() && type_bits.type() != bson::Type::kBinary) {
    return Status(40648, "Bad resume token: _typeBits of wrong type");
  }
  if (data.AsString().empty()) {
    return Status(40649, "Resume token string cannot be empty");
  }
  ASSIGN_OR_RETURN(std::string bytes, FromHex(data.AsString()));
  return Decode(bytes);
}

}  // namespace quire::engine
