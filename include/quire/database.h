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
#include "quire/options.h"
#include "quire/session.h"
#include "quire/status.h"

namespace quire {

// Cheap to copy; safe for concurrent use. The database need not exist: it does from the moment one
// of its collections does.
class Database {
 public:
  Database(std::shared_ptr<api::Door> engine, std::string name);

  const std::string& name() const { return name_; }

  Collection GetCollection(std::string_view name) const;

  // Makes a collection. `options` are the fields of MongoDB's create command: capped, validator,
  // viewOn... Error: NamespaceExists.
  Status CreateCollection(std::string_view name, bson::View options = {});

  // Collections and views, in no particular order.
  Result<std::vector<std::string>> ListCollectionNames();

  // Runs any command of MongoDB's: its reply, or its error when `ok` is not 1 (Status::extra() then
  // holds the reply's further fields). A reply with writeErrors is a reply.
  Result<bson::Document> RunCommand(bson::View command, Session* session = nullptr);

  // A pipeline that starts without a collection ($documents, $currentOp...).
  Result<Cursor> Aggregate(const Pipeline& pipeline, const AggregateOptions& options = {});

  // The changes of all its collections, as Collection::Watch.
  Result<Cursor> Watch(const Pipeline& pipeline = {}, const WatchOptions& options = {});

  // Removes every collection.
  Status Drop();

 private:
  std::shared_ptr<api::Door> engine_;
  std::string name_;
};

}  // namespace quire
