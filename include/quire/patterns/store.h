// SPDX-License-Identifier: Apache-2.0
//
// The database as the systems use it: one write to one document at a time, every write passing the
// seams, every error MongoDB's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/concerns.h"
#include "quire/patterns/seams.h"
#include "quire/quire.h"

namespace quire::patterns {

// An index a system needs, as data. `keys` is JSON, in the order of the fields.
struct IndexSpec {
  std::string_view collection;
  std::string_view keys;
  bool unique = false;
  int64_t expire_after_seconds = -1;  // below 0: documents do not expire
  std::string_view options = "";      // JSON of further options: sparse, weights...
};

// How a system's collection is to be spread over shards.
struct ShardKeySpec {
  std::string_view collection;
  std::string_view keys;
};

// Whether `status` is MongoDB's DuplicateKey.
bool IsDuplicateKey(const Status& status);

// Cheap to copy; safe for concurrent use unless it is bound to a session.
class Store {
 public:
  Store(Client client, std::string_view database, const Seams& seams,
        const Concerns& concerns = {});

  const Seams& seams() const { return seams_; }
  // The same store for reports: its reads go to whom the concerns name. Not in a transaction.
  Store ForReports() const;
  bson::Date Now() const { return seams_.clock->Now(); }
  // Of the clock, `back` ago.
  bson::Date Ago(std::chrono::milliseconds back) const { return {Now().millis - back.count()}; }

  Result<std::optional<bson::Document>> FindOne(std::string_view collection,
                                                const bson::Document& filter,
                                                FindOptions options = {}) const;
  // All matches: the filter or options.limit bounds them.
  Result<std::vector<bson::Document>> Find(std::string_view collection,
                                           const bson::Document& filter,
                                           FindOptions options = {}) const;
  // The same, one after the other: each once, as it was when the cursor came to it.
  Result<Cursor> Open(std::string_view collection, const bson::Document& filter,
                      FindOptions options = {}) const;
  Result<std::vector<bson::Document>> Aggregate(std::string_view collection,
                                                const Pipeline& pipeline,
                                                const bson::Document& extra = {}) const;
  Result<int64_t> Count(std::string_view collection, const bson::Document& filter) const;
  Result<bson::Document> Run(const bson::Document& command) const;
  // A command that writes: its reply, writeErrors and all.
  Result<bson::Document> RunWrite(const bson::Document& command) const;

  Status Insert(std::string_view collection, const bson::Document& document) const;
  // Several, with this write concern unless it is empty: the reply, writeErrors and all. One
  // message when they are within kMaxInsertDocuments and kMaxInsertBytes.
  Result<bson::Document> InsertBatch(std::string_view collection,
                                     const std::vector<bson::Document>& documents, bool ordered,
                                     const bson::Document& concern) const;
  // How many documents matched: 0 when the guard in the filter failed. With `upsert` a document
  // that was made counts too.
  Result<int64_t> UpdateOne(std::string_view collection, const bson::Document& filter,
                            const bson::Document& update, bool upsert = false) const;
  // How many documents changed.
  Result<int64_t> UpdateMany(std::string_view collection, const bson::Document& filter,
                             const bson::Document& update) const;
  // The document after the change; nothing when none matched.
  Result<std::optional<bson::Document>> FindAndUpdate(std::string_view collection,
                                                      const bson::Document& filter,
                                                      const bson::Document& update,
                                                      bool upsert = false) const;
  Result<int64_t> DeleteOne(std::string_view collection, const bson::Document& filter) const;
  Result<int64_t> DeleteMany(std::string_view collection, const bson::Document& filter) const;

  // A collection, or the database, and all that is in it; Ok when there is none.
  Status Drop(std::string_view collection) const;
  Status DropDatabase() const;

  // Runs `body` with a store whose calls belong to one transaction (snapshot reads, majority
  // write), again and again while the server asks for it: `body` has no other effects. The commit
  // passes the fault hook like a write.
  Status Transact(const std::function<Status(const Store&)>& body) const;

  Status CreateIndexes(const std::vector<IndexSpec>& indexes) const;
  // "collection {keys}" of each that does not exist (or is not unique and should be, or lets
  // documents expire at another age).
  Result<std::vector<std::string>> MissingIndexes(const std::vector<IndexSpec>& indexes) const;

 private:
  Collection In(std::string_view collection) const { return database_.GetCollection(collection); }
  // Further fields of a write, with the write concern; of a read, with the read preference.
  bson::Document OfWrite(const bson::Document& concern = {}) const;
  bson::Document OfRead(const bson::Document& extra) const;
  // Tells the query hook of a find; limit 0: all.
  void Ask(std::string_view collection, const bson::Document& filter,
           const FindOptions& options) const;

  Client client_;
  Database database_;
  Seams seams_;
  Concerns concerns_;
  bool for_reports_ = false;
  Session* session_ = nullptr;
};

}  // namespace quire::patterns
