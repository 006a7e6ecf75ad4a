// SPDX-License-Identifier: Apache-2.0
//
// TEXT_OR: the documents that have any of several terms, with the sum of the terms' scores.
#pragma once

#include <unordered_map>
#include <vector>

#include "exec/operator.h"
#include "expr/match/match.h"
#include "store/catalog.h"
#include "store/scan/fetch.h"
#include "store/transaction.h"

namespace quire::store {

// Reads its inputs (scans of a text index, one per term, whose rows carry the term's score) to the
// end, then gives each document once, in the order in which they were met, if it matches `filter`
// (may be null). Everything given outlives it.
class TextOr final : public exec::SteppedOperator {
 public:
  TextOr(CollectionPtr collection, Transaction* txn, std::vector<exec::Operator*> inputs,
         const expr::match::Filter* filter)
      : collection_(std::move(collection)),
        txn_(txn),
        inputs_(std::move(inputs)),
        filter_(filter) {}

 protected:
  Result<exec::Step> DoWork(OpContext& op, exec::Row* row) override;

 private:
  Result<exec::Step> Gather(OpContext& op, exec::Row* row);
  // Reads the documents of the next ids together.
  Status ReadBatch();

  CollectionPtr collection_;
  Transaction* txn_;
  std::vector<exec::Operator*> inputs_;
  const expr::match::Filter* filter_;
  size_t input_ = 0;
  std::unordered_map<RecordId, double> scores_;
  std::vector<RecordId> order_;
  size_t next_ = 0;
  BatchSize batch_;
  size_t batch_begin_ = 0;  // where in `order_` the documents at hand begin
  std::vector<kv::ReadValue> values_;
  std::vector<bool> found_;
};

}  // namespace quire::store
