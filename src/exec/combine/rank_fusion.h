// SPDX-License-Identifier: Apache-2.0
//
// $rankFusion: the rows of several ranked sources, each document once, by the sum of what its ranks
// are worth (reciprocal rank fusion).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/combine/union_with.h"
#include "exec/sort/sorter.h"
#include "exec/unary.h"
#include "expr/context.h"
#include "expr/sort/sort_key.h"

namespace quire::exec {

struct RankedSource {
  std::string name;
  double weight = 1;
  // Rows that compare equal share a rank. Null: by the distance of $near.
  const expr::SortPattern* order = nullptr;
  SourceFactory open;  // null: the operator's input
};

struct RankFusionOptions {
  std::vector<RankedSource> sources;  // the first reads the input
  const expr::Context* context = nullptr;
  bool details = false;  // rows tell how their score came about
  bool allow_disk = false;
};

// Rows have a score, best first, and by _id where scores are equal. What does not fit in memory
// goes to disk; without disk, error 292.
class RankFusion final : public Unary {
 public:
  RankFusion(std::unique_ptr<Operator> input, RankFusionOptions options);

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  // One document and its rank in each source; 0: the source did not give it.
  struct Found {
    bson::Document document;
    std::vector<int64_t> ranks;
  };

  Status ReadAll(OpContext& op);
  Status ReadSource(OpContext& op, Operator& rows);
  // Takes the rows of one _id together.
  Status Merge(OpContext& op);
  Status AddScored(const Found& found);
  double ScoreOf(const std::vector<int64_t>& ranks) const;
  bson::Document DetailsOf(double score, bson::View ranks) const;

  RankFusionOptions options_;
  size_t source_ = 0;               // the one that is read
  std::unique_ptr<Operator> rows_;  // of it, unless it is the input; null: not opened
  int64_t position_ = 1;            // of its next row
  int64_t rank_ = 0;                // of its last row
  std::string last_key_;
  std::unique_ptr<Sorter> by_id_;
  std::unique_ptr<Sorter> by_score_;
  bool read_ = false;
  bson::Document details_;
};

}  // namespace quire::exec
