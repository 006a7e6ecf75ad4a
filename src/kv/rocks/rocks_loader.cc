// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/rocks_loader.h"

#include <rocksdb/sst_file_writer.h>

#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "kv/rocks/rocks_status.h"

namespace quire::kv {
namespace {

class RocksLoader final : public SortedLoader {
 public:
  explicit RocksLoader(RocksDatabase& database) : database_(database) {}
  ~RocksLoader() override;

  Status Add(std::string_view key, std::string_view value) override;
  Status Finish() override;

 private:
  Status FinishFile();

  RocksDatabase& database_;
  std::unique_ptr<rocksdb::SstFileWriter> writer_;
  std::vector<std::string> files_;
  size_t unadmitted_ = 0;  // bytes added since the disk's room was last asked for
};

RocksLoader::~RocksLoader() {
  writer_.reset();
  for (const std::string& file : files_) {
    database_.env()->DeleteFile(file).PermitUncheckedError();  // gone when it was taken in
  }
}

Status RocksLoader::Add(std::string_view key, std::string_view value) {
  if (!writer_) {
    writer_ = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(database_.options()),
                                                       database_.options());
    files_.push_back(database_.NewLoadFile());
    RETURN_IF_ERROR(FromRocks(writer_->Open(files_.back())));
  }
  unadmitted_ += key.size() + value.size();
  constexpr size_t kAdmittedAtOnce = 1 << 20;
  if (unadmitted_ > kAdmittedAtOnce) {
    RETURN_IF_ERROR(database_.Admit(std::exchange(unadmitted_, 0)));
  }
  RETURN_IF_ERROR(FromRocks(writer_->Put({key.data(), key.size()}, {value.data(), value.size()})));
  constexpr uint64_t kFileBytes = uint64_t{128} << 20;
  return writer_->FileSize() >= kFileBytes ? FinishFile() : Status::Ok();
}

Status RocksLoader::FinishFile() {
  Status status = FromRocks(writer_->Finish());
  writer_.reset();
  return status;
}

Status RocksLoader::Finish() {
  if (writer_) {
    RETURN_IF_ERROR(FinishFile());
  }
  if (files_.empty()) {
    return Status::Ok();
  }
  return database_.Ingest(files_);
}

}  // namespace

std::unique_ptr<SortedLoader> NewRocksLoader(RocksDatabase& database) {
  return std::make_unique<RocksLoader>(database);
}

}  // namespace quire::kv
