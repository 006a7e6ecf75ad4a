// SPDX-License-Identifier: Apache-2.0
//
// Initial sync: a member copies another one's folder and begins anew with it.
//
// The source makes a checkpoint and serves its files in chunks. The copy is written to
// <dbpath>/.sync/data; when all of it is durable, the file .sync/COMPLETE is written and the
// process starts again. FinishInitialSync then puts the copy in the place of <dbpath>/data and
// leaves the file .copied, which gives the folder its new identity until that is written into the
// store.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/replica/replica_data.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "repl/core/types.h"

namespace quire::repl {

// The side that has the data. Used by one thread.
class CopySource {
 public:
  // `data` outlives it. Removes what an earlier process left below the folder.
  CopySource(engine::ReplicaData* data, const std::string& dbpath);
  ~CopySource();

  // {begin: true} -> {id, files: [{name, size}], end}; {read: id, file, offset, size} -> {bytes};
  // {end: id}. Errors: those of the file system, BadValue.
  Result<bson::Document> Answer(bson::View request);
  // Forgets copies that nobody asks for any more.
  void Expire(std::chrono::steady_clock::time_point now);

 private:
  struct Copy {
    std::string folder;
    std::map<std::string, uint64_t> files;
    std::shared_ptr<void> pin;  // the log from the copy's end on
    std::chrono::steady_clock::time_point used;
    bool read = true;  // the files are still there
  };
  Result<bson::Document> Begin();
  Result<bson::Document> Read(bson::View request);
  Result<bson::Document> End(bson::View request);

  engine::ReplicaData* const data_;
  const std::string root_;  // empty: in memory, nothing to copy
  int64_t last_id_ = 0;
  std::map<int64_t, Copy> copies_;
};

// Asks the source and waits for its answer.
using AskSource = std::function<Result<bson::Document>(const bson::Document& request)>;
using CopyProgress = std::function<void(uint64_t bytes, uint64_t of)>;

// Copies into <dbpath>/.sync; complete and durable when it returns Ok. `identity` goes into
// .sync/COMPLETE.
Status CopyFolder(const std::string& dbpath, const bson::Argument& identity, const AskSource& ask,
                  const CopyProgress& progress);

// At start-up, before the store is opened: puts a complete copy in place, removes an incomplete
// one. Whatever happens in between, the next call goes on with it. True: the folder is a new copy.
Result<bool> FinishInitialSync(const std::string& dbpath);

// What .copied says; nothing when the folder has its identity.
Result<std::optional<bson::Document>> IdentityOfCopy(const std::string& dbpath);
// The identity is in the store, durably.
Status ForgetCopy(const std::string& dbpath);

}  // namespace quire::repl
