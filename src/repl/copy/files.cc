// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error_codes.h"
#include "base/try.h"
#include "repl/copy/files_internal.h"

namespace quire::repl {
namespace {

Status IoError(const std::string& what, int error) {
  return {kFileStreamFailed, what + ": " + strerror(error)};
}

}  // namespace

Status SyncFolder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return IoError("Cannot open " + folder, errno);
  }
  const bool synced = fsync(fd) == 0;
  const int error = errno;
  close(fd);
  return synced ? Status::Ok() : IoError("Cannot sync " + folder, error);
}

Status WriteDurably(const std::string& file, std::string_view bytes) {
  const std::string draft = file + ".new";
  const int fd = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) {
    return IoError("Cannot write " + draft, errno);
  }
  const bool written =
      write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) && fsync(fd) == 0;
  const int error = errno;
  close(fd);
  return written ? RenameDurably(draft, file) : IoError("Cannot write " + draft, error);
}

Result<std::string> ReadWhole(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string out((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in.good() && !in.eof()) {
    return Status(kFileStreamFailed, "Cannot read " + file);
  }
  return out;
}

Status RenameDurably(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) {
    return IoError("Cannot rename " + from, errno);
  }
  return SyncFolder(std::filesystem::path(to).parent_path());
}

Status RemoveAll(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  return error ? Status(kFileStreamFailed, "Cannot remove " + path + ": " + error.message())
               : Status::Ok();
}

}  // namespace quire::repl
