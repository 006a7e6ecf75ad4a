// SPDX-License-Identifier: Apache-2.0
//
// Documents by their record ids. A document lies in a group or under a key of its own; the key
// hides the group's document, and an empty value tells that it was deleted.
#pragma once

#include <string_view>
#include <vector>

#include "kv/kv.h"
#include "store/collection_state.h"

namespace quire::store {

// All REQUIRE: the transaction's groups are written (Transaction::WriteGroups).

// The document under `id` into *value; false when there is none.
Result<bool> GetRecord(kv::Txn& txn, CollectionState& state, RecordId id, kv::ReadValue* value);
// As GetRecord for each id; (*found)[i] tells whether ids[i] has a document. Resizes both vectors.
Status GetRecords(kv::Txn& txn, CollectionState& state, const std::vector<RecordId>& ids,
                  std::vector<kv::ReadValue>* values, std::vector<bool>* found);

// Both write the record's own key. REQUIRES: the record is claimed, or its id is new.
Status PutRecord(kv::Txn& txn, CollectionState& state, RecordId id, std::string_view document,
                 bool is_new, bool outlives);
Status DeleteRecord(kv::Txn& txn, CollectionState& state, RecordId id);

// Where the collection's record ids end and whether it has groups, as the transaction sees it.
// Called before anybody else uses the state.
Status FindLastRecord(kv::Txn& txn, CollectionState* state);

// A group of the collection cannot be read.
Status DamagedGroup(TableId table, int64_t number);

}  // namespace quire::store
