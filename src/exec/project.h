// SPDX-License-Identifier: Apache-2.0
//
// Stages that change what a row shows.
#pragma once

#include <string>

#include "exec/operator.h"
#include "expr/projection/projection.h"

namespace quire::exec {

// Applies a projection and, if asked, adds the field $recordId. `input` and `projection` (may be
// null) outlive it.
class Project final : public Stage {
 public:
  Project(Operator* input, const expr::Projection* projection, bool show_record_id)
      : input_(input), projection_(projection), show_record_id_(show_record_id) {}

 protected:
  Result<Step> DoWork(OpContext& op, Row* row) override;

 private:
  Operator* input_;
  const expr::Projection* projection_;
  bool show_record_id_;
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
