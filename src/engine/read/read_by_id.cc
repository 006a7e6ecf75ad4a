// SPDX-License-Identifier: Apache-2.0
#include "engine/read/read_by_id.h"

#include "base/try.h"
#include "engine/read/planned_query.h"
#include "engine/sharding.h"
#include "plan/access/id_lookup.h"
#include "store/collection.h"

namespace quire::engine {

namespace {

// Whether nothing but the filter says what the find gives. One document may not be all of a batch
// of one: whether there is more is told by a second look.
bool AsksForFilterOnly(const request::FindRequest& request) {
  const bool ends =
      request.single_batch || request.limit == 1 || !request.batch_size || *request.batch_size > 1;
  return ends && request.batch_size != 0 && request.skip == 0 && request.sort.empty() &&
         request.projection.empty() && request.hint.missing() && request.min.empty() &&
         request.max.empty() && request.collation.empty() && request.let.empty() &&
         !request.return_key && !request.show_record_id && !request.tailable;
}

}  // namespace

bool ReadById::Suits(const store::CollectionInfo& collection) {
  return !collection.is_view() && !collection.is_oplog && !collection.clustered &&
         collection.collator == nullptr;
}

Result<bool> ReadById::Find(OpContext& op, store::Transaction& txn,
                            const store::CollectionInfo& collection, const bson::Value& id,
                            request::OpSummary* summary) {
  RETURN_IF_ERROR(op.CheckInterrupt());
  collection.indexes.front()->state->accesses.fetch_add(1, std::memory_order_relaxed);
  summary->plan = "IDHACK";
  ASSIGN_OR_RETURN(const auto record, store::FindById(txn, collection, id));
  if (!record.has_value()) {
    return false;
  }
  record_ = *record;
  ++summary->keys_examined;
  ASSIGN_OR_RETURN(const bool found, store::Fetch(txn, collection, record_, &value_));
  summary->docs_examined += found ? 1 : 0;
  return found;
}

Result<bool> FindById(const Operation& operation, const std::string& ns,
                      const request::FindRequest& request, request::OpSummary* summary,
                      FoundById* out) {
  const bson::Value id = plan::SimpleId(request.filter);
  if (id.missing() || !AsksForFilterOnly(request)) {
    return false;
  }
  ASSIGN_OR_RETURN(const store::CollectionPtr collection, operation.Find(ns));
  if (collection == nullptr || !ReadById::Suits(*collection) || CurrentOwnership(ns) != nullptr) {
    return false;
  }
  store::Transaction* txn = SessionTransaction(operation);
  if (txn == nullptr) {
    ASSIGN_OR_RETURN(out->txn, operation.BeginRead());
    txn = out->txn.get();
  }
  ASSIGN_OR_RETURN(out->found, out->read.Find(operation.op, *txn, *collection, id, summary));
  return true;
}

}  // namespace quire::engine
