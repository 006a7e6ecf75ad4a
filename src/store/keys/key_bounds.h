// SPDX-License-Identifier: Apache-2.0
//
// Which keys of an index a scan wants, as bytes: for each part of the key a list of intervals.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"
#include "store/keys/index_key.h"

namespace quire::store {

// Encoded values of one part of a key, low <= high in byte order.
struct KeyInterval {
  std::string low;
  std::string high;
  bool low_inclusive = true;
  bool high_inclusive = true;
};

struct KeyBounds {
  // One ascending list per part of the index.
  std::vector<std::vector<KeyInterval>> parts;

  // When all wanted keys, and no others, lie between two keys: true, and *begin and *end are the
  // bytes (without the table's prefix) of begin <= key < end; an empty *end means no upper end.
  bool IsRange(std::string* begin, std::string* end) const;
};

// Where a key stands to the bounds.
enum class KeyPlace { kInside, kSkip, kPast };

// Tells for keys in scan order whether they are wanted, and where to go on when not.
class BoundsChecker {
 public:
  // `spec` and `bounds` outlive it. The lists of `bounds` are not empty.
  BoundsChecker(const IndexKeySpec* spec, const KeyBounds* bounds, bool backward)
      : spec_(spec), bounds_(bounds), backward_(backward) {}

  // Where the scan begins: as Check's *target.
  std::string Start() const;
  // `key` may have more bytes after its parts. kSkip: *target receives the bytes to seek; forward
  // the first key not below it is next, backward the last key below it.
  KeyPlace Check(std::string_view key, std::string* target);

 private:
  // Appends the first wanted values of the parts from `part` on to *target, and makes it a place
  // to seek.
  void AppendStarts(size_t part, std::string* target) const;
  void AppendStart(const KeyInterval& interval, size_t part, std::string* target) const;

  const IndexKeySpec* spec_;
  const KeyBounds* bounds_;
  bool backward_;
};

}  // namespace quire::store
