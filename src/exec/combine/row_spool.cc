// SPDX-License-Identifier: Apache-2.0
#include "exec/combine/row_spool.h"

#include <unistd.h>

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::exec {

namespace {

constexpr size_t kChunk = size_t{256} << 10;

Status DiskError() { return {kOutOfDiskSpace, "cannot use a temporary file"}; }

}  // namespace

Status RowSpool::Add(bson::View document) {
  std::string_view bytes = document.bytes();
  if (file_ == nullptr && memory_ + bytes.size() > memory_limit_) {
    if (!allow_disk_) {
      return {kQueryExceededMemoryLimitNoDiskUseAllowed,
              "Exceeded memory limit of " + std::to_string(memory_limit_) +
                  " bytes, but didn't allow external sort. Pass allowDiskUse:true to opt in."};
    }
    file_.reset(std::tmpfile());
    if (file_ == nullptr) {
      return DiskError();
    }
  }
  if (file_ != nullptr) {
    file_size_ += static_cast<int64_t>(bytes.size());
    return std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size() ? Status::Ok()
                                                                                   : DiskError();
  }
  if (chunks_.empty() || chunks_.back().size() + bytes.size() > chunks_.back().capacity()) {
    chunks_.emplace_back().reserve(std::max(kChunk, bytes.size()));
  }
  chunks_.back().append(bytes);
  memory_ += bytes.size();
  charge_.Set(memory_);
  return Status::Ok();
}

class RowSpool::Reader final : public Operator {
 public:
  explicit Reader(std::shared_ptr<const RowSpool> spool) : spool_(std::move(spool)) {}

  Result<bool> Next(OpContext& op, Row* row) override {
    RETURN_IF_ERROR(op.CheckInterrupt());
    while (chunk_ < spool_->chunks_.size() && at_ == spool_->chunks_[chunk_].size()) {
      ++chunk_;
      at_ = 0;
    }
    *row = Row();
    if (chunk_ < spool_->chunks_.size()) {
      row->document = bson::View(spool_->chunks_[chunk_].data() + at_);
      at_ += row->document.size();
      return true;
    }
    return spool_->file_ != nullptr && offset_ < spool_->file_size_ ? FromFile(row) : false;
  }

 private:
  // Makes `size` bytes from offset_ on stand at the beginning of what Buffered gives.
  Status Buffer(size_t size) {
    if (buffer_.size() - begin_ >= size) {
      return Status::Ok();
    }
    buffer_.erase(0, begin_);
    begin_ = 0;
    size_t had = buffer_.size();
    auto rest = static_cast<size_t>(spool_->file_size_ - offset_) - had;
    buffer_.resize(had + std::min(std::max(kChunk, size), rest));
    int descriptor = fileno(spool_->file_.get());
    while (had < buffer_.size()) {
      ssize_t got = pread(descriptor, buffer_.data() + had, buffer_.size() - had,
                          offset_ + static_cast<int64_t>(had));
      if (got <= 0) {
        return DiskError();
      }
      had += static_cast<size_t>(got);
    }
    return Status::Ok();
  }

  Result<bool> FromFile(Row* row) {
    if (offset_ == 0 && std::fflush(spool_->file_.get()) != 0) {
      return DiskError();
    }
    RETURN_IF_ERROR(Buffer(4));
    uint32_t size = bson::View(buffer_.data() + begin_).size();
    RETURN_IF_ERROR(Buffer(size));
    row->document = bson::View(buffer_.data() + begin_);
    begin_ += size;
    offset_ += size;
    return true;
  }

  std::shared_ptr<const RowSpool> spool_;
  size_t chunk_ = 0;
  size_t at_ = 0;
  int64_t offset_ = 0;  // in the file, of what is not given out yet
  std::string buffer_;
  size_t begin_ = 0;  // of that in the buffer
};

std::unique_ptr<Operator> RowSpool::Read(std::shared_ptr<const RowSpool> spool) {
  return std::make_unique<Reader>(std::move(spool));
}

}  // namespace quire::exec
