// SPDX-License-Identifier: Apache-2.0
//
// What undoes the changes of one storage transaction, in the form the store keeps it until they are
// committed in the replica set. PERSISTED: see docs/architecture.md.
//
// A record is a list of operations, to be done from the last to the first:
//   'R' uuid (16), record id (8)                      the collection had no such record
//   'O' uuid (16), record id (8), document            the record was this document
//   'A' length (4), key                               the key had no value
//   'V' length (4), key, length (4), value            the key had this value
// Keys are those of the meta table (layout.h): catalog entries and what sessions keep. Numbers are
// little-endian. The undo of a large transaction is several records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"
#include "store/layout.h"

namespace quire::store {

class UndoBuffer {
 public:
  // `before`: what the record was; null: it was not there.
  void Record(std::string_view uuid, RecordId id, const bson::View* before);
  // The same for a key of the meta table.
  void Key(std::string_view key, const std::string_view* before);

  bool empty() const { return bytes_.empty(); }
  size_t size() const { return bytes_.size(); }
  // Forgets what was noted beyond so many bytes.
  void RollBack(size_t size);

  // Calls write(number of the record, its bytes) for each.
  template <typename F>
  Status ForEachRecord(F write) const {
    for (size_t i = 0; i < starts_.size(); ++i) {
      const size_t end = i + 1 < starts_.size() ? starts_[i + 1] : bytes_.size();
      Status written = write(static_cast<uint32_t>(i),
                             std::string_view(bytes_).substr(starts_[i], end - starts_[i]));
      if (!written.ok()) {
        return written;
      }
    }
    return Status::Ok();
  }

 private:
  void Begin(char kind);

  std::string bytes_;
  std::vector<size_t> starts_;  // of the records
};

// One operation of a record, whose bytes it shows.
struct UndoOperation {
  bool of_key = false;
  std::string_view key;   // of_key
  std::string_view uuid;  // else: the collection's
  RecordId id = 0;
  std::optional<std::string_view> before;
};

// In the order in which they were noted. Error: DataCorruptionDetected.
Result<std::vector<UndoOperation>> ReadUndo(std::string_view record);

// Where the undo of the slot of that time lies.
std::string UndoKey(uint64_t time, uint32_t record);
kv::Range UndoRange(uint64_t from, uint64_t before);

}  // namespace quire::store
