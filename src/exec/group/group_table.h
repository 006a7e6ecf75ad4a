// SPDX-License-Identifier: Apache-2.0
//
// Numbers of groups by their key. Keys of equal bytes are found by one hash of these bytes; only
// keys whose equality takes more (1 and 1.0 inside documents, strings under a collation) are
// compared as values.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "bson/compare.h"
#include "quire/bson.h"

namespace quire::exec {

class GroupTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit GroupTable(const bson::StringCompare* strings);

  // The group of a key equal to `id`, or kNone.
  uint32_t Find(const bson::Value& id);
  // REQUIRES: Find(id) gave kNone just before. The bytes of `id` outlive the table.
  void Insert(const bson::Value& id, uint32_t group);
  void Clear();
  // Bytes held, the keys' own left out.
  size_t memory() const;

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t group = kNone;
    bson::Value key;
  };
  // What stands for all keys equal to `id`, when its bytes decide; else *exact is false.
  bson::Value Canonical(const bson::Value& id, bool* exact) const;
  uint32_t FindBytes(const bson::Value& key, uint64_t hash) const;
  void InsertBytes(const bson::Value& key, uint64_t hash, uint32_t group);
  void Grow();

  const bson::StringCompare* strings_;
  std::vector<Slot> slots_;  // a power of two of them, at most half in use
  size_t used_ = 0;
  std::unordered_map<bson::Value, uint32_t, bson::ValueHash, bson::ValueEqual> by_value_;
  std::deque<bson::OwnedValue> spellings_;  // other bytes of keys that are there
};

}  // namespace quire::exec
