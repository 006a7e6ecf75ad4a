// SPDX-License-Identifier: Apache-2.0
//
// A file that appears whole or not at all.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "quire/status.h"

namespace quire::apps {

// Written under a temporary name beside its place and renamed at the end; standard output is
// written as it comes. Errors of all calls: FileStreamFailed.
class OutputFile {
 public:
  OutputFile() = default;
  // A file that was not finished is removed.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // "" and "-": standard output.
  Status Open(const std::string& path);
  Status Write(std::string_view text);
  // Puts the file in its place, synced to disk.
  Status Finish();

 private:
  Status Failed(const char* what) const;

  std::string path_;
  std::string temporary_;
  FILE* file_ = nullptr;
};

}  // namespace quire::apps
