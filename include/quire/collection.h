// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing one collection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"
#include "quire/cursor.h"
#include "quire/options.h"
#include "quire/status.h"

namespace quire {

// The stages of an aggregation, or of an update that is one.
using Pipeline = std::vector<bson::Document>;

// A name in a database. Cheap to copy; safe for concurrent use. The collection itself need not
// exist: reading it then finds nothing, and the first write makes it.
//
// Filters, updates, projections and stages are MongoDB's, as are the errors: Status::code() is the
// number a driver would see. When documents of a write fail one by one (a duplicate key), the call
// returns the first such error, and Status::extra() is the whole reply: n, writeErrors...
class Collection {
 public:
  Collection(std::shared_ptr<api::Door> engine, std::string database, std::string name);

  const std::string& name() const { return name_; }
  const std::string& database() const { return database_; }

  // Stores the document and returns its _id, which is made up when the document has none.
  Result<bson::OwnedValue> InsertOne(bson::View document, const InsertOptions& options = {});

  // Stores the documents, as many at once as a message carries. With options.ordered the first that
  // fails ends the call and those before it stay; without, every one that can be stored is.
  Result<InsertResult> InsertMany(const std::vector<bson::Document>& documents,
                                  const InsertOptions& options = {});

  // The matching documents, in the order of options.sort.
  Result<Cursor> Find(bson::View filter = {}, const FindOptions& options = {});

  // The first of them; nothing when there is none.
  Result<std::optional<bson::Document>> FindOne(bson::View filter = {},
                                                const FindOptions& options = {});

  Result<Cursor> Aggregate(const Pipeline& pipeline, const AggregateOptions& options = {});

  // The changes from now on (or from where `options` say), through `pipeline`. Waiting for them
  // takes no lock; the cursor outlives the collection.
  Result<Cursor> Watch(const Pipeline& pipeline = {}, const WatchOptions& options = {});

  // How many documents match. Without a filter this takes the same time for any size.
  Result<int64_t> Count(bson::View filter = {}, const CountOptions& options = {});

  // The different values of `field` (a dotted path; the elements of an array count one by one).
  Result<std::vector<bson::OwnedValue>> Distinct(std::string_view field, bson::View filter = {});

  // Changes the first (or every) match with update operators or a pipeline; ReplaceOne puts
  // `replacement` in its place and keeps the _id.
  Result<UpdateResult> UpdateOne(bson::View filter, bson::View update,
                                 const UpdateOptions& options = {});
  Result<UpdateResult> UpdateOne(bson::View filter, const Pipeline& update,
                                 const UpdateOptions& options = {});
  Result<UpdateResult> UpdateMany(bson::View filter, bson::View update,
                                  const UpdateOptions& options = {});
  Result<UpdateResult> UpdateMany(bson::View filter, const Pipeline& update,
                                  const UpdateOptions& options = {});
  Result<UpdateResult> ReplaceOne(bson::View filter, bson::View replacement,
                                  const UpdateOptions& options = {});

  // Removes the first (or every) match; how many that were.
  Result<int64_t> DeleteOne(bson::View filter, const DeleteOptions& options = {});
  Result<int64_t> DeleteMany(bson::View filter, const DeleteOptions& options = {});

  // Changes, replaces or removes one document and returns it, before the change unless
  // options.return_new; nothing when there was none.
  Result<std::optional<bson::Document>> FindOneAndUpdate(bson::View filter, bson::View update,
                                                         const FindAndModifyOptions& options = {});
  Result<std::optional<bson::Document>> FindOneAndReplace(bson::View filter, bson::View replacement,
                                                          const FindAndModifyOptions& options = {});
  Result<std::optional<bson::Document>> FindOneAndDelete(bson::View filter,
                                                         const FindAndModifyOptions& options = {});

  // Makes an index over `keys` ({a: 1, b: -1}) unless it exists; returns its name. `options` are
  // the fields of MongoDB's index specification: name, unique, sparse, expireAfterSeconds...
  Result<std::string> CreateIndex(bson::View keys, bson::View options = {});
  Status DropIndex(std::string_view name);
  // One specification per index.
  Result<Cursor> ListIndexes();

  // Removes the collection with its documents and indexes; ok when there is none.
  Status Drop();

 private:
  struct UpdateCall;
  struct FindAndModifyCall;
  Result<UpdateResult> Update(const UpdateCall& call);
  Result<int64_t> Delete(bson::View filter, int32_t limit, const DeleteOptions& options);
  Result<std::optional<bson::Document>> FindAndModify(const FindAndModifyCall& call);

  std::shared_ptr<api::Door> engine_;
  std::string database_;
  std::string name_;
};

}  // namespace quire
