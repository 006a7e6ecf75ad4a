// SPDX-License-Identifier: Apache-2.0
//
// Where things lie in the key-value store. PERSISTED: do not change without a new format version.
//
//   key                                       value
//   <0> 'C' <database>.<collection>           catalog entry (BSON, see catalog.h)
//   <0> 'D' <table>                           empty: the table is garbage, to be reclaimed at start
//   <0> 'M' <table> <step>                    empty: the index met arrays there (multikey.h)
//   <0> 'M' <table> <255> <path>              empty: the wildcard index met arrays there
//   <0> 'n' <table> / <0> 'b' <table>         counters (kv.h): documents and bytes of a collection
//   <0> 'S' <session id> <statement>          answer of a retryable write; statement -1: a commit
//   <0> 'L' <time> <index>                    group of the change log (change_buffer.h)
//   <table> <record id>                       document
//   <table> <index key> <record id>           type bits               (plain index)
//   <table> <index key>                       record id, type bits    (unique index)
//
// A table id is 4 bytes and a record id 8 bytes, both big-endian; a record id has its sign bit
// flipped so that negative ones sort first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kv/kv.h"

namespace quire::store {

using RecordId = int64_t;
using TableId = uint32_t;

constexpr TableId kMetaTable = 0;
constexpr char kArrayPathMark = '\xff';  // before a path among the marks of kind 'M'

inline void AppendTableId(TableId id, std::string* out) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(id >> shift));
  }
}

inline void AppendRecordId(RecordId id, std::string* out) {
  uint64_t bits = static_cast<uint64_t>(id) ^ (uint64_t{1} << 63);
  for (int shift = 56; shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(bits >> shift));
  }
}

// REQUIRES: bytes holds at least 8 bytes.
inline RecordId ReadRecordId(std::string_view bytes) {
  uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) {
    bits = (bits << 8) | static_cast<unsigned char>(bytes[static_cast<size_t>(i)]);
  }
  return static_cast<RecordId>(bits ^ (uint64_t{1} << 63));
}

inline TableId ReadTableId(std::string_view bytes) {
  TableId id = 0;
  for (int i = 0; i < 4; ++i) {
    id = (id << 8) | static_cast<unsigned char>(bytes[static_cast<size_t>(i)]);
  }
  return id;
}

inline std::string TablePrefix(TableId id) {
  std::string key;
  AppendTableId(id, &key);
  return key;
}

constexpr size_t kRecordKeySize = 12;

inline std::string RecordKey(TableId table, RecordId id) {
  std::string key;
  key.reserve(kRecordKeySize);
  AppendTableId(table, &key);
  AppendRecordId(id, &key);
  return key;
}

inline std::string MetaKey(char kind, std::string_view rest) {
  std::string key = TablePrefix(kMetaTable);
  key.push_back(kind);
  key.append(rest);
  return key;
}

inline std::string MetaKey(char kind, TableId table) { return MetaKey(kind, TablePrefix(table)); }

inline kv::Range TableRange(TableId table) {
  std::string prefix = TablePrefix(table);
  std::string end = kv::PrefixEnd(prefix);
  return {std::move(prefix), std::move(end)};
}

}  // namespace quire::store
