// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/rocks_status.h"

#include "base/error_codes.h"

namespace quire::kv {

Status FromRocks(const rocksdb::Status& status) {
  if (status.ok()) [[likely]] {
    return Status::Ok();
  }
  if (status.IsNoSpace() || status.subcode() == rocksdb::Status::kSpaceLimit) {
    return Status(kOutOfDiskSpace, "The disk is full: " + status.ToString());
  }
  switch (status.code()) {
    case rocksdb::Status::kIncomplete:  // a write that waited for a flush, which then failed
      return Status(kOutOfDiskSpace, "The write buffers are full: " + status.ToString());
    case rocksdb::Status::kBusy:
    case rocksdb::Status::kTimedOut:
    case rocksdb::Status::kTryAgain:
      return Status(kWriteConflict, "Storage is busy; retry the operation: " + status.ToString());
    case rocksdb::Status::kCorruption:
      return Status(kDataCorruptionDetected, "Stored data is damaged: " + status.ToString());
    case rocksdb::Status::kShutdownInProgress:
      return Status(kShutdownInProgress, "The store is closing");
    default:
      return Status(kInternalError, "Storage error: " + status.ToString());
  }
}

}  // namespace quire::kv
