// SPDX-License-Identifier: Apache-2.0
//
// OR and SORT_MERGE: rows of several inputs, each document once.
#pragma once

#include <deque>
#include <string>
#include <unordered_set>
#include <vector>

#include "exec/operator.h"
#include "expr/sort/sort_key.h"

namespace quire::exec {

// One input after the other. Rows carry record ids. Everything given outlives it.
class Or final : public Stage {
 public:
  explicit Or(std::vector<Operator*> inputs) : inputs_(std::move(inputs)) {}

 protected:
  Result<Step> DoWork(OpContext& op, Row* row) override;

 private:
  std::vector<Operator*> inputs_;
  size_t current_ = 0;
  std::unordered_set<int64_t> seen_;
};

// Inputs that are sorted by the pattern, merged. Rows carry record ids. Everything given outlives
// it.
class SortMerge final : public Stage {
 public:
  SortMerge(std::vector<Operator*> inputs, const expr::SortPattern* pattern,
            const expr::Context* context);

 protected:
  Result<Step> DoWork(OpContext& op, Row* row) override;

 private:
  // The next row of an input, kept while others are looked at.
  struct Head {
    Operator* input = nullptr;
    std::string key;
    std::string document;
    std::string index_key;
    Row row;
  };
  Status Keep(const Row& row, Head* head);

  const expr::SortPattern* pattern_;
  const expr::Context* context_;
  std::deque<Operator*> empty_;  // inputs whose next row is not known
  std::vector<Head> heads_;
  Head current_;
  std::unordered_set<int64_t> seen_;
};

}  // namespace quire::exec
