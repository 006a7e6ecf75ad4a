// SPDX-License-Identifier: Apache-2.0
//
// RocksDB itself with the bytes of the events: what scans, point reads and writes are compared
// with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "quire/status.h"

namespace rocksdb {
class DB;
}

namespace quire::bench {

// Events as keys of their own, with Quire's settings, in a temporary folder that goes with it. Not
// safe for concurrent use.
class RawStore {
 public:
  // With so many events, compacted. Error: InternalError with what RocksDB said.
  static Result<std::unique_ptr<RawStore>> Open(int64_t documents);
  ~RawStore();
  RawStore(const RawStore&) = delete;
  RawStore& operator=(const RawStore&) = delete;

  // Nanoseconds of processor time in which an iterator passes a document: the median of some passes
  // over all. On a busy machine a yardstick of wall time would flatter what it measures.
  double ScanNs();
  // The event under its _id: the entry that has its record's number, then the record.
  bool Get(int64_t document);
  // What inserting an event into a collection without further indexes writes: the document, the
  // entry of its _id, two counters and the log's copy. The numbers go on after the last.
  bool Insert(std::string_view event);

 private:
  RawStore() = default;
  Status Fill(int64_t documents);

  std::string folder_;
  std::unique_ptr<rocksdb::DB> db_;
  int64_t next_ = 0;
};

}  // namespace quire::bench
