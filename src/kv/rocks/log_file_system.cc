// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/log_file_system.h"

#include <algorithm>

namespace quire::kv {
namespace {

// No record begins like this: its length would reach past the block it lies in.
constexpr char kNoRecord = '\xff';

// The bytes a log is extended by, a part at a time.
const std::string& Filling() {
  static const std::string filling(64 << 10, kNoRecord);
  return filling;
}

}  // namespace

LogFile::~LogFile() {
  MutexLock lock(newest_->mutex);
  if (newest_->file == this) {
    newest_->file = nullptr;
  }
}

rocksdb::IOStatus LogFile::Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                                  rocksdb::IODebugContext* debug) {
  MutexLock lock(mutex_);
  size_ += data.size();
  return FSWritableFileOwnerWrapper::Append(data, options, debug);
}

rocksdb::IOStatus LogFile::Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                                  const rocksdb::DataVerificationInfo& info,
                                  rocksdb::IODebugContext* debug) {
  MutexLock lock(mutex_);
  size_ += data.size();
  return FSWritableFileOwnerWrapper::Append(data, options, info, debug);
}

rocksdb::IOStatus LogFile::Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) {
  {
    MutexLock lock(mutex_);
    constexpr uint64_t kSmall = 64 << 10;  // a larger write costs more than its sync
    constexpr uint64_t kNear = 16 << 10;
    if (size_ - synced_ <= kSmall && size_ + kNear > end_) {
      ExtendAhead(options, debug);
    }
    synced_ = size_;
  }
  return FSWritableFileOwnerWrapper::Sync(options, debug);
}

void LogFile::ExtendAhead(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) {
  uint64_t from = std::max(size_, end_);
  const uint64_t to = from + step_;
  while (from < to) {
    if (!target()->PositionedAppend(Filling(), from, options, debug).ok()) {
      end_ = to;  // of which the disk took what it could
      CutOff(options, debug);
      return;
    }
    from += Filling().size();
  }
  end_ = from;
  constexpr uint64_t kLargestStep = 1 << 20;
  step_ = std::min(2 * step_, kLargestStep);
}

void LogFile::CutOff(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) {
  if (end_ > size_) {
    target()->Truncate(size_, options, debug).PermitUncheckedError();
  }
  end_ = 0;
  step_ = 0;
}

void LogFile::EndHere(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) {
  MutexLock lock(mutex_);
  CutOff(options, debug);
}

rocksdb::IOStatus LogFile::Close(const rocksdb::IOOptions& options,
                                 rocksdb::IODebugContext* debug) {
  EndHere(options, debug);
  return FSWritableFileOwnerWrapper::Close(options, debug);
}

uint64_t LogFile::GetFileSize(const rocksdb::IOOptions& /*options*/,
                              rocksdb::IODebugContext* /*debug*/) {
  MutexLock lock(mutex_);
  return size_;
}

rocksdb::IOStatus LogFileSystem::NewWritableFile(const std::string& name,
                                                 const rocksdb::FileOptions& options,
                                                 std::unique_ptr<rocksdb::FSWritableFile>* file,
                                                 rocksdb::IODebugContext* debug) {
  rocksdb::IOStatus status = FileSystemWrapper::NewWritableFile(name, options, file, debug);
  if (!status.ok() || !name.ends_with(".log")) {
    return status;
  }
  auto log = std::make_unique<LogFile>(std::move(*file), newest_);
  MutexLock lock(newest_->mutex);
  if (newest_->file != nullptr) {
    newest_->file->EndHere(options.io_options, debug);
  }
  newest_->file = log.get();
  *file = std::move(log);
  return status;
}

}  // namespace quire::kv
