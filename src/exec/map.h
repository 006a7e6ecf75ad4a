// SPDX-License-Identifier: Apache-2.0
//
// The map of mapReduce: a script turns each document into any number of pairs.
#pragma once

#include <memory>
#include <string>

#include "exec/unary.h"
#include "js/script.h"

namespace quire::exec {

// Rows {k: <key>, v: <value>}, one per emit. What one document emits is limited as a stage's
// memory is. `map` outlives the operator.
class Map final : public Unary {
 public:
  Map(std::unique_ptr<Operator> input, const js::Function* map);

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  Status Call(OpContext& op, bson::View document);

  const js::Function& map_;
  std::string pairs_;  // what the last document emitted, one after the other
  size_t next_ = 0;    // where the first begins that was not given out
};

}  // namespace quire::exec
