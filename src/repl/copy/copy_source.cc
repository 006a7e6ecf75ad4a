// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/error_codes.h"
#include "base/try.h"
#include "quire/doc.h"
#include "repl/copy/files_internal.h"
#include "repl/copy/folder_copy.h"

namespace quire::repl {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostChunk = uint64_t{8} << 20;
// A copy nobody reads any more; and the log behind a copy, for whoever has it to come and follow.
constexpr std::chrono::minutes kUnread{2};
constexpr std::chrono::minutes kKeepLog{30};

}  // namespace

CopySource::CopySource(engine::ReplicaData* data, const std::string& dbpath)
    : data_(data), root_(dbpath.empty() ? "" : dbpath + "/.copies") {
  if (!root_.empty()) {
    (void)RemoveAll(root_);
  }
}

CopySource::~CopySource() {
  if (!root_.empty()) {
    (void)RemoveAll(root_);
  }
}

Result<bson::Document> CopySource::Answer(bson::View request) {
  if (request.Has("begin")) {
    return Begin();
  }
  return request.Has("read") ? Read(request) : End(request);
}

Result<bson::Document> CopySource::Begin() {
  if (root_.empty()) {
    return Status(kIllegalOperation, "a member without a folder cannot be copied");
  }
  std::error_code error;
  fs::create_directories(root_, error);
  const int64_t id = ++last_id_;
  Copy copy;
  copy.folder = root_ + "/" + std::to_string(id);
  copy.used = std::chrono::steady_clock::now();
  copy.pin = data_->PinLog(data_->Applied());
  ASSIGN_OR_RETURN(engine::LogPosition end, data_->Checkpoint(copy.folder));
  bson::Builder out;
  out.Append("id", id).BeginArray("files");
  for (fs::recursive_directory_iterator it(copy.folder, error), last; !error && it != last;
       it.increment(error)) {
    if (!it->is_regular_file()) {
      continue;
    }
    const std::string name = fs::relative(it->path(), copy.folder);
    const auto size = static_cast<uint64_t>(it->file_size());
    copy.files.emplace(name, size);
    out.Push(Doc("name", name, "size", static_cast<int64_t>(size)));
  }
  out.End().Append("epoch", static_cast<int64_t>(end.epoch));
  out.Append("time", static_cast<int64_t>(end.time));
  if (error) {
    return Status(kFileStreamFailed, "Cannot list " + copy.folder + ": " + error.message());
  }
  copies_.emplace(id, std::move(copy));
  return out.Finish();
}

Result<bson::Document> CopySource::Read(bson::View request) {
  auto found = copies_.find(request["read"].AsInt64());
  const bson::Value name = request["file"];
  if (found == copies_.end() || !found->second.read || !name.is_string()) {
    return Status(kBadValue, "there is no such copy");
  }
  Copy& copy = found->second;
  copy.used = std::chrono::steady_clock::now();
  auto file = copy.files.find(std::string(name.AsString()));
  const auto offset = static_cast<uint64_t>(request["offset"].AsInt64());
  if (file == copy.files.end() || offset > file->second) {
    return Status(kBadValue, "there is no such part of the copy");
  }
  const uint64_t size = std::min(
      {static_cast<uint64_t>(request["size"].AsInt64()), kMostChunk, file->second - offset});
  const int fd = open((copy.folder + "/" + file->first).c_str(), O_RDONLY | O_CLOEXEC);
  std::string bytes(size, '\0');
  uint64_t have = 0;
  while (fd >= 0 && have < size) {
    const ssize_t n =
        pread(fd, bytes.data() + have, size - have, static_cast<off_t>(offset + have));
    if (n <= 0) {
      break;
    }
    have += static_cast<uint64_t>(n);
  }
  if (fd >= 0) {
    close(fd);
  }
  if (have < size) {
    return Status(kFileStreamFailed, "Cannot read " + file->first);
  }
  return Doc("bytes", bson::Value::Binary(bytes, 0));
}

Result<bson::Document> CopySource::End(bson::View request) {
  auto found = copies_.find(request["end"].AsInt64());
  if (found != copies_.end()) {
    found->second.read = false;
    found->second.used = std::chrono::steady_clock::now();
    RETURN_IF_ERROR(RemoveAll(found->second.folder));
  }
  return bson::Document();
}

void CopySource::Expire(std::chrono::steady_clock::time_point now) {
  for (auto it = copies_.begin(); it != copies_.end();) {
    const bool gone = now - it->second.used > (it->second.read ? kUnread : kKeepLog);
    if (gone) {
      (void)RemoveAll(it->second.folder);
      it = copies_.erase(it);
    } else {
      ++it;
    }
  }
}

}  // namespace quire::repl
