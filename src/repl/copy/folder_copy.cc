// SPDX-License-Identifier: Apache-2.0
#include "repl/copy/folder_copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/error_codes.h"
#include "base/try.h"
#include "quire/doc.h"
#include "repl/copy/files_internal.h"

namespace quire::repl {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kChunk = int64_t{4} << 20;

std::string SyncPath(const std::string& dbpath) { return dbpath + "/.sync"; }
std::string CopyPath(const std::string& dbpath) { return SyncPath(dbpath) + "/folder"; }
std::string CompletePath(const std::string& dbpath) { return SyncPath(dbpath) + "/COMPLETE"; }
std::string CopiedPath(const std::string& dbpath) { return dbpath + "/.copied"; }

struct File {
  std::string name;
  int64_t size = 0;
};

// A name that stays within the folder it is put into.
bool IsPlain(const std::string& name) {
  const fs::path path(name);
  if (name.empty() || path.is_absolute()) {
    return false;
  }
  for (const fs::path& part : path) {
    if (part == ".." || part == ".") {
      return false;
    }
  }
  return true;
}

Result<std::vector<File>> ReadFiles(bson::View begun) {
  std::vector<File> out;
  const bson::Value files = begun["files"];
  if (!files.is_array() || begun["id"].type() != bson::Type::kInt64) {
    return Status(kProtocolError, "the source of the copy did not name its files");
  }
  for (const bson::Element& element : files.AsArray()) {
    const bson::Value name =
        element.value().is_document() ? element.value().AsDocument()["name"] : bson::Value();
    if (!name.is_string() || !IsPlain(std::string(name.AsString()))) {
      return Status(kProtocolError, "the source of the copy names a file that cannot be");
    }
    out.push_back({std::string(name.AsString()), element.value().AsDocument()["size"].AsInt64()});
  }
  return out;
}

Status WriteAt(int fd, std::string_view bytes, int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd, bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      return {kFileStreamFailed, std::string("Cannot write a copied file: ") + strerror(errno)};
    }
    bytes.remove_prefix(static_cast<size_t>(n));
    offset += n;
  }
  return Status::Ok();
}

Status CopyFile(const std::string& path, int64_t id, const File& file, const AskSource& ask,
                const std::function<void(int64_t)>& copied) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) {
    return {kFileStreamFailed, "Cannot write " + path + ": " + strerror(errno)};
  }
  Status status;
  for (int64_t at = 0; status.ok() && at < file.size;) {
    auto chunk = ask(Doc("read", id, "file", file.name, "offset", at, "size", kChunk));
    if (!chunk.ok()) {
      status = chunk.status();
      break;
    }
    const bson::Value bytes = (*chunk)["bytes"];
    if (bytes.type() != bson::Type::kBinary || bytes.AsBinary().empty()) {
      status = {kProtocolError, "the source of the copy sent no bytes"};
      break;
    }
    status = WriteAt(fd, bytes.AsBinary(), at);
    at += static_cast<int64_t>(bytes.AsBinary().size());
    copied(static_cast<int64_t>(bytes.AsBinary().size()));
  }
  if (status.ok() && fsync(fd) != 0) {
    status = {kFileStreamFailed, "Cannot sync " + path + ": " + strerror(errno)};
  }
  close(fd);
  return status;
}

Status SyncTree(const std::string& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_directory()) {
      RETURN_IF_ERROR(SyncFolder(it->path()));
    }
  }
  return SyncFolder(folder);
}

}  // namespace

Status CopyFolder(const std::string& dbpath, const bson::Argument& identity, const AskSource& ask,
                  const CopyProgress& progress) {
  const std::string sync = SyncPath(dbpath);
  RETURN_IF_ERROR(RemoveAll(sync));
  std::error_code error;
  fs::create_directories(CopyPath(dbpath), error);
  ASSIGN_OR_RETURN(bson::Document begun, ask(Doc("begin", true)));
  ASSIGN_OR_RETURN(std::vector<File> files, ReadFiles(begun));
  const int64_t id = begun["id"].AsInt64();
  int64_t whole = 0;
  for (const File& file : files) {
    whole += file.size;
  }
  int64_t done = 0;
  for (const File& file : files) {
    RETURN_IF_ERROR(CopyFile(CopyPath(dbpath) + "/" + file.name, id, file, ask, [&](int64_t bytes) {
      done += bytes;
      progress(static_cast<uint64_t>(done), static_cast<uint64_t>(whole));
    }));
  }
  (void)ask(Doc("end", id));  // it forgets a copy by itself, too
  RETURN_IF_ERROR(SyncTree(sync));
  RETURN_IF_ERROR(WriteDurably(CompletePath(dbpath), bson::ToCanonicalJson(identity.view())));
  return SyncFolder(dbpath);
}

Result<bool> FinishInitialSync(const std::string& dbpath) {
  const std::string sync = SyncPath(dbpath);
  const std::string replaced = dbpath + "/.replaced";
  if (!fs::exists(CompletePath(dbpath))) {
    RETURN_IF_ERROR(RemoveAll(sync));
    RETURN_IF_ERROR(RemoveAll(replaced));
    return fs::exists(CopiedPath(dbpath));
  }
  const std::string copy = CopyPath(dbpath);
  if (fs::exists(copy + "/data")) {
    if (fs::exists(dbpath + "/data")) {
      RETURN_IF_ERROR(RemoveAll(replaced));
      RETURN_IF_ERROR(RenameDurably(dbpath + "/data", replaced));
    }
    RETURN_IF_ERROR(RenameDurably(copy + "/data", dbpath + "/data"));
  }
  if (fs::exists(copy + "/QUIRE")) {  // what says of which format it is
    RETURN_IF_ERROR(RenameDurably(copy + "/QUIRE", dbpath + "/QUIRE"));
  }
  RETURN_IF_ERROR(RenameDurably(CompletePath(dbpath), CopiedPath(dbpath)));
  RETURN_IF_ERROR(RemoveAll(sync));
  RETURN_IF_ERROR(RemoveAll(replaced));
  RETURN_IF_ERROR(SyncFolder(dbpath));
  return true;
}

Result<std::optional<bson::Document>> IdentityOfCopy(const std::string& dbpath) {
  if (dbpath.empty() || !fs::exists(CopiedPath(dbpath))) {
    return std::optional<bson::Document>();
  }
  ASSIGN_OR_RETURN(std::string text, ReadWhole(CopiedPath(dbpath)));
  ASSIGN_OR_RETURN(bson::Document identity, bson::Document::FromJson(text));
  return std::optional(std::move(identity));
}

Status ForgetCopy(const std::string& dbpath) {
  RETURN_IF_ERROR(RemoveAll(CopiedPath(dbpath)));
  return SyncFolder(dbpath);
}

}  // namespace quire::repl
