// SPDX-License-Identifier: Apache-2.0
//
// Shard keys: the pattern of a collection ({a: 1, h: "hashed"}), the key of a document, and ranges
// of keys.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bson/path.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::placement {

// A point of a collection's key space: one value per field of the pattern, a hash where the pattern
// says so. Ordered as MongoDB orders keys.
struct ShardKey {
  bson::Document values;  // {field: value...} with the pattern's names
  std::string order;      // the values as bytes that compare as they do (bson/ordered.h)

  // Of values that are keys already (hashes are numbers, not what was hashed).
  static ShardKey Of(bson::View values);

  friend bool operator==(const ShardKey& a, const ShardKey& b) { return a.order == b.order; }
  friend auto operator<=>(const ShardKey& a, const ShardKey& b) { return a.order <=> b.order; }
  // "{ x: 1 }", as messages show it.
  std::string ToString() const;
};

// Keys from `min` up to, but without, `max`.
struct KeyRange {
  ShardKey min;
  ShardKey max;

  friend bool operator==(const KeyRange&, const KeyRange&) = default;
  bool Contains(const KeyRange& other) const { return min <= other.min && other.max <= max; }
  bool Overlaps(const KeyRange& other) const { return min < other.max && other.min < max; }
  // "[{ x: 0 }, { x: MaxKey })"
  std::string ToString() const;
};

// The pattern of a shard key. Immutable, copyable.
class ShardKeyPattern {
 public:
  struct Part {
    bson::FieldPath path;
    bool hashed = false;

    const std::string& name() const { return path.text(); }
  };

  // Errors: BadValue for an empty pattern, for values other than 1 and at most one "hashed", for
  // names with empty parts or parts that start with '$'.
  static Result<ShardKeyPattern> Parse(bson::View pattern);

  const bson::Document& document() const { return document_; }
  const std::vector<Part>& parts() const { return parts_; }
  // The place of the hashed field; nothing when there is none.
  std::optional<size_t> hashed_part() const { return hashed_part_; }
  bool is_hashed() const { return hashed_part_.has_value(); }
  bool starts_hashed() const { return hashed_part_ == 0; }
  // "{ x: 1 }", as messages show it.
  std::string ToString() const;

  // Below and above every key.
  ShardKey Lowest() const;
  ShardKey Highest() const;
  KeyRange Everything() const { return {Lowest(), Highest()}; }

  // The key of a document; a field that is not there counts as null. Error: ShardKeyNotFound when a
  // field is an array or lies in one.
  Result<ShardKey> KeyOf(bson::View document) const;
  // The key of given values, one per part, hashed here where the pattern says so.
  ShardKey KeyOfValues(const std::vector<bson::Value>& values) const;

  // A border as a user writes it: all fields of the pattern and no others, hashes as numbers.
  // Nothing when it is not that.
  std::optional<ShardKey> BorderOf(bson::View border) const;
  // A border that names only the first fields, with MinKey for the others; what has MaxKey in all
  // its fields gets MaxKey. Nothing when its names are no prefix of the pattern's.
  std::optional<ShardKey> ExtendBorder(bson::View prefix) const;

  // Whether an index with this key pattern may be unique in a collection sharded so.
  bool AllowsUnique(bson::View index_key) const;

 private:
  bson::Document document_;
  std::vector<Part> parts_;
  std::optional<size_t> hashed_part_;
};

// The size a border may have, and that it survives being stored as extended JSON. Error: BadValue.
Status CheckStorable(const ShardKey& border);

}  // namespace quire::placement
