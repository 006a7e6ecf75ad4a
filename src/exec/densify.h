// SPDX-License-Identifier: Apache-2.0
//
// $densify: rows added where values of a field are missing from a sequence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "exec/documents.h"
#include "exec/nested_field.h"
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
};

// Rows come out by partition, then field; rows without the field first. Error 5897900 when more
// than kMaxGenerated rows would be added.
class Densify final : public Unary {
 public:
  static constexpr size_t kMaxGenerated = 500000;

  Densify(std::unique_ptr<Operator> input, DensifyOptions options)
      : Unary(std::move(input)), options_(std::move(options)) {}

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  struct Item {
    bson::Value key;
    const bson::Document* document;
  };
  struct Group {
    bson::Document id;  // the partition fields, nested as in the rows
    std::vector<Item> items;
  };

  Status ReadInput(OpContext& op);
  Status CheckKey(const bson::Value& key) const;
  Status FillGroup(Group& group, const bson::Value& least, const bson::Value& most);
  // The k-th value of the sequence that starts at `start`.
  Result<bson::Value> At(const bson::Value& start, int64_t k) const;
  Status Generate(const Group& group, const bson::Value& value);
  bson::Document IdOf(bson::View row) const;

  DensifyOptions options_;
  bool read_ = false;
  Documents::List input_rows_;
  Documents::List output_;
  size_t generated_ = 0;
  size_t next_ = 0;
};

}  // namespace quire::exec
