// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/data_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"

namespace quire::kv {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeader = "quire data folder\nformat ";
constexpr std::string_view kFilled = "\nfilled\n";
constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;

Status IoError(const std::string& what, int error) {
  int code = error == ENOSPC || error == EDQUOT ? kOutOfDiskSpace : kInternalError;
  return Status(code, what + ": " + std::generic_category().message(error));
}

// Files that may stand in a folder before its first use: they are not anybody's data.
bool IsHarmless(const std::string& name) {
  if (name.starts_with('.') || name == "lost+found") {
    return true;
  }
  for (const char* ending : {".log", ".pid", ".sock", ".conf"}) {
    if (name.ends_with(ending)) {
      return true;
    }
  }
  return name == "quire.lock";
}

Status Foreign(const std::string& path, const std::string& name) {
  std::string what = name == "WiredTiger" || name == "storage.bson"
                         ? "MongoDB's own data files"
                         : "files that are not Quire's (" + name + ")";
  return Status(kUnsupportedFormat, "The data folder " + path + " holds " + what +
                                        "; choose an empty folder or one that Quire made");
}

Status CheckUnclaimed(const std::string& path) {
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    // The first thing that is made; see Open.
    std::error_code unreadable;
    const bool begun = name == "data" && fs::is_empty(it->path(), unreadable);
    if (!IsHarmless(name) && !begun) {
      return Foreign(path, name);
    }
  }
  return error ? IoError("Cannot read the data folder " + path, error.value()) : Status::Ok();
}

std::string ReadQuireFile(const std::string& path) {
  std::ifstream in(path + "/QUIRE");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The number of the folder's format, if it is one that can be opened.
Result<int> CheckVersion(const std::string& path) {
  std::string content = ReadQuireFile(path);
  int version = 0;
  if (content.starts_with(kHeader)) {
    const char* digits = content.data() + kHeader.size();
    std::from_chars(digits, content.data() + content.size(), version);
  }
  if (version <= 0) {
    return Status(kDataCorruptionDetected,
                  "The data folder " + path + " is damaged: its file QUIRE is not readable");
  }
  if (version > kFormatVersion) {
    return Status(kUnsupportedFormat, "The data folder " + path + " has format " +
                                          std::to_string(version) +
                                          ", made by a newer Quire; this one reads formats up to " +
                                          std::to_string(kFormatVersion));
  }
  if (version < kOldestVersion) {
    return Status(kUnsupportedFormat,
                  "The data folder " + path + " has format " + std::to_string(version) +
                      ", made by an older Quire; this one reads formats " +
                      std::to_string(kOldestVersion) + " to " + std::to_string(kFormatVersion) +
                      ". Copy the data from the older one with mongodump or a driver");
  }
  return version;
}

Status Lost(const std::string& path, const std::string& what) {
  return Status(kDataCorruptionDetected, "The data folder " + path + " is damaged: " + what +
                                             " is missing. Bring it back, or choose another "
                                             "folder to begin with an empty database");
}

// A database that lost its files, or its root file, must not be taken for a new one, which would
// delete the rest.
Status CheckComplete(const std::string& path, bool ours, bool filled) {
  std::error_code error;
  if (fs::exists(path + "/data/CURRENT", error)) {
    return Status::Ok();
  }
  if (ours && !fs::exists(path + "/data", error)) {
    return Lost(path, "the folder data");
  }
  if (filled) {
    return Lost(path, "the file data/CURRENT");
  }
  for (fs::directory_iterator it(path + "/data", error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".sst" || it->path().extension() == ".log") {
      return Lost(path, "the file data/CURRENT");
    }
  }
  return Status::Ok();
}

void SyncFolder(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    fsync(fd);
    close(fd);
  }
}

Status WriteQuireFile(const std::string& path, bool filled) {
  const std::string name = path + "/QUIRE";
  const std::string draft = path + "/.QUIRE.new";
  const std::string text = std::string(kHeader) + std::to_string(kFormatVersion) +
                           std::string(filled ? kFilled : kFilled.substr(0, 1));
  int fd = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode);
  if (fd < 0) {
    return IoError("Cannot write " + draft, errno);
  }
  bool written =
      write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  int error = errno;
  close(fd);
  if (!written || rename(draft.c_str(), name.c_str()) != 0) {
    return IoError("Cannot write " + name, written ? errno : error);
  }
  SyncFolder(path);
  return Status::Ok();
}

std::string ReadSmall(int fd) {
  std::array<char, 64> buffer;
  ssize_t n = pread(fd, buffer.data(), buffer.size(), 0);
  std::string text(buffer.data(), n > 0 ? static_cast<size_t>(n) : 0);
  while (!text.empty() && isspace(static_cast<unsigned char>(text.back()))) {
    text.pop_back();
  }
  return text;
}

Result<int> Lock(const std::string& path) {
  const std::string name = path + "/quire.lock";
  int fd = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode);
  if (fd < 0) {
    return IoError("Cannot open " + name, errno);
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    int error = errno;
    std::string pid = ReadSmall(fd);
    close(fd);
    if (error != EWOULDBLOCK) {
      return IoError("Cannot lock " + name, error);
    }
    std::string who = pid.empty() ? "" : " (pid " + pid + ")";
    return Status(kDBPathInUse, "The data folder " + path + " is in use by " +
                                    (pid == std::to_string(getpid()) ? "this" : "another") +
                                    " process" + who);
  }
  std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(fd, 0) != 0 || pwrite(fd, pid.data(), pid.size(), 0) < 0) {
    int error = errno;
    close(fd);
    return IoError("Cannot write " + name, error);
  }
  return fd;
}

// A new folder is the owner's alone and survives power loss.
Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), kFolderMode) != 0) {
    const int problem = errno;
    std::error_code error;
    if (problem == EEXIST && fs::is_directory(path, error)) {
      return Status::Ok();
    }
    return IoError("Cannot create the data folder " + path, problem == EEXIST ? ENOTDIR : problem);
  }
  SyncFolder(path + "/..");
  return Status::Ok();
}

// Takes from others what they may do with a file or folder. What is not this user's stays.
void Close(const std::string& path, mode_t mode) {
  struct stat now {};
  if (lstat(path.c_str(), &now) != 0 || S_ISLNK(now.st_mode) || now.st_uid != geteuid() ||
      (now.st_mode & (S_IRWXG | S_IRWXO)) == 0) {
    return;
  }
  if (chmod(path.c_str(), mode) == 0) {
    log::Info("STORAGE", "Closed to other users", {{"path", path}});
  }
}

// Those an older version made, or somebody copied.
void CloseToOthers(const std::string& path) {
  for (const char* folder : {"", "/data", "/load"}) {
    Close(path + folder, kFolderMode);
  }
  for (const char* file : {"/QUIRE", "/quire.lock"}) {
    Close(path + file, kFileMode);
  }
  std::error_code error;
  for (fs::directory_iterator it(path + "/data", error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_regular_file(error)) {
      (void)chmod(it->path().c_str(), kFileMode);
    }
  }
}

}  // namespace

Result<DataFolder> DataFolder::Open(const std::string& path) {
  RETURN_IF_ERROR(MakeFolder(path));
  std::error_code error;
  const bool ours = fs::exists(path + "/QUIRE", error);
  int version = kFormatVersion;
  if (ours) {
    ASSIGN_OR_RETURN(version, CheckVersion(path));
  } else {
    RETURN_IF_ERROR(CheckUnclaimed(path));
  }
  DataFolder folder;
  folder.path_ = path;
  folder.filled_ = ours && ReadQuireFile(path).ends_with(kFilled);
  RETURN_IF_ERROR(CheckComplete(path, ours, folder.filled_));

  ASSIGN_OR_RETURN(folder.lock_, Lock(path));
  RETURN_IF_ERROR(MakeFolder(folder.data()));
  if (!fs::exists(path + "/QUIRE", error)) {
    RETURN_IF_ERROR(WriteQuireFile(path, false));
  } else if (version != kFormatVersion) {  // before anything is written that it does not know
    RETURN_IF_ERROR(WriteQuireFile(path, folder.filled_));
  }
  fs::remove_all(folder.load(), error);
  RETURN_IF_ERROR(MakeFolder(folder.load()));
  CloseToOthers(path);
  return folder;
}

Status DataFolder::Prepare(const std::string& path) {
  RETURN_IF_ERROR(MakeFolder(path));
  return WriteQuireFile(path, true);
}

Status DataFolder::MarkFilled() {
  if (filled_) {
    return Status::Ok();
  }
  RETURN_IF_ERROR(WriteQuireFile(path_, true));
  filled_ = true;
  return Status::Ok();
}

DataFolder& DataFolder::operator=(DataFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  std::swap(filled_, other.filled_);
  return *this;
}

DataFolder::~DataFolder() {
  if (lock_ >= 0) {
    close(lock_);
  }
}

}  // namespace quire::kv
