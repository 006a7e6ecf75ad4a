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

  struct File {
    Sections::Handle section;
    std::string name;
  };

  RocksDatabase& database_;
  std::unique_ptr<rocksdb::SstFileWriter> writer_;
  std::vector<File> files_;
  size_t unadmitted_ = 0;  // bytes added since the disk's room was last asked for
};

RocksLoader::~RocksLoader() {
  writer_.reset();
  for (const File& file : files_) {
    database_.env()->DeleteFile(file.name).PermitUncheckedError();  // gone when it was taken in
  }
}

Status RocksLoader::Add(std::string_view key, std::string_view value) {
  const Sections::Handle section = database_.sections().Of(key);
  if (writer_ && files_.back().section != section) {
    RETURN_IF_ERROR(FinishFile());
  }
  if (!writer_) {
    writer_ = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(database_.options()),
                                                       database_.options());
    files_.push_back({section, database_.NewLoadFile()});
    RETURN_IF_ERROR(FromRocks(writer_->Open(files_.back().name)));
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
  std::vector<rocksdb::IngestExternalFileArg> sections;
  for (const File& file : files_) {
    if (sections.empty() || sections.back().column_family != file.section) {
      rocksdb::IngestExternalFileArg& added = sections.emplace_back();
      added.column_family = file.section;
      added.options.move_files = true;
      added.options.failed_move_fall_back_to_copy = true;
    }
    sections.back().external_files.push_back(file.name);
  }
  return database_.Ingest(sections);
}

}  // namespace

std::unique_ptr<SortedLoader> NewRocksLoader(RocksDatabase& database) {
  return std::make_unique<RocksLoader>(database);
}

}  // namespace quire::kv
