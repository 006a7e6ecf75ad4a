// SPDX-License-Identifier: Apache-2.0
//
// Where the documents of a collection lie in its table: groups first, then those with a key of
// their own. A record id divided by 64 is the number of its group.
#pragma once

#include <cstdint>
#include <string>

#include "store/layout.h"
#include "store/records/group.h"

namespace quire::store {

inline int64_t GroupOf(RecordId id) { return id >> 6; }
inline int SlotOf(RecordId id) { return static_cast<int>(id & (kGroupSlots - 1)); }
inline uint64_t SlotBit(RecordId id) { return uint64_t{1} << SlotOf(id); }
inline RecordId FirstIdOf(int64_t number) { return number * kGroupSlots; }
// The first number all of whose ids are `id` or later ones.
inline int64_t FirstGroupFrom(RecordId id) { return (id + kGroupSlots - 1) >> 6; }

constexpr char kGroupMark = 'G';  // before it no record id has a key, as none is negative
constexpr size_t kGroupKeySize = 13;

inline void AppendGroupKey(TableId table, int64_t number, std::string* out) {
  AppendTableId(table, out);
  out->push_back(kGroupMark);
  AppendBigEndian(static_cast<uint64_t>(number), out);
}

inline std::string GroupKey(TableId table, int64_t number) {
  std::string key;
  key.reserve(kGroupKeySize);
  AppendGroupKey(table, number, &key);
  return key;
}

// REQUIRES: it is the key of a group.
inline int64_t ReadGroupNumber(std::string_view key) {
  uint64_t number = 0;
  for (char byte : key.substr(kGroupKeySize - 8, 8)) {
    number = (number << 8) | static_cast<unsigned char>(byte);
  }
  return static_cast<int64_t>(number);
}

// The groups from that number on.
inline kv::Range GroupRange(TableId table, int64_t from = 0) {
  return {GroupKey(table, from), TablePrefix(table) + static_cast<char>(kGroupMark + 1)};
}

// Documents with keys of their own, from that record id on.
inline kv::Range RecordRange(TableId table, RecordId from = 0) {
  return {RecordKey(table, from), kv::PrefixEnd(TablePrefix(table))};
}

}  // namespace quire::store
