// SPDX-License-Identifier: Apache-2.0
//
// $group: one row per distinct value of an expression, with accumulated fields.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/memory_charge.h"
#include "exec/evaluation.h"
#include "exec/group/group_table.h"
#include "exec/sort/sorter.h"
#include "exec/unary.h"
#include "expr/accumulate/accumulator.h"

namespace quire::exec {

// Everything it points to outlives the operator.
struct GroupOptions {
  // The rows are what Groups of the same fields gave as partial states, and are merged.
  bool merges_partials = false;
  // Gives partial states instead of results: rows {_id, <name>: <part of the field's state>}. A
  // group whose states have several parts gives several rows, none of them near 16 MB unless a
  // single value of a document was.
  bool gives_partials = false;
  const expr::agg::Expression* id = nullptr;  // not looked at when merging
  struct Field {
    std::string name;
    const expr::Accumulator* accumulator;
  };
  std::vector<Field> fields;
  const expr::Context* context = nullptr;
  bool allow_disk = false;
  // What stands for a key that is an empty document: {name: null} of a key with one field, whose
  // value is missing. Empty: the key itself.
  bson::View empty_key;
};

// Groups come out in the order in which they were first seen. When memory does not suffice, their
// states go to disk, all are merged there in the end, and come out by a hash of their keys; without
// disk, error 292.
class Group final : public Unary {
 public:
  Group(std::unique_ptr<Operator> input, GroupOptions options);

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  struct State {
    bson::OwnedValue id;
    std::vector<std::unique_ptr<expr::Accumulation>> fields;
    size_t memory = 0;
  };
  // Whether what is read now are partial states.
  bool Merges() const { return options_.merges_partials || merges_spilled_; }
  Result<bson::Value> KeyOf(const Row& row);
  Status ReadInput(OpContext& op);
  // Merges the states on disk that share the next hash.
  Status ReadSpilled(OpContext& op);
  // Adds the row to its group.
  Status Add(const Row& row);
  Result<State*> NewState(const bson::Value& id);
  // Lets one accumulated field of a group take the row in.
  Status Take(const Row& row, size_t field, expr::Accumulation* state);
  // Sends the states held to disk.
  Status Spill(OpContext& op);
  Status Show(const State& state, Row* row);
  // The next row of the group's partial states; whether it is the last of them.
  Result<bool> ShowPartial(State& state, Row* row);
  void Clear();

  GroupOptions options_;
  Evaluation evaluation_;
  GroupTable table_;
  std::deque<State> states_;
  size_t next_ = 0;
  size_t memory_ = 0;
  MemoryCharge charge_;
  bool read_ = false;
  std::unique_ptr<Sorter> spilled_;
  bool merges_spilled_ = false;  // everything is read, and partly on disk
  bool more_spilled_ = false;
  Row pending_;  // first row of the next group on disk
  uint64_t pending_hash_ = 0;
  Arena arena_;
  std::string document_;
  // Of the group whose partial states are being shown: what is left of each field's.
  std::vector<std::deque<bson::Value>> parts_;
};

}  // namespace quire::exec
