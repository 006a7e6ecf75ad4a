// SPDX-License-Identifier: Apache-2.0
//
// Stages that change what a row shows.
#pragma once

#include <cstdint>
#include <string>

#include "base/memory_charge.h"
#include "bson/compare.h"
#include "exec/operator.h"
#include "exec/stepped_over.h"
#include "expr/projection/projection.h"
#include "expr/sort/sort_key.h"

namespace quire::exec {

// What {$meta: "sortKey"} shows. Both outlive the stage.
struct SortKeySource {
  const expr::SortPattern* pattern = nullptr;  // null: nobody asks for the sort key
  const expr::Context* context = nullptr;
};

// What showRecordId shows.
enum class RecordIds : uint8_t {
  kNone,
  kNumber,
  kClusterKey,  // of a clustered collection: the document's _id as its key tells it
};

// Applies a projection and, if asked, adds the field $recordId. `input` and `projection` (may be
// null) outlive it; `cluster_collation` is the clustered index's.
class Project final : public SteppedOver {
 public:
  Project(Operator* input, const expr::Projection* projection, RecordIds record_ids,
          SortKeySource sort_key = {}, const bson::StringCompare* cluster_collation = nullptr)
      : SteppedOver(input),
        projection_(projection),
        record_ids_(record_ids),
        sort_key_(sort_key),
        cluster_collation_(cluster_collation) {}
  bool AtEnd() const override { return input_->AtEnd(); }

 protected:
  Result<Step> DoWork(OpContext& op, Row* row) override;

 private:
  Status AddSortKey(Row* row);
  // Takes down what $recordId shows, before the projection leaves it out.
  void NoteRecordId(const Row& row);

  const expr::Projection* projection_;
  RecordIds record_ids_;
  SortKeySource sort_key_;
  const bson::StringCompare* cluster_collation_;
  bson::Document record_id_;
  bson::Document sort_key_values_;
  std::string projected_;
  std::string with_id_;
  MemoryCharge charge_;
};

// Shows the index key in place of the document; an empty document for rows of no index.
class ReturnKey final : public SteppedOver {
 public:
  explicit ReturnKey(Operator* input) : SteppedOver(input) {}
  bool AtEnd() const override { return input_->AtEnd(); }

 protected:
  Result<Step> DoWork(OpContext& op, Row* row) override;
};

}  // namespace quire::exec
