// SPDX-License-Identifier: Apache-2.0
//
// OR and SORT_MERGE: rows of several inputs.
#pragma once

#include <deque>
#include <string>
#include <unordered_set>
#include <vector>

#include "exec/kept_row.h"
#include "exec/operator.h"
#include "expr/sort/sort_key.h"

namespace quire::exec {

// What is done about a row that another input, or the same, has given before.
enum class Repeated {
  kGive,
  kDrop,  // known by their record ids: rows carry them, and all are of one collection
};

// One input after the other. Everything given outlives it.
class Or final : public SteppedOperator {
 public:
  Or(std::vector<Operator*> inputs, Repeated repeated)
      : inputs_(std::move(inputs)), repeated_(repeated) {}

 protected:
  Result<Step> DoWork(OpContext& op, Row* row) override;

 private:
  std::vector<Operator*> inputs_;
  const Repeated repeated_;
  size_t current_ = 0;
  std::unordered_set<int64_t> seen_;
};

// Sorted inputs, merged. Everything given outlives it.
class SortMerge final : public SteppedOperator {
 public:
  // Sorted by the pattern.
  SortMerge(std::vector<Operator*> inputs, const expr::SortPattern* pattern,
            const expr::Context* context, Repeated repeated);
  // Rows carry the keys by which they are sorted (Row::sort_key). Of equal keys the row of the
  // input that stands first comes first, and every row is given.
  explicit SortMerge(std::vector<Operator*> inputs);

 protected:
  Result<Step> DoWork(OpContext& op, Row* row) override;

 private:
  struct Input {
    Operator* op = nullptr;
    size_t place = 0;
  };
  // The next row of an input, kept while others are looked at.
  struct Head {
    Input input;
    KeptRow row;
  };
  // Looks for the next row of an input whose is not known.
  Result<Step> TakeIn(OpContext& op, Row* row);
  void AddHead(Head head);

  const expr::SortPattern* pattern_ = nullptr;  // null: rows carry their keys
  const expr::Context* context_ = nullptr;
  const Repeated repeated_;
  std::deque<Input> empty_;  // inputs whose next row is not known
  std::vector<Head> heads_;
  Head current_;
  std::unordered_set<int64_t> seen_;
  std::string key_;
};

}  // namespace quire::exec
