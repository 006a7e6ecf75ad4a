// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/versioned/log_file_system.h"

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

LogFile::LogFile(std::unique_ptr<rocksdb::FSWritableFile> file)
    : FSWritableFileOwnerWrapper(std::move(file)) {
  MutexLock lock(entry_->mutex);
  entry_->file = this;
}

LogFile::~LogFile() { Leave(); }

void LogFile::Leave() {
  MutexLock lock(entry_->mutex);
  entry_->file = nullptr;
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
    // A log without a record stays empty: RocksDB looks for the first one when it copies logs.
    if (size_ > 0 && size_ - synced_ <= kSmall && size_ + kNear > end_) {
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
  Leave();
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
  MutexLock lock(logs_.mutex);
  const std::string folder = name.substr(0, name.rfind('/') + 1);
  if (folder_.empty()) {
    folder_ = folder;
  } else if (folder != folder_) {
    return status;
  }
  auto log = std::make_unique<LogFile>(std::move(*file));
  log->entry()->name = name;
  std::erase_if(logs_.files, [](const std::shared_ptr<OpenLogs::Entry>& entry) {
    MutexLock closing(entry->mutex);
    return entry->file == nullptr;
  });
  if (!logs_.files.empty()) {
    MutexLock closing(logs_.files.back()->mutex);
    if (LogFile* newest = logs_.files.back()->file) {
      newest->EndHere(options.io_options, debug);
    }
  }
  logs_.files.push_back(log->entry());
  *file = std::move(log);
  return status;
}

rocksdb::IOStatus LogFileSystem::GetFileSize(const std::string& name,
                                             const rocksdb::IOOptions& options, uint64_t* size,
                                             rocksdb::IODebugContext* debug) {
  if (name.ends_with(".log")) {
    MutexLock lock(logs_.mutex);
    for (const auto& entry : logs_.files) {
      MutexLock closing(entry->mutex);
      if (entry->file != nullptr && entry->name == name) {
        *size = entry->file->GetFileSize(options, debug);
        return rocksdb::IOStatus::OK();
      }
    }
  }
  return FileSystemWrapper::GetFileSize(name, options, size, debug);
}

rocksdb::IOStatus LogFileSystem::SyncLogs() {
  std::vector<std::shared_ptr<OpenLogs::Entry>> files;
  {
    MutexLock lock(logs_.mutex);
    files = logs_.files;
  }
  for (const auto& entry : files) {
    MutexLock closing(entry->mutex);
    if (entry->file != nullptr) {
      rocksdb::IOStatus status = entry->file->Sync({}, nullptr);
      if (!status.ok()) {
        return status;
      }
    }
  }
  return rocksdb::IOStatus::OK();
}

}  // namespace quire::kv
