// SPDX-License-Identifier: Apache-2.0
//
// A database: a named group of collections.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"
#include "quire/collection.h"
#include "quire/cursor.h"
#include "quire/options.h"
#include "quire/status.h"

namespace quire {

// Cheap to copy; safe for concurrent use. The database need not exist: it does from the moment one
// of its collections does.
class Database {
 public:
  const std::string& name() const;

  Collection GetCollection(std::string_view name) const;

  // Makes a collection. Error: NamespaceExists.
  Status CreateCollection(std::string_view name, const CollectionOptions& options = {}) const;

  // Collections and views, in no particular order.
  Result<std::vector<std::string>> ListCollectionNames() const;

  // Runs any command of MongoDB's: its reply, or its error when `ok` is not 1 (Status::extra() then
  // holds the reply's further fields). A reply with writeErrors is a reply.
  //
  //   auto reply = client.GetDatabase("app").RunCommand(Doc("ping", 1));
  //   std::cout << (*reply)["ok"].AsDouble() << "\n";  // 1
  Result<bson::Document> RunCommand(const bson::Argument& command,
                                    const CommandOptions& options = {}) const;

  // A pipeline that starts without a collection ($documents, $currentOp...).
  Result<Cursor> Aggregate(const Pipeline& pipeline, const AggregateOptions& options = {}) const;

  // The changes of all its collections, as Collection::Watch.
  Result<Cursor> Watch(const Pipeline& pipeline = {}, const WatchOptions& options = {}) const;

  // Removes every collection.
  Status Drop() const;

 private:
  friend struct api::Access;
  struct Impl;
  explicit Database(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace quire
