// SPDX-License-Identifier: Apache-2.0
//
// A file system whose errors pass. RocksDB takes every I/O error but a full disk for the end of the
// database, unless the file system says that the call may be tried again: then it stops and waits
// to be resumed, writing everything that is in memory to new files first. A lack of descriptors and
// most errors of a disk do go away, and one that stays is met again by the next attempt.
#pragma once

#include <rocksdb/file_system.h>

#include <memory>
#include <string>

namespace quire::kv {

// Safe for concurrent use.
class PassingErrors final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "PassingErrors"; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* folder,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetFileSize(const std::string& name, const rocksdb::IOOptions& options,
                                uint64_t* size, rocksdb::IODebugContext* debug) override;
};

}  // namespace quire::kv
