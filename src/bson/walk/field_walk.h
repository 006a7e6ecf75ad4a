// SPDX-License-Identifier: Apache-2.0
//
// Looking for fields by name, the inner loop of filters, projections and index keys. A field's name
// is taken in as sixteen bytes at once: where it ends and whether it is one of those looked for are
// then a few instructions each, where strlen and memcmp are two calls a field.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "quire/bson.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace quire::bson {

// A name to look for. REQUIRES: the bytes it was made of outlive it.
class FieldName {
 public:
  explicit FieldName(std::string_view name) : name_(name), is_long_(name.size() >= kStart) {
    std::copy_n(name.data(), std::min(name.size(), kStart), start_);  // no name: no bytes either
    // The terminator belongs to it: "ab" is not the start of "abc".
    wanted_ = is_long_ ? (1U << kStart) - 1 : (2U << name.size()) - 1;
  }

  std::string_view name() const { return name_; }
  // One of 64 bits, by the name's first byte and length: a field that has not the bit of any name
  // looked for is none of them (FieldWalk::bit).
  uint64_t bit() const { return Bit(start_[0], name_.size()); }

 private:
  friend class FieldWalk;
  static constexpr size_t kStart = 16;

  static uint64_t Bit(char first, size_t size) {
    return uint64_t{1} << ((static_cast<uint8_t>(first) + 8 * size) % 64);
  }

  alignas(kStart) char start_[kStart] = {};
  std::string_view name_;
  uint32_t wanted_;  // a bit for each byte of start_ that counts
  bool is_long_;     // start_ is not all of it
};

// The fields of a document from the first to the last. Not safe for concurrent use; the document
// outlives it unchanged.
class FieldWalk {
 public:
  explicit FieldWalk(View document)
      : at_(document.data() + sizeof(int32_t)), end_(document.data() + document.size() - 1) {}

  // Whether it is at a field; all below REQUIRE that.
  bool valid() const { return at_ != end_; }
  void Next() {
    const char* data = at_ + 2 + NameSize();
    at_ = data + SizeOf(static_cast<uint8_t>(*at_), data);
  }

  bool Is(const FieldName& name) const {
#if defined(__SSE2__)
    if (HasStart()) [[likely]] {
      const __m128i wanted = _mm_load_si128(reinterpret_cast<const __m128i*>(name.start_));
      const auto same = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(Start(), wanted)));
      return (same & name.wanted_) == name.wanted_ && (!name.is_long_ || IsSlowly(name));
    }
#endif
    return IsSlowly(name);
  }
  uint64_t bit() const { return FieldName::Bit(at_[1], NameSize()); }
  Type type() const { return static_cast<Type>(static_cast<uint8_t>(*at_)); }
  std::string_view name() const { return {at_ + 1, NameSize()}; }
  Value value() const { return Value::FromBytes(type(), at_ + 2 + NameSize()); }
  Element element() const { return Element(at_); }

 private:
  // What a type's value takes: so many bytes (the low bits), and as many more as the number says
  // that it begins with.
  static constexpr uint8_t kFixed = 0x1F;
  static constexpr uint8_t kHasSize = 0x20;
  static constexpr uint8_t kIsRegex = 0x40;
  static constexpr std::array<uint8_t, 256> MakeShapes() {
    struct Row {
      Type type;
      uint8_t shape;
    };
    constexpr Row kRows[] = {
        {Type::kDouble, 8},
        {Type::kDate, 8},
        {Type::kTimestamp, 8},
        {Type::kInt64, 8},
        {Type::kInt32, 4},
        {Type::kBool, 1},
        {Type::kObjectId, 12},
        {Type::kDecimal128, 16},
        {Type::kString, 4 | kHasSize},
        {Type::kCode, 4 | kHasSize},
        {Type::kSymbol, 4 | kHasSize},
        {Type::kDocument, 0 | kHasSize},
        {Type::kArray, 0 | kHasSize},
        {Type::kCodeWithScope, 0 | kHasSize},
        {Type::kBinary, 5 | kHasSize},
        {Type::kDbPointer, 16 | kHasSize},
        {Type::kRegex, kHasSize | kIsRegex},
    };
    std::array<uint8_t, 256> shapes{};
    for (const Row& row : kRows) {
      shapes[static_cast<uint8_t>(row.type)] = row.shape;
    }
    return shapes;
  }
  static const std::array<uint8_t, 256> kShapes;

  static size_t SizeOf(uint8_t type, const char* data) {
    const uint8_t shape = kShapes[type];
    if ((shape & kHasSize) == 0) {
      return shape;
    }
    if ((shape & kIsRegex) != 0) [[unlikely]] {
      const size_t pattern = strlen(data) + 1;
      return pattern + strlen(data + pattern) + 1;
    }
    uint32_t size;
    memcpy(&size, data, sizeof size);
    return size_t{size} + (shape & kFixed);
  }

#if defined(__SSE2__)
  // Whether as many bytes as a name's start has follow in the document: no byte past it is read.
  bool HasStart() const { return end_ - at_ > static_cast<std::ptrdiff_t>(FieldName::kStart); }
  __m128i Start() const { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at_ + 1)); }
#endif
  size_t NameSize() const {
#if defined(__SSE2__)
    if (HasStart()) [[likely]] {
      const __m128i is_end = _mm_cmpeq_epi8(Start(), _mm_setzero_si128());
      if (const int ends = _mm_movemask_epi8(is_end); ends != 0) [[likely]] {
        return static_cast<size_t>(__builtin_ctz(static_cast<unsigned>(ends)));
      }
    }
#endif
    return strlen(at_ + 1);
  }
  bool IsSlowly(const FieldName& name) const {
    return std::string_view(at_ + 1, strlen(at_ + 1)) == name.name_;
  }

  const char* at_;
  const char* const end_;
};
inline constexpr std::array<uint8_t, 256> FieldWalk::kShapes = FieldWalk::MakeShapes();

// The value of the first field of that name; missing when there is none.
inline Value FindValue(View document, const FieldName& name) {
  for (FieldWalk field(document); field.valid(); field.Next()) {
    if (field.Is(name)) {
      return field.value();
    }
  }
  return {};
}

}  // namespace quire::bson
