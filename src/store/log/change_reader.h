// SPDX-License-Identifier: Apache-2.0
//
// Reading the change log.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kv/kv.h"
#include "quire/bson.h"
#include "store/log/change_buffer.h"
#include "store/log/logical_clock.h"
#include "store/records/group.h"

namespace quire::store {

class ChangeLog;

// One change as read from the log.
struct Change {
  bson::Timestamp time;
  uint32_t index = 0;  // within its multi-document transaction
  uint32_t later = 0;  // operations of the group after this one
  char kind = 'n';     // see change_buffer.h
  int64_t wall_millis = 0;
  uint64_t epoch = 0;     // of the leader that made it
  uint64_t previous = 0;  // with an epoch: time of the slot before its own
  bool in_transaction = false;
  std::string_view lsid;
  int64_t txn_number = 0;
  std::string_view ns;
  std::string_view uuid;
  bool no_event = false;         // change streams do not show it
  bson::View key_fields;         // of the shard key; empty: the collection is not sharded
  bson::View key;                // u, d: what names the document
  bson::View document;           // i, r: the document; u: the diff; c, n: {o, o2}
  std::string_view session_key;  // S: of the meta table; with its value, "" when it goes
  std::string_view session_value;
  std::optional<bson::View> before;
  std::optional<bson::View> after;
};

// What names the document that was changed (i, u, r, d).
bson::Document KeyOf(const Change& change);

// What a group says of itself.
struct GroupHeader {
  uint64_t first = 0;  // time of its first operation
  uint64_t last = 0;
  uint32_t index = 0;  // of its first operation within its multi-document transaction
  uint32_t count = 0;  // of operations
  int64_t wall_millis = 0;
  bool in_transaction = false;
  SlotLink link;
};
// `key` with the log's prefix. Error: DataCorruptionDetected.
Result<GroupHeader> ReadGroupHeader(std::string_view key, std::string_view value);

// Reads the changes of one group, whose bytes outlive the reading.
class GroupReader {
 public:
  // `txn`, which outlives the reading, has the documents that the group refers to, as it has the
  // group. Without it there must be none, as in the log of a replica set's member.
  Status Open(std::string_view key, std::string_view value, kv::Txn* txn = nullptr);
  bool done() const { return group_.later == 0; }
  const GroupHeader& header() const { return header_; }
  // Of the next change.
  uint64_t time() const { return time_; }
  // REQUIRES: not done.
  Status Next(Change* change);

  // What the operation refers to that was read last.
  struct Reference {
    TableId table;
    int64_t group;
  };
  const std::optional<Reference>& reference() const { return reference_; }
  // What is not read yet.
  std::string_view rest() const { return rest_; }

 private:
  Status ReadOperation(Change* change);
  // Takes up the documents that an operation refers to.
  Status Follow();
  Status NextReferred(Change* change);

  kv::Txn* txn_ = nullptr;
  GroupHeader header_;
  Change group_;  // what the operations of the group share
  uint64_t time_ = 0;
  std::string_view rest_;
  std::optional<Reference> reference_;
  kv::ReadValue referred_;  // the group of documents that is being read
  GroupView documents_;
  int rank_ = 0;
  int left_ = 0;  // documents of it
};

// Reads the log forwards from a time, up to what is readable when it is opened. Not safe for
// concurrent use.
class ChangeReader {
 public:
  // Begins with the first change at or after `from`.
  static Result<std::unique_ptr<ChangeReader>> Open(kv::Store& store, ChangeLog& log,
                                                    bson::Timestamp from);
  // Begins with the first change of the last group whose key is below `end`.
  static Result<std::unique_ptr<ChangeReader>> OpenGroupBefore(kv::Store& store, std::string end);

  // False at the end. The change's views are valid until the next call.
  Result<bool> Next(Change* change);
  // Every change up to this time has been or will be given.
  bson::Timestamp upto() const { return UnpackTime(upto_); }
  // The time of the first group it reads (may lie before `from`).
  uint64_t first_group() const { return first_group_; }
  // The key of the group of the change last given.
  std::string_view group_key() const { return cursor_->key(); }

 private:
  ChangeReader() = default;
  Status Start(std::string end, bool exact);

  std::unique_ptr<kv::Txn> txn_;
  std::unique_ptr<kv::Cursor> cursor_;
  uint64_t from_ = 0;
  uint64_t first_group_ = 0;
  uint64_t upto_ = 0;
  GroupReader group_;
};

}  // namespace quire::store
