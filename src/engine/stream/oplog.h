// SPDX-License-Identifier: Apache-2.0
//
// local.oplog.rs: the change log in the shape of MongoDB's oplog, for tools that tail it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "exec/operator.h"
#include "store/log/change_log.h"
#include "store/log/change_reader.h"

namespace quire::engine {

// Where a reader with this filter may begin: the least `ts` that it lets through.
bson::Timestamp OplogStart(bson::View filter);

// The entries from a time on, oldest or newest first. A multi-document transaction is one entry
// (applyOps), or several with the same time when it is large. Reading forwards, Next gives false
// when there is nothing now; the next call looks again.
class OplogRows final : public exec::Operator {
 public:
  OplogRows(Engine& engine, bson::Timestamp from, bool backwards);

  Result<bool> Next(OpContext& op, exec::Row* row) override;
  // Whether the log has grown.
  bool HasNews() const;

 private:
  Result<bool> NextForwards();
  Result<bool> NextBackwards();

  Engine& engine_;
  uint64_t from_;
  const bool backwards_;
  std::unique_ptr<store::ChangeReader> reader_;
  std::string before_;                 // backwards: the key of the group read last
  std::vector<bson::Document> group_;  // backwards: its entries, oldest first
  bson::Document entry_;
};

}  // namespace quire::engine
