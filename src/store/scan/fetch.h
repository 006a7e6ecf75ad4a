// SPDX-License-Identifier: Apache-2.0
//
// FETCH and IDHACK: from record ids and _id values to documents.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "exec/operator.h"
#include "expr/match/match.h"
#include "store/catalog.h"
#include "store/transaction.h"

namespace quire::store {

// How many documents to read together: more and more of them, unless they are large.
class BatchSize {
 public:
  size_t rows() const { return rows_; }
  // What the last batch held.
  void Adjust(const std::vector<kv::ReadValue>& values, const std::vector<bool>& found);

 private:
  size_t rows_ = 4;
};

// The documents of the input's rows, those that match `filter` (may be null). Takes up to
// `ahead` rows of the input in advance to read their documents together. Everything given outlives
// it.
class FetchStage final : public exec::SteppedOperator {
 public:
  FetchStage(CollectionPtr collection, Transaction* txn, exec::Operator* input,
             const expr::match::Filter* filter, size_t ahead)
      : collection_(std::move(collection)),
        txn_(txn),
        input_(input),
        filter_(filter),
        ahead_(ahead) {}
  bool AtEnd() const override { return next_ == rows_.size() && input_->AtEnd(); }

 protected:
  Result<exec::Step> DoWork(OpContext& op, exec::Row* row) override;

 private:
  // Takes rows of the input and reads their documents. kRow when there are any.
  Result<exec::Step> Fill(OpContext& op);
  Status ReadDocuments();

  CollectionPtr collection_;
  Transaction* txn_;
  exec::Operator* input_;
  const expr::match::Filter* filter_;
  size_t ahead_;
  BatchSize batch_;
  bool input_ended_ = false;
  std::vector<exec::Row> rows_;  // taken from the input; those from next_ on are still to be given
  size_t next_ = 0;
  std::vector<RecordId> ids_;
  std::vector<kv::ReadValue> values_;  // the documents of rows_
  std::vector<bool> found_;
};

// The one document with that _id. Everything given outlives it.
class IdLookup final : public exec::SteppedOperator {
 public:
  IdLookup(CollectionPtr collection, Transaction* txn, const bson::Value& id)
      : collection_(std::move(collection)), txn_(txn), id_(id) {}
  bool AtEnd() const override { return done_; }

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
