// SPDX-License-Identifier: Apache-2.0
//
// $bucketAuto: rows in order of an expression, cut into buckets of about equal size.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/evaluation.h"
#include "exec/group/group.h"
#include "exec/group/preferred_numbers.h"
#include "exec/sort/sorter.h"
#include "exec/unary.h"

namespace quire::exec {

// `base.id` is the expression rows are ordered by.
struct BucketAutoOptions {
  GroupOptions base;
  int32_t buckets = 1;
  const NumberSeries* series = nullptr;  // rounds boundaries; null: none
};

// Rows beyond the memory limit go to disk; without disk, error 292.
class BucketAuto final : public Unary {
 public:
  BucketAuto(std::unique_ptr<Operator> input, BucketAutoOptions options);

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  struct Bucket {
    bson::OwnedValue min;
    bson::OwnedValue max;
    std::vector<std::unique_ptr<expr::Accumulation>> fields;
  };

  Status ReadInput(OpContext& op);
  Status MakeBuckets();
  Status StartBucket(const bson::Value& min);
  // Puts the row at hand into the last bucket and takes the next one.
  Status AddPending();
  Status NextPending();
  int Compare(const bson::Value& a, const bson::Value& b) const;
  // Errors 40258, 40259, 40260 for what a granularity cannot round.
  Status CheckGranularity(const bson::Value& value) const;
  bson::OwnedValue Rounded(const bson::Value& value, bool up) const;
  Status Show(Bucket& bucket, Row* row);

  BucketAutoOptions options_;
  Evaluation evaluation_;
  std::unique_ptr<Sorter> sorter_;
  size_t rows_ = 0;
  bool more_ = false;
  Row pending_;  // the first row in no bucket, and its value
  bson::OwnedValue value_;
  std::vector<Bucket> buckets_;
  size_t next_ = 0;
  bool read_ = false;
  Arena arena_;
  std::string document_;
};

}  // namespace quire::exec
