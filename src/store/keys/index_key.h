// SPDX-License-Identifier: Apache-2.0
//
// How an index makes keys of values, and what a key is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bson/path.h"
#include "expr/collation/collator.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::store {

struct IndexKindRow;
struct SpecialSpec;
class WildcardPaths;

// Kinds of parts (index_kind.h): 1 and -1, and "hashed".
extern const IndexKindRow kOrderedKind;
extern const IndexKindRow kHashedKind;

// How an index makes keys. Immutable once filled in.
struct IndexKeySpec {
  struct Part {
    std::string path;
    bool descending = false;
    // A part of text is followed by an ordered one for the score.
    const IndexKindRow* kind = &kOrderedKind;
  };
  std::vector<Part> parts;
  std::vector<bson::FieldPath> paths;  // of the parts, split
  bool sparse = false;
  const expr::Collator* collator = nullptr;    // applied to strings, nested ones too
  std::shared_ptr<const SpecialSpec> special;  // of text, 2dsphere and 2d indexes; else null
  // Of a wildcard index the paths it holds, else null. It has two parts in place of "$**":
  // "$_path", the path of a value, and after it the value.
  std::shared_ptr<const WildcardPaths> wildcard;
  size_t path_part = 0;  // where "$_path" stands

  // From {a: 1, "b.c": -1, d: "hashed"} and, for {"$**": 1}, its wildcardProjection.
  // REQUIRES: a pattern that createIndexes accepted.
  static IndexKeySpec FromPattern(bson::View key_pattern, bson::View projection = {});

  bool IsPath(size_t part) const { return wildcard != nullptr && part == path_part; }
  bool IsWildcard(size_t part) const { return wildcard != nullptr && part == path_part + 1; }
};

struct IndexKey {
  std::string bytes;      // order-preserving, self-delimiting: prefix-free among keys of an index
  std::string type_bits;  // what `bytes` leaves out of the values' exact types; often empty
  friend auto operator<=>(const IndexKey&, const IndexKey&) = default;
};

struct IndexKeySet {
  std::vector<IndexKey> keys;            // sorted by bytes, each once
  uint64_t multikey_steps = 0;           // where arrays were met (see multikey.h)
  std::vector<std::string> array_paths;  // the same for a wildcard index: paths, each once
  void Clear() {
    keys.clear();
    multikey_steps = 0;
    array_paths.clear();
  }
};

// Appends what a key holds for `value` at a part: hashed or collated as the index says, inverted
// when descending. The bytes of consecutive parts make a key.
void AppendKeyPart(const IndexKeySpec& spec, size_t part, const bson::Value& value,
                   std::string* out);

// The key of an entry: one value per part, turned into what the index holds as AppendKeyPart does.
IndexKey MakeKey(const IndexKeySpec& spec, std::span<const bson::Value> values);
// Sorts the keys and leaves each once.
void SortKeys(std::vector<IndexKey>* keys);

// The key for given values, one per part (or fewer: a prefix), strings already as stored.
// `values` are the field values of a document such as {"": 1, "": "x"}.
IndexKey EncodeKey(const IndexKeySpec& spec, bson::View values);

// The values of a key back as {path: value...} with the pattern's names. With a collator the
// strings come back as their sort keys. Empty when the bytes are no key of the index.
bson::Document DecodeKey(const IndexKeySpec& spec, std::string_view bytes,
                         std::string_view type_bits);

}  // namespace quire::store
