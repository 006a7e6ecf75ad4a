// SPDX-License-Identifier: Apache-2.0
//
// IXSCAN, COUNT_SCAN and DISTINCT_SCAN: the entries of an index within bounds.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "exec/operator.h"
#include "expr/match/node.h"
#include "store/catalog.h"
#include "store/keys/key_bounds.h"
#include "store/transaction.h"

namespace quire::store {

struct IndexScanOptions {
  const IndexInfo* index = nullptr;
  bool backward = false;
  KeyBounds bounds;
  // In place of bounds: keys from `begin` to before `end` (empty: to the last one).
  bool range = false;
  std::string begin;
  std::string end;
  // Keys that match only; may be null. Asked of the key's values, so only predicates that need
  // nothing else are allowed.
  const expr::match::Node* filter = nullptr;
  // Row::document shows the key's values as a document, dotted paths as documents in it.
  bool show_key = false;
  // meta.index_key is the key with the pattern's field names.
  bool return_key = false;
  // Each document once, though several of its keys are within the bounds.
  bool dedup = false;
  // One row for each combination of values of the parts up to this one.
  std::optional<size_t> distinct_part;
  // The key's term counts for so much: rows carry the score of this part of a text index.
  std::optional<size_t> score_part;
  // Counts as MongoDB's count scan does: finding the end is one more key.
  bool count = false;
};

// `txn` and what the options point to outlive it.
class IndexScan final : public exec::SteppedOperator {
 public:
  IndexScan(Transaction* txn, IndexScanOptions options);

 protected:
  Result<exec::Step> DoWork(OpContext& op, exec::Row* row) override;

 private:
  enum class State { kStart, kNext, kSeek, kEnd };

  Result<bool> Advance();
  Result<bool> Open();
  Result<bool> SeekTarget();
  bool Wanted(exec::Row* row);
  exec::Step End();

  Transaction* txn_;
  IndexScanOptions options_;
  BoundsChecker checker_;
  std::unique_ptr<kv::Cursor> cursor_;
  State state_ = State::kStart;
  bool checked_ = false;  // not one range: each key is compared with the bounds
  std::string target_;    // where to seek, with the table's prefix
  std::unordered_set<RecordId> seen_;
  bson::Document key_;
  std::string shown_;
};

// The values of a key, {"a.b": 1}, as a document: {a: {b: 1}}. Appended to *out.
void ExpandKey(bson::View key, std::string* out);

}  // namespace quire::store
