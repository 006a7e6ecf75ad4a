// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/page.h"

#include <cstdint>
#include <cstring>
#include <utility>

namespace quire::patterns {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// FNV-1a.
uint32_t Checksum(std::string_view bytes) {
  uint32_t sum = 2166136261u;
  for (char c : bytes) {
    sum = (sum ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  return sum;
}

std::string ToText(std::string_view bytes) {
  std::string text;
  uint32_t bits = 0;
  int held = 0;
  for (char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (held += 8; held >= 6; held -= 6) {
      text += kAlphabet[bits >> (held - 6) & 63];
    }
  }
  if (held > 0) {
    text += kAlphabet[bits << (6 - held) & 63];
  }
  return text;
}

// Text with characters of its own gives bytes that the checksum refuses.
std::string FromText(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int held = 0;
  for (char c : text) {
    size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) {
      return "";
    }
    bits = bits << 6 | static_cast<uint32_t>(value);
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes += static_cast<char>(bits >> held & 255);
    }
  }
  return bytes;
}

}  // namespace

std::string EncodePageEnd(const bson::Document& key) {
  const uint32_t sum = Checksum(key.bytes());
  std::string bytes(reinterpret_cast<const char*>(&sum), sizeof sum);
  return ToText(bytes + key.bytes());
}

Result<bson::Document> DecodePageEnd(std::string_view text,
                                     const std::vector<std::string_view>& names) {
  std::string bytes = FromText(text);
  uint32_t sum = 0;
  if (bytes.size() <= sizeof sum) {
    return MakeError(Error::kBadCursor, text);
  }
  memcpy(&sum, bytes.data(), sizeof sum);
  bytes.erase(0, sizeof sum);
  if (sum != Checksum(bytes)) {
    return MakeError(Error::kBadCursor, text);
  }
  auto key = bson::Document::Parse(std::move(bytes));
  if (!key.ok()) {
    return MakeError(Error::kBadCursor, text);
  }
  size_t next = 0;
  for (const bson::Element& field : key->view()) {
    if (next == names.size() || field.name() != names[next++]) {
      return MakeError(Error::kBadCursor, text);
    }
  }
  return next == names.size() ? std::move(key) : MakeError(Error::kBadCursor, text);
}

Result<bson::Document> DecodeTimedPageEnd(std::string_view text) {
  if (text.empty()) {
    return bson::Document();
  }
  Result<bson::Document> key = DecodePageEnd(text, {"time", "_id"});
  return key.ok() && (*key)["time"].type() != bson::Type::kDate ? MakeError(Error::kBadCursor, text)
                                                                : key;
}

Result<int64_t> PlaceIn(const bson::Document& key, std::string_view name, int64_t first) {
  const bson::Value place = key[name];
  const bool whole = place.type() == bson::Type::kInt32 || place.type() == bson::Type::kInt64;
  return whole && place.AsInt64() >= first && place.AsInt64() <= INT32_MAX
             ? Result<int64_t>(place.AsInt64())
             : MakeError(Error::kBadCursor, name);
}

}  // namespace quire::patterns
