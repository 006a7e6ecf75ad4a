// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/passing_errors.h"

#include <utility>

namespace quire::kv {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

IOStatus Passing(IOStatus status) {
  if (!status.ok()) [[unlikely]] {
    status.SetRetryable(status.IsIOError());
  }
  return status;
}

class WrittenFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    return Passing(target()->Append(data, options, debug));
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& info, IODebugContext* debug) override {
    return Passing(target()->Append(data, options, info, debug));
  }
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            IODebugContext* debug) override {
    return Passing(target()->PositionedAppend(data, offset, options, debug));
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    return Passing(target()->Truncate(size, options, debug));
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    return Passing(target()->Close(options, debug));
  }
  IOStatus Flush(const IOOptions& options, IODebugContext* debug) override {
    return Passing(target()->Flush(options, debug));
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return Passing(target()->Sync(options, debug));
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Passing(target()->Fsync(options, debug));
  }
  IOStatus RangeSync(uint64_t offset, uint64_t count, const IOOptions& options,
                     IODebugContext* debug) override {
    return Passing(target()->RangeSync(offset, count, options, debug));
  }
};

class ReadFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  using FSRandomAccessFileOwnerWrapper::FSRandomAccessFileOwnerWrapper;

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) const override {
    return Passing(target()->Read(offset, n, options, result, scratch, debug));
  }
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const IOOptions& options,
                     IODebugContext* debug) override {
    IOStatus status = Passing(target()->MultiRead(requests, count, options, debug));
    for (size_t i = 0; i < count; ++i) {
      requests[i].status = Passing(std::move(requests[i].status));
    }
    return status;
  }
};

class Folder final : public rocksdb::FSDirectoryWrapper {
 public:
  using FSDirectoryWrapper::FSDirectoryWrapper;

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Passing(FSDirectoryWrapper::Fsync(options, debug));
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions& how) override {
    return Passing(FSDirectoryWrapper::FsyncWithDirOptions(options, debug, how));
  }
};

}  // namespace

IOStatus PassingErrors::NewWritableFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSWritableFile>* file,
                                        IODebugContext* debug) {
  IOStatus status = Passing(target()->NewWritableFile(name, options, file, debug));
  if (status.ok()) {
    *file = std::make_unique<WrittenFile>(std::move(*file));
  }
  return status;
}

IOStatus PassingErrors::NewRandomAccessFile(const std::string& name,
                                            const rocksdb::FileOptions& options,
                                            std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                            IODebugContext* debug) {
  IOStatus status = Passing(target()->NewRandomAccessFile(name, options, file, debug));
  if (status.ok()) {
    *file = std::make_unique<ReadFile>(std::move(*file));
  }
  return status;
}

IOStatus PassingErrors::NewDirectory(const std::string& name, const IOOptions& options,
                                     std::unique_ptr<rocksdb::FSDirectory>* folder,
                                     IODebugContext* debug) {
  IOStatus status = Passing(target()->NewDirectory(name, options, folder, debug));
  if (status.ok()) {
    *folder = std::make_unique<Folder>(std::move(*folder));
  }
  return status;
}

IOStatus PassingErrors::RenameFile(const std::string& from, const std::string& to,
                                   const IOOptions& options, IODebugContext* debug) {
  return Passing(target()->RenameFile(from, to, options, debug));
}

IOStatus PassingErrors::GetFileSize(const std::string& name, const IOOptions& options,
                                    uint64_t* size, IODebugContext* debug) {
  return Passing(target()->GetFileSize(name, options, size, debug));
}

}  // namespace quire::kv
