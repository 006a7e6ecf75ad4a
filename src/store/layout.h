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
//   <0> 'a' <name>                            marks of a member of a replica set (log/set_marks.h)
//   <0> 'f'                                   whether all documents were brought into groups
//   <0> 'r'                                   empty: the log may refer to groups (log/references.h)
//   <0> 'e' <epoch>                           time of the epoch's last slot, unless it is the last
//   <0> 'y' <time> <record>                   what undoes the slot of that time (log/undo_buffer.h)
//   <0> 'z' <time> <index>                    group of the change log (change_buffer.h)
//   <table> 'G' <group number>                documents of 64 record ids (records/group.h)
//   <table> 'R' <group number>                the log's group that refers to it: <time> <index>
//   <table> <record id>                       document; empty: that of the group is deleted
//   <table> <index key> <record id>           type bits               (plain index)
//   <table> <index key>                       record id, type bits    (unique index)
//
// In four sections, each in files of its own: the log, the undo, what comes before them, the
// tables.
//
// A table id is 4 bytes and a record id 8 bytes, both big-endian; a record id has its sign bit
// flipped so that negative ones sort first. A group's number is its record ids divided by 64, 8
// bytes, big-endian.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kv/kv.h"

namespace quire::store {

using RecordId = int64_t;
using TableId = uint32_t;

constexpr TableId kMetaTable = 0;
constexpr char kEpochKind = 'e';
constexpr char kFormatKind = 'f';
constexpr char kReferredKind = 'r';
constexpr char kUndoKind = 'y';
constexpr char kLogKind = 'z';           // the last of the meta table
constexpr char kArrayPathMark = '\xff';  // before a path among the marks of kind 'M'

template <typename Unsigned>
void AppendBigEndian(Unsigned number, std::string* out) {
  char bytes[sizeof number];
  for (size_t i = 0; i < sizeof number; ++i) {
    bytes[i] = static_cast<char>(number >> (8 * (sizeof number - 1 - i)));
  }
  out->append(bytes, sizeof number);
}

inline void AppendTableId(TableId id, std::string* out) { AppendBigEndian(id, out); }

inline void AppendRecordId(RecordId id, std::string* out) {
  AppendBigEndian(static_cast<uint64_t>(id) ^ (uint64_t{1} << 63), out);
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

inline std::vector<kv::Section> KeySections() {
  using Use = kv::Section::Use;
  return {{.name = "meta", .begin = "", .use = Use::kSmall},
          {.name = "undo", .begin = MetaKey(kUndoKind, ""), .use = Use::kAppended},
          {.name = "log", .begin = MetaKey(kLogKind, ""), .use = Use::kAppended},
          {.name = "tables", .begin = TablePrefix(kMetaTable + 1), .use = Use::kAny}};
}

inline kv::Range TableRange(TableId table) {
  std::string prefix = TablePrefix(table);
  std::string end = kv::PrefixEnd(prefix);
  return {std::move(prefix), std::move(end)};
}

}  // namespace quire::store
