// SPDX-License-Identifier: Apache-2.0
//
// Rows that are in memory already.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/operator.h"

namespace quire::exec {

// The documents in order; what several sources share is held together.
class Documents final : public Operator {
 public:
  using List = std::vector<bson::Document>;
  explicit Documents(List documents)
      : documents_(std::make_shared<const List>(std::move(documents))) {}
  explicit Documents(std::shared_ptr<const List> documents) : documents_(std::move(documents)) {}

  Result<bool> Next(OpContext& op, Row* row) override;

 private:
  std::shared_ptr<const List> documents_;
  size_t next_ = 0;
};

}  // namespace quire::exec
