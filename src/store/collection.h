// SPDX-License-Identifier: Apache-2.0
//
// Writing documents: a document and all its index entries change in one transaction.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"
#include "store/catalog.h"
#include "store/touched.h"
#include "store/transaction.h"

namespace quire::store {

// Every function below REQUIRES txn.Hold(info.state) to have been called and may return
// WriteConflict, after which the transaction is of no more use.

// Adds a document that has its _id. DuplicateKey names the index and the value; the caller rolls
// back to its savepoint then.
struct InsertHints {
  // The document's bytes stay where they are until the transaction ends.
  bool outlives = false;
  // The transaction adds many (kManyInserts) to the collection: they are kept together.
  bool one_of_many = false;
};
inline constexpr size_t kManyInserts = 8;
Result<RecordId> Insert(Transaction& txn, const CollectionInfo& info, bson::View document,
                        const InsertHints& hints = {});
// Adds a document under the record id it had before.
Status Restore(Transaction& txn, const CollectionInfo& info, RecordId id, bson::View document);
// REQUIRES: `before` is what the transaction sees under `id`; ClaimRecord(id) was ok.
Status Replace(Transaction& txn, const CollectionInfo& info, RecordId id, bson::View before,
               bson::View after, const Touched& touched);
Status Remove(Transaction& txn, const CollectionInfo& info, RecordId id, bson::View document);
// Takes the document for writing: WriteConflict when another transaction has changed it.
Status ClaimRecord(Transaction& txn, const CollectionInfo& info, RecordId id);

// The record with that _id, or nothing. Works inside read-only transactions too.
Result<std::optional<RecordId>> FindById(Transaction& txn, const CollectionInfo& info,
                                         const bson::Value& id);
// The document under `id` into *value; false when there is none.
Result<bool> Fetch(Transaction& txn, const CollectionInfo& info, RecordId id, kv::ReadValue* value);
// As Fetch for each id; (*found)[i] tells whether ids[i] has a document. Resizes both vectors.
Status FetchMany(Transaction& txn, const CollectionInfo& info, const std::vector<RecordId>& ids,
                 std::vector<kv::ReadValue>* values, std::vector<bool>* found);

// Removes the oldest documents while the capped collection is over its limits.
Status TrimCapped(Transaction& txn, const CollectionInfo& info);

// Whether the document belongs into the index (partial filter).
Result<bool> IsIndexed(const IndexInfo& index, bson::View document);
// Marks in the store that the index has met arrays at those steps and paths.
Status PutMultikeyMarks(kv::Txn& txn, const IndexInfo& index, uint64_t steps,
                        const std::set<std::string, std::less<>>& paths);
// The store entry of one index key.
void IndexEntry(const IndexInfo& index, const IndexKey& key, RecordId id, std::string* store_key,
                std::string* store_value);
// The E11000 error with keyPattern and keyValue.
Status DuplicateKeyError(const CollectionInfo& info, const IndexInfo& index,
                         std::string_view key_bytes, std::string_view type_bits);

}  // namespace quire::store
