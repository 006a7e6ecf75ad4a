// SPDX-License-Identifier: Apache-2.0
//
// The pull interface of query execution. A tree of operators is built for one run; each pulls rows
// from its input.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

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
  // The bytes by which the nearest Sort (or Sample) below put the row into its place, so that who
  // merges such rows need not compute them. Means nothing where there is none below.
  std::string_view sort_key;
  // False for a row of an index that was not fetched: then `document` shows what the index key
  // knows (nothing, when nobody above needs it) and meta.record_id says where the rest is.
  bool fetched = true;
};

// What explain prints of a run.
struct Counters {
  uint64_t returned = 0;
  uint64_t works = 0;
  uint64_t waits = 0;  // steps that gave neither a row nor the end
  uint64_t keys_examined = 0;
  uint64_t docs_examined = 0;
  uint64_t seeks = 0;
  uint64_t dups_tested = 0;
  uint64_t dups_dropped = 0;
  uint64_t already_fetched = 0;
  uint64_t micros = 0;
  uint64_t spills = 0;
  uint64_t spilled_bytes = 0;
  uint64_t memory = 0;        // largest amount held by a blocking operator
  uint64_t sorted_bytes = 0;  // bytes that went through a sort
  bool ended = false;
};

// What an operator answers, from Next or Work, whose rows are not there yet (they are on their way
// from another server): no error, and nothing is lost. Every operator above gives it on and keeps
// its state, so that the tree can be left, and be asked again, on any thread, once whoever feeds it
// says that there is more. Functions given to operators, which open further inputs, may answer it,
// too; they are called again with the same arguments then.
Status NotYet();
bool IsNotYet(const Status& status);

// What one step of an operator gave.
enum class Step {
  kRow,    // a row
  kAgain,  // nothing yet: step again
  kEnd,
};

class Operator {
 public:
  virtual ~Operator() = default;

  // The next row into *row; false at the end. After false or an error other than NotYet it is not
  // called again, except on a tailable source, where false means "nothing yet".
  virtual Result<bool> Next(OpContext& op, Row* row) = 0;

  // Does a bounded piece of the work towards the next row, so that several trees can be run in
  // turns. Operators that cannot stop in between find the whole row.
  virtual Result<Step> Work(OpContext& op, Row* row);

  // Whether it is known, without looking further, that there are no more rows.
  virtual bool AtEnd() const { return false; }

  const Counters& counters() const { return counters_; }

 protected:
  Counters counters_;
};

// An operator written as steps; counts them.
class SteppedOperator : public Operator {
 public:
  Result<bool> Next(OpContext& op, Row* row) final;
  Result<Step> Work(OpContext& op, Row* row) final;

 protected:
  virtual Result<Step> DoWork(OpContext& op, Row* row) = 0;
};

}  // namespace quire::exec
