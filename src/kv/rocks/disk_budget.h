// SPDX-License-Identifier: Apache-2.0
//
// Keeps the database from meeting a full disk: a write is let through only while the disk has room
// for it, for what is still in memory and has to be written, and a reserve besides. RocksDB
// survives a full disk badly (a log it could not append to is lost to it), so the budget refuses
// first.
#pragma once

#include <rocksdb/db.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "base/mutex.h"
#include "quire/status.h"

namespace quire::kv {

// What a write is for: one that frees space may use a part of the reserve, so that a disk filled by
// the database can be emptied by its users.
enum class Purpose { kKeep, kFree };

// Safe for concurrent use.
class DiskBudget {
 public:
  static constexpr int64_t kReserve = int64_t{32} << 20;     // left alone by ordinary writes
  static constexpr int64_t kLastReserve = int64_t{8} << 20;  // left alone by all

  // Without a database (an ephemeral store) everything is admitted.
  DiskBudget() = default;
  void Watch(rocksdb::DB* db, std::string folder) {
    db_ = db;
    folder_ = std::move(folder);
  }

  // OutOfDiskSpace when the disk has no room for a write of so many bytes; one that frees space
  // waits for a while when background work is about to make room. The disk is asked fifty times a
  // second and after every 64 MB.
  Status Admit(uint64_t bytes, Purpose purpose);

 private:
  // Asks the disk whether the write may go on.
  bool Fits(int64_t cost, Purpose purpose);
  // In the background.
  bool FilesAreWritten() const;
  // Asks the disk; what is left for ordinary writes, below zero when the reserve is in use.
  int64_t Measure();

  rocksdb::DB* db_ = nullptr;
  std::string folder_;
  Mutex measure_mutex_;
  std::atomic<int64_t> left_{0};       // for ordinary writes until the next look
  std::atomic<int64_t> next_look_{0};  // in milliseconds of the steady clock
};

}  // namespace quire::kv
