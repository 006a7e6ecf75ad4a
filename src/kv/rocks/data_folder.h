// SPDX-License-Identifier: Apache-2.0
//
// The data folder of a store on disk and its three own files:
//   QUIRE       text: "quire data folder\nformat <number>\n", and "filled\n" once there is a
//               database: from then on a folder without one has lost it
//   quire.lock  locked while a store has the folder open; holds the process id as text
//   data/       the database's files;  load/  files being loaded, emptied at start
// Nobody but the owner may read them.
#pragma once

#include <string>

#include "quire/status.h"

namespace quire::kv {

// The number in the QUIRE file: raised with every change of what is stored. Folders of a number
// from the oldest on become folders of this one when they are opened; all others are refused.
constexpr int kFormatVersion = 5;
constexpr int kOldestVersion = 3;

// An opened folder, locked until destroyed.
class DataFolder {
 public:
  // Checks, creates what is missing, and locks. Errors as OpenRocks.
  static Result<DataFolder> Open(const std::string& path);
  // Makes a folder for the copy of a database: all but its files.
  static Status Prepare(const std::string& path);
  // The database is there.
  Status MarkFilled();

  DataFolder() = default;
  DataFolder(DataFolder&& other) noexcept { *this = std::move(other); }
  DataFolder& operator=(DataFolder&& other) noexcept;
  ~DataFolder();

  static std::string DataIn(const std::string& path) { return path + "/data"; }
  std::string data() const { return DataIn(path_); }
  std::string load() const { return path_ + "/load"; }

 private:
  std::string path_;
  int lock_ = -1;
  bool filled_ = false;
};

}  // namespace quire::kv
