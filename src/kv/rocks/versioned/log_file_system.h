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
#include <vector>

#include "base/mutex.h"

namespace quire::kv {

class LogFile;

// The logs that are open, the one begun last at the end.
struct OpenLogs {
  // What keeps a log from being closed while it is synced.
  struct Entry {
    std::string name;  // constant once the log is among the files
    Mutex mutex;
    LogFile* file QUIRE_GUARDED_BY(mutex) = nullptr;  // null: closed
  };
  Mutex mutex;
  std::vector<std::shared_ptr<Entry>> files QUIRE_GUARDED_BY(mutex);
};

// A log file extended ahead of its syncs. Safe for concurrent use.
class LogFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  explicit LogFile(std::unique_ptr<rocksdb::FSWritableFile> file);
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

  const std::shared_ptr<OpenLogs::Entry>& entry() const { return entry_; }
  // Cuts off what lies ahead of the records; from now on it is not extended any more.
  void EndHere(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug);

 private:
  static constexpr uint64_t kFirstStep = 64 << 10;

  void ExtendAhead(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug)
      QUIRE_REQUIRES(mutex_);
  void CutOff(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug)
      QUIRE_REQUIRES(mutex_);

  void Leave();

  const std::shared_ptr<OpenLogs::Entry> entry_ = std::make_shared<OpenLogs::Entry>();
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

  // Of a log that is open: that of its records. What lies ahead of them may be cut off before it is
  // read.
  rocksdb::IOStatus GetFileSize(const std::string& name, const rocksdb::IOOptions& options,
                                uint64_t* size, rocksdb::IODebugContext* debug) override;

  // Syncs the logs that are open, while they are written. A log that RocksDB has closed is synced
  // already, or what it held lies in files that are.
  rocksdb::IOStatus SyncLogs();

 private:
  OpenLogs logs_;
  std::string folder_ QUIRE_GUARDED_BY(logs_.mutex);  // of the database; other logs are copies
};

}  // namespace quire::kv
