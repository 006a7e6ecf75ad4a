// SPDX-License-Identifier: Apache-2.0
//
// $densify: rows added where values of a field are missing from a sequence.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/nested_field.h"
#include "exec/sort/sorter.h"
#include "exec/unary.h"
#include "expr/context.h"
#include "expr/date/unit.h"

namespace quire::exec {

struct DensifyOptions {
  enum class Bounds { kFull, kPartition, kExplicit };
  FieldPath field;
  std::vector<FieldPath> partition_fields;
  bson::OwnedValue step;                 // a positive number
  std::optional<expr::date::Unit> unit;  // of dates
  Bounds bounds = Bounds::kFull;
  bson::OwnedValue lower;  // of kExplicit
  bson::OwnedValue upper;
  const expr::Context* context = nullptr;  // outlives the operator
  bool allow_disk = false;
};

// Rows come out by partition, then field; rows without the field first. Sorts through disk when
// allowed. Error 5897900 when more than kMaxGenerated rows would be added.
class Densify final : public Unary {
 public:
  static constexpr size_t kMaxGenerated = 500000;

  Densify(std::unique_ptr<Operator> input, DensifyOptions options)
      : Unary(std::move(input)), options_(std::move(options)) {}

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  // Sorts the input; true when it met a row without the field, which goes out at once.
  Result<bool> ReadInput(OpContext& op, Row* row);
  Status Keep(const Row& row, const bson::Value& key);
  Status CheckKey(const bson::Value& key) const;
  // The next sorted row into pending_; it may begin a partition.
  Status Advance();
  void BeginPartition(bson::Document id, const bson::Value& least, const bson::Value& most);
  // Steps over the value of the sequence that is due: a row with the partition's fields as in `id`.
  // False when there is none below `end`.
  Result<bool> GenerateBelow(const bson::Value& end, bson::View id, Row* row);
  Result<bool> ShowPending(Row* row);
  // The k-th value of the sequence that starts at `start`.
  Result<bson::Value> At(const bson::Value& start, int64_t k) const;
  bson::Document IdOf(bson::View row) const;

  DensifyOptions options_;
  std::unique_ptr<Sorter> sorter_;
  bool read_ = false;
  bson::OwnedValue least_of_all_;
  bson::OwnedValue most_of_all_;

  // The partition that is coming out: its fields, nested as in the rows, and its sequence.
  bson::Document id_;
  bson::OwnedValue least_;
  bson::OwnedValue most_;
  int64_t next_ = 0;  // of the sequence
  bool inside_ = false;
  // The sorted row that comes next.
  Row pending_;
  bson::Document pending_id_;
  bson::Value pending_key_;
  bool more_ = false;

  size_t generated_ = 0;
  std::string document_;
};

}  // namespace quire::exec
