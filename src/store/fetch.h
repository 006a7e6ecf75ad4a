// SPDX-License-Identifier: Apache-2.0
//
// FETCH and IDHACK: from record ids and _id values to documents.
#pragma once

#include "exec/operator.h"
#include "expr/match/match.h"
#include "store/catalog.h"
#include "store/transaction.h"

namespace quire::store {

// The documents of the input's rows, those that match `filter` (may be null). Everything given
// outlives it.
class FetchStage final : public exec::Stage {
 public:
  FetchStage(CollectionPtr collection, Transaction* txn, exec::Operator* input,
             const expr::match::Filter* filter)
      : collection_(std::move(collection)), txn_(txn), input_(input), filter_(filter) {}

 protected:
  Result<exec::Step> DoWork(OpContext& op, exec::Row* row) override;

 private:
  CollectionPtr collection_;
  Transaction* txn_;
  exec::Operator* input_;
  const expr::match::Filter* filter_;
  kv::ReadValue value_;
};

// The one document with that _id. Everything given outlives it.
class IdLookup final : public exec::Stage {
 public:
  IdLookup(CollectionPtr collection, Transaction* txn, const bson::Value& id)
      : collection_(std::move(collection)), txn_(txn), id_(id) {}

 protected:
  Result<exec::Step> DoWork(OpContext& op, exec::Row* row) override;

 private:
  CollectionPtr collection_;
  Transaction* txn_;
  bson::Value id_;
  bool done_ = false;
  kv::ReadValue value_;
};

}  // namespace quire::store
