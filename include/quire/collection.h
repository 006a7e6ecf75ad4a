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

namespace api {
struct Access;
}

// The stages of an aggregation, or of an update that is one.
using Pipeline = std::vector<bson::Document>;

// A name in a database. Cheap to copy; safe for concurrent use. The collection itself need not
// exist: reading it then finds nothing, and the first write makes it.
//
// Filters, updates, projections and stages are MongoDB's, as are the errors: Status::code() is the
// number a driver would see. When documents of a write fail one by one (a duplicate key), the call
// returns the first such error, and Status::extra() is the whole reply: n, writeErrors...
//
//   auto name = people.CreateIndex(Doc("email", 1), {.unique = true, .sparse = true});
//   auto ada = people.FindOneAndUpdate(Doc("name", "Ada"), Doc("$inc", Doc("age", 1)),
//                                      {.return_new = true});
//   std::cout << quire::bson::ToJson(**ada) << "\n";  // {"_id":1,"name":"Ada","age":37}
//   auto gone = people.DeleteMany(Doc("age", Doc("$gte", 45)));
//   std::cout << *gone << " of " << *gone + *people.Count() << "\n";  // 2 of 3
class Collection {
 public:
  const std::string& name() const;
  const std::string& database() const;

  // Stores the document and returns its _id, which is made up when the document has none.
  Result<bson::OwnedValue> InsertOne(const bson::Argument& document,
                                     const InsertOptions& options = {}) const;

  // Stores the documents, as many at once as a message carries. With options.ordered the first that
  // fails ends the call and those before it stay; without, every one that can be stored is.
  Result<InsertResult> InsertMany(const std::vector<bson::Document>& documents,
                                  const InsertOptions& options = {}) const;

  // The matching documents, in the order of options.sort.
  Result<Cursor> Find(const bson::Argument& filter = {}, const FindOptions& options = {}) const;

  // The first of them; nothing when there is none.
  Result<std::optional<bson::Document>> FindOne(const bson::Argument& filter = {},
                                                const FindOptions& options = {}) const;

  Result<Cursor> Aggregate(const Pipeline& pipeline, const AggregateOptions& options = {}) const;

  // The changes from now on (or from where `options` say), through `pipeline`. Waiting for them
  // takes no lock; the cursor outlives the collection.
  Result<Cursor> Watch(const Pipeline& pipeline = {}, const WatchOptions& options = {}) const;

  // How many documents match. Without a filter this takes the same time for any size.
  Result<int64_t> Count(const bson::Argument& filter = {}, const CountOptions& options = {}) const;

  // The different values of `field` (a dotted path; the elements of an array count one by one).
  Result<std::vector<bson::OwnedValue>> Distinct(std::string_view field,
                                                 const bson::Argument& filter = {},
                                                 const DistinctOptions& options = {}) const;

  // Changes the first (or every) match with update operators or a pipeline; ReplaceOne puts
  // `replacement` in its place and keeps the _id.
  Result<UpdateResult> UpdateOne(const bson::Argument& filter, const bson::Argument& update,
                                 const UpdateOptions& options = {}) const;
  Result<UpdateResult> UpdateOne(const bson::Argument& filter, const Pipeline& update,
                                 const UpdateOptions& options = {}) const;
  Result<UpdateResult> UpdateMany(const bson::Argument& filter, const bson::Argument& update,
                                  const UpdateOptions& options = {}) const;
  Result<UpdateResult> UpdateMany(const bson::Argument& filter, const Pipeline& update,
                                  const UpdateOptions& options = {}) const;
  Result<UpdateResult> ReplaceOne(const bson::Argument& filter, const bson::Argument& replacement,
                                  const UpdateOptions& options = {}) const;

  // Removes the first (or every) match; how many that were.
  Result<int64_t> DeleteOne(const bson::Argument& filter, const DeleteOptions& options = {}) const;
  Result<int64_t> DeleteMany(const bson::Argument& filter, const DeleteOptions& options = {}) const;

  // Changes, replaces or removes one document and returns it, before the change unless
  // options.return_new; nothing when there was none.
  Result<std::optional<bson::Document>> FindOneAndUpdate(
      const bson::Argument& filter, const bson::Argument& update,
      const FindAndModifyOptions& options = {}) const;
  Result<std::optional<bson::Document>> FindOneAndReplace(
      const bson::Argument& filter, const bson::Argument& replacement,
      const FindAndModifyOptions& options = {}) const;
  Result<std::optional<bson::Document>> FindOneAndDelete(
      const bson::Argument& filter, const FindAndModifyOptions& options = {}) const;

  // Makes an index over `keys` ({a: 1, b: -1}) unless it exists; returns its name.
  Result<std::string> CreateIndex(const bson::Argument& keys,
                                  const IndexOptions& options = {}) const;
  Status DropIndex(std::string_view name) const;
  // One specification per index.
  Result<Cursor> ListIndexes() const;

  // Removes the collection with its documents and indexes; ok when there is none.
  Status Drop() const;

 private:
  friend struct api::Access;
  struct Impl;
  explicit Collection(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace quire
