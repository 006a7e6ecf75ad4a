// SPDX-License-Identifier: Apache-2.0
#include "export/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error_codes.h"

namespace quire::apps {

OutputFile::~OutputFile() {
  if (!temporary_.empty()) {
    fclose(file_);
    unlink(temporary_.c_str());
  }
}

Status OutputFile::Failed(const char* what) const {
  const std::string name = path_.empty() ? "standard output" : "'" + path_ + "'";
  return {kFileStreamFailed, std::string(what) + " " + name + ": " + strerror(errno)};
}

Status OutputFile::Open(const std::string& path) {
  if (path.empty() || path == "-") {
    file_ = stdout;
    return Status::Ok();
  }
  path_ = path;
  std::string temporary = path + "." + std::to_string(getpid()) + ".part";
  file_ = fopen(temporary.c_str(), "wx");
  if (file_ == nullptr) {
    return Failed("cannot write");
  }
  temporary_ = std::move(temporary);
  return Status::Ok();
}

Status OutputFile::Write(std::string_view text) {
  const bool whole = fwrite(text.data(), 1, text.size(), file_) == text.size();
  return whole ? Status::Ok() : Failed("cannot write");
}

Status OutputFile::Finish() {
  if (fflush(file_) != 0) {
    return Failed("cannot write");
  }
  if (temporary_.empty()) {
    return Status::Ok();
  }
  if (fsync(fileno(file_)) != 0 || rename(temporary_.c_str(), path_.c_str()) != 0) {
    return Failed("cannot write");
  }
  fclose(file_);
  temporary_.clear();
  return Status::Ok();
}

}  // namespace quire::apps
