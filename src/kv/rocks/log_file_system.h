// SPDX-License-Identifier: Apache-2.0
//
// A file system whose write-ahead logs are synced cheaply. Bytes appended to a file are safe only
// with the file's new size, for which a file system writes its journal at every sync; bytes that
// lie within the file are safe by themselves. So a log that is synced after small appends is
// extended ahead of them, by bytes that are no record: what a crash leaves of them RocksDB takes
// for the log's torn end. They are cut off when the log is closed or another one follows it.
#pragma once

#include <rocksdb/file_system.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"

namespace quire::kv {

class LogFile;

// The log that was begun last, while it is open.
struct NewestLog {
  Mutex mutex;
  LogFile* file QUIRE_GUARDED_BY(mutex) = nullptr;
};

// A log file extended ahead of its syncs. Safe for concurrent use.
class LogFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  LogFile(std::unique_ptr<rocksdb::FSWritableFile> file, std::shared_ptr<NewestLog> newest)
      : FSWritableFileOwnerWrapper(std::move(file)), newest_(std::move(newest)) {}
  ~LogFile() override;
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& info,
                           rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Close(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override;
  uint64_t GetFileSize(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;

  // Cuts off what lies ahead of the records; from now on it is not extended any more.
  void EndHere(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug);

 private:
  static constexpr uint64_t kFirstStep = 64 << 10;

  void ExtendAhead(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug)
      QUIRE_REQUIRES(mutex_);
  void CutOff(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug)
      QUIRE_REQUIRES(mutex_);

  const std::shared_ptr<NewestLog> newest_;
  Mutex mutex_;
  uint64_t size_ QUIRE_GUARDED_BY(mutex_) = 0;    // of the records
  uint64_t synced_ QUIRE_GUARDED_BY(mutex_) = 0;  // of those at the last sync
  uint64_t end_ QUIRE_GUARDED_BY(mutex_) = 0;     // how far the file was extended
  uint64_t step_ QUIRE_GUARDED_BY(mutex_) =
      kFirstStep;  // by how much it is extended next; 0: not any more
};

// Safe for concurrent use.
class LogFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "LogFileSystem"; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;

 private:
  const std::shared_ptr<NewestLog> newest_ = std::make_shared<NewestLog>();
};

}  // namespace quire::kv
