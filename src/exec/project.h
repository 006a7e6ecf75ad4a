// SPDX-License-Identifier: Apache-2.0
//
// Stages that change what a row shows.
#pragma once

#include <string>

#include "exec/operator.h"
#include "expr/projection/projection.h"
#include "expr/sort/sort_key.h"

namespace quire::exec {

// What {$meta: "sortKey"} shows. Both outlive the stage.
struct SortKeySource {
  const expr::SortPattern* pattern = nullptr;  // null: nobody asks for the sort key
  const expr::Context* context = nullptr;
};

// Applies a projection and, if asked, adds the field $recordId. `input` and `projection` (may be
// null) outlive it.
class Project final : public Stage {
 public:
  Project(Operator* input, const expr::Projection* projection, bool show_record_id,
          SortKeySource sort_key = {})
      : input_(input),
        projection_(projection),
        show_record_id_(show_record_id),
        sort_key_(sort_key) {}

 protected:
  Result<Step> DoWork(OpContext& op, Row* row) override;

 private:
  Status AddSortKey(Row* row);

  Operator* input_;
  const expr::Projection* projection_;
  bool show_record_id_;
  SortKeySource sort_key_;
  bson::Document sort_key_values_;
  std::string projected_;
  std::string with_id_;
};

// Shows the index key in place of the document; an empty document for rows of no index.
class ReturnKey final : public Stage {
 public:
  explicit ReturnKey(Operator* input) : input_(input) {}

 protected:
  Result<Step> DoWork(OpContext& op, Row* row) override;

 private:
  Operator* input_;
};

}  // namespace quire::exec
