// SPDX-License-Identifier: Apache-2.0
//
// Where documents go that a member has to take back: <folder>/<namespace>/removed.<time>.bson, each
// a sequence of BSON documents, as bsondump and mongorestore read them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::engine {

// The files of one rollback. Not safe for concurrent use.
class RollbackFiles {
 public:
  // Nothing is made before there is a document.
  explicit RollbackFiles(std::string folder) : folder_(std::move(folder)) {}
  ~RollbackFiles();
  RollbackFiles(const RollbackFiles&) = delete;
  RollbackFiles& operator=(const RollbackFiles&) = delete;

  // The last state of a record is kept; later calls for it are of earlier states.
  Status Add(std::string_view ns, std::string_view uuid, int64_t record, bson::View document);
  // What was added survives power loss.
  Status Sync();

 private:
  Result<int> FileOf(const std::string& ns);

  const std::string folder_;
  std::string time_;  // in the files' names
  std::map<std::string, int, std::less<>> files_;
  std::set<int> unsynced_;
  std::set<std::pair<std::string, int64_t>> seen_;  // by uuid and record
};

}  // namespace quire::engine
