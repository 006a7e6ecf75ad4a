// SPDX-License-Identifier: Apache-2.0
//
// Values as bytes whose unsigned order is bson::Compare's. Index keys and sort keys are made of
// these; they are stored, so the format never changes (docs say: DO NOT CHANGE the type bytes).
//
// An encoding is self-delimiting: none is a prefix of another, so encodings can be laid end to end
// and compare as tuples. Its first byte is within [0x02, 0xfd], ascending or descending: a prefix
// followed by 0xff is above, and one followed by nothing below, everything that starts with it.
//
//   type byte, then:
//   numbers    the type byte tells sign and size; integers below 2^63 take the bytes they need
//              (magnitude * 2, the low bit set when a fraction follows), and what is no such
//              integer ends in: the double at or below in magnitude, 0, or when that is not exact 1
//              and the decimal. Negative numbers have all of this inverted.
//   strings    the bytes, 0x00 as 0x01 0x01 and 0x01 as 0x01 0x02, then 0x00
//   documents  per field: the bracket's type byte, name, 0x00, value; then 0x00
//   arrays     the values; then 0x00
//   others     fixed size, or length first where MongoDB orders by length
//   descending: every byte inverted
//
// Equal values have equal bytes, so 1, 1.0 and NumberLong(1) share theirs; what tells them apart
// goes into separate type bits: one tag per number and string, in the order of encoding, trailing
// zero tags left off (32-bit integers and strings have tag zero, so theirs are mostly empty).
#pragma once

#include <string>
#include <string_view>

#include "bson/compare.h"
#include "quire/bson.h"

namespace quire::bson {

enum class Direction : bool { kAscending, kDescending };

// Appends the encoding of `value` to *out and its tags to *type_bits when that is not null.
// Missing encodes as undefined. `strings`, when not null, puts the sort keys of strings in their
// place, at any depth.
void AppendOrdered(const Value& value, Direction direction, const StringCompare* strings,
                   std::string* out, std::string* type_bits);

// To be called once after the last AppendOrdered that shares `type_bits`.
void TrimTypeBits(std::string* type_bits);

// Appends what the encoding alone says of the value: numbers and strings without their exact types.
void AppendAsOrdered(std::string_view name, const Value& value, const StringCompare* strings,
                     Builder* out);

// Reads encodings back. The bytes outlive it.
class OrderedReader {
 public:
  // `type_bits` may be trimmed, or empty when only the order of values matters.
  OrderedReader(std::string_view bytes, std::string_view type_bits)
      : bytes_(bytes), type_bits_(type_bits) {}

  // Appends the next value to `out` as `name`. False when the bytes are no encoding; then nothing
  // more can be read and `out` is to be thrown away.
  bool Read(Direction direction, std::string_view name, Builder* out);
  // Moves past the next value.
  bool Skip(Direction direction);

  // What has not been read.
  std::string_view rest() const { return bytes_; }

 private:
  std::string_view bytes_;
  std::string_view type_bits_;
};

}  // namespace quire::bson
