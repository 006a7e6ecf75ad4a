// SPDX-License-Identifier: Apache-2.0
#include "engine/replica/rollback_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::engine {

namespace {

namespace fs = std::filesystem;

Status IoError(const std::string& what, int error) {
  return {error == ENOSPC || error == EDQUOT ? kOutOfDiskSpace : kInternalError,
          what + ": " + std::generic_category().message(error)};
}

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H-%M-%S", &utc)};
}

void SyncFolder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    fsync(fd);
    close(fd);
  }
}

// A name may hold what a path must not.
std::string FolderName(std::string_view ns) {
  std::string name;
  for (char c : ns) {
    if (c == '/' || c == '%') {
      name += c == '/' ? "%2F" : "%25";
    } else {
      name += c;
    }
  }
  return name;
}

}  // namespace

RollbackFiles::~RollbackFiles() {
  for (const auto& [ns, fd] : files_) {
    close(fd);
  }
}

Result<int> RollbackFiles::FileOf(const std::string& ns) {
  if (auto known = files_.find(ns); known != files_.end()) {
    return known->second;
  }
  if (time_.empty()) {
    time_ = Now();
  }
  const std::string folder = folder_ + "/" + FolderName(ns);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return IoError("Cannot create " + folder, error.value());
  }
  constexpr int kMostTries = 1000;
  for (int i = 0; i < kMostTries; ++i) {
    const std::string name = folder + "/removed." + time_ + "." + std::to_string(i) + ".bson";
    const int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
      SyncFolder(folder);
      SyncFolder(folder_);
      files_.emplace(ns, fd);
      return fd;
    }
    if (errno != EEXIST) {
      return IoError("Cannot create " + name, errno);
    }
  }
  return IoError("Cannot create a file in " + folder, EEXIST);
}

Status RollbackFiles::Add(std::string_view ns, std::string_view uuid, int64_t record,
                          bson::View document) {
  if (!seen_.emplace(uuid, record).second) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(const int fd, FileOf(std::string(ns)));
  std::string_view rest = document.bytes();
  while (!rest.empty()) {
    const ssize_t n = write(fd, rest.data(), rest.size());
    if (n < 0 && errno != EINTR) {
      return IoError("Cannot write a rollback file of " + std::string(ns), errno);
    }
    rest.remove_prefix(n > 0 ? static_cast<size_t>(n) : 0);
  }
  unsynced_.insert(fd);
  return Status::Ok();
}

Status RollbackFiles::Sync() {
  for (int fd : unsynced_) {
    if (fsync(fd) != 0) {
      return IoError("Cannot sync a rollback file", errno);
    }
  }
  unsynced_.clear();
  return Status::Ok();
}

}  // namespace quire::engine
