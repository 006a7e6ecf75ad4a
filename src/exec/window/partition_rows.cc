// SPDX-License-Identifier: Apache-2.0
#include "exec/window/partition_rows.h"

#include <sys/mman.h>

#include <cstdio>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::exec {

namespace {

constexpr size_t kWriteBytes = size_t{256} << 10;

Status DiskError() { return {kOutOfDiskSpace, "cannot use a temporary file"}; }

}  // namespace

// A temporary file that is written once and then mapped.
class PartitionRows::File {
 public:
  ~File() {
    if (map_ != MAP_FAILED) {
      munmap(map_, size_);
    }
    if (file_ != nullptr) {
      std::fclose(file_);
    }
  }
  size_t size() const { return size_; }

  Status Write(std::string_view bytes) {
    size_ += bytes.size();
    bool written =
        file_ != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size();
    return written ? Status::Ok() : DiskError();
  }

  Result<const char*> Map() {
    if (std::fflush(file_) != 0) {
      return DiskError();
    }
    map_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fileno(file_), 0);
    if (map_ == MAP_FAILED) {
      return DiskError();
    }
    return static_cast<const char*>(map_);
  }

 private:
  std::FILE* file_ = std::tmpfile();
  size_t size_ = 0;
  void* map_ = MAP_FAILED;
};

void PartitionRows::FileDeleter::operator()(File* file) const { delete file; }

Status PartitionRows::Add(bson::View document, size_t bytes_beside) {
  beside_ += bytes_beside + sizeof(size_t);
  size_t memory = beside_ + bytes_.size() + document.size();
  bool fits = memory <= memory_limit_;
  if (!fits && (!allow_disk_ || beside_ > memory_limit_)) {
    return {5643011, "Exceeded memory limit in $setWindowFields, used " + std::to_string(memory) +
                         " bytes but max allowed is " + std::to_string(memory_limit_)};
  }
  if (!fits && file_ == nullptr) {
    file_.reset(new File);
  }
  offsets_.push_back(bytes_.size() + (file_ == nullptr ? 0 : file_->size()));
  bytes_.append(document.bytes());
  if (file_ != nullptr && (bytes_.size() > kWriteBytes || !fits)) {
    RETURN_IF_ERROR(file_->Write(bytes_));
    bytes_.clear();
  }
  return Status::Ok();
}

Status PartitionRows::Seal() {
  if (file_ == nullptr) {
    base_ = bytes_.data();
    return Status::Ok();
  }
  RETURN_IF_ERROR(file_->Write(bytes_));
  bytes_ = std::string();
  ASSIGN_OR_RETURN(base_, file_->Map());
  return Status::Ok();
}

}  // namespace quire::exec
