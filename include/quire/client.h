// SPDX-License-Identifier: Apache-2.0
//
// Opening a database inside the process, or connecting to one at a mongodb:// address.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quire/cursor.h"
#include "quire/database.h"
#include "quire/options.h"
#include "quire/session.h"
#include "quire/status.h"

namespace quire {

// An open folder, a database in memory, or a server elsewhere. Cheap to copy; safe for concurrent
// use. Databases, collections, cursors and sessions keep it open: the folder is closed when the
// last of them is gone.
class Client {
 public:
  Database GetDatabase(std::string_view name) const;
  Result<std::vector<std::string>> ListDatabaseNames() const;

  Result<Session> StartSession() const;

  // The changes of all databases, as Collection::Watch.
  Result<Cursor> Watch(const Pipeline& pipeline = {}, const WatchOptions& options = {}) const;

 private:
  friend struct api::Access;
  struct Impl;
  explicit Client(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

// Opens the folder of `options`, recovering what was acknowledged before a crash. A folder is open
// in one process at a time. Errors: the folder is in use, is not Quire's, was written by a newer
// version, or is damaged; it is then left as it was.
Result<Client> Open(const OpenOptions& options);
Result<Client> Open(std::string_view path);
// A fresh, empty database in memory.
Result<Client> OpenInMemory();
// The server or cluster at a mongodb:// address (MongoDB's connection string, with its options):
// any that speaks MongoDB's protocol. The same calls give the same answers there. Errors:
// FailedToParse (the address), HostUnreachable; every later call may return the latter too.
Result<Client> Connect(std::string_view uri);

}  // namespace quire
