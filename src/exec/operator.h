// SPDX-License-Identifier: Apache-2.0
//
// The pull interface of query execution. A tree of operators is built for one run; each pulls rows
// from its input.
#pragma once

#include <cstdint>
#include <memory>

#include "base/op_context.h"
#include "expr/context.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::exec {

// One row on its way up: a document in place and what is known beside it. Valid until the next
// call of Next on the operator that gave it.
struct Row {
  bson::View document;
  expr::Metadata meta;
};

// What explain prints of a run.
struct Counters {
  uint64_t returned = 0;
  uint64_t works = 0;
  uint64_t keys_examined = 0;
  uint64_t docs_examined = 0;
  uint64_t seeks = 0;
  uint64_t dups_dropped = 0;
  uint64_t micros = 0;
  uint64_t spills = 0;
  uint64_t memory = 0;  // largest amount held by a blocking operator
};

class Operator {
 public:
  virtual ~Operator() = default;

  // The next row into *row; false at the end. After false or an error it is not called again,
  // except on a tailable source, where false means "nothing yet".
  virtual Result<bool> Next(OpContext& op, Row* row) = 0;

  const Counters& counters() const { return counters_; }

 protected:
  Counters counters_;
};

}  // namespace quire::exec
