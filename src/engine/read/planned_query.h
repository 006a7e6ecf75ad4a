// SPDX-License-Identifier: Apache-2.0
//
// A query from the request's bytes to its rows.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "engine/read/stored_functions.h"
#include "plan/plan.h"

namespace quire::engine {

// A query with everything it owns: the request's bytes, the parsed parts, the plan, and, outside
// multi-document transactions, the storage transaction it reads through.
class PlannedQuery {
 public:
  // Parses and plans. What `spec` borrows from the request is copied; its context, when it has one,
  // outlives the query. `txn` is the transaction to read through; null: one of its own is begun.
  static Result<std::unique_ptr<PlannedQuery>> Make(const Operation& operation,
                                                    plan::QuerySpec spec, store::Transaction* txn);

  Result<bool> Next(OpContext& op, exec::Row* row);
  // Whether Next is known to have given its last row.
  bool AtEnd() const { return root_ != nullptr && root_->AtEnd(); }
  const plan::Plan& plan() const { return *plan_; }
  const expr::match::Filter& filter() const { return *filter_; }
  const expr::Context& context() const { return *query_.context; }
  const expr::Projection* projection() const { return projection_.get(); }
  store::Transaction& transaction() { return *txn_; }

 private:
  explicit PlannedQuery(plan::QuerySpec spec) : query_(std::move(spec)) {}
  // Copies what query_ borrows, and fills in what it means.
  Status Parse(const Operation& operation);
  Status MakeContext(const Operation& operation);

  // Members below are declared so that each is destroyed before what it refers to.
  bson::Document filter_spec_;
  bson::Document sort_spec_;
  bson::Document projection_spec_;
  bson::Document min_;
  bson::Document max_;
  bson::OwnedValue hint_;
  bson::Document allowed_indexes_;
  std::shared_ptr<const expr::Collator> collator_;
  std::optional<SystemJs> stored_functions_;
  expr::Context own_context_;
  std::unique_ptr<expr::match::Filter> filter_;
  expr::SortPattern sort_;
  std::unique_ptr<expr::Projection> projection_;
  plan::QuerySpec query_;  // once parsed, of the members above
  std::unique_ptr<store::Transaction> own_txn_;
  store::Transaction* txn_ = nullptr;
  std::unique_ptr<plan::Plan> plan_;
  exec::Operator* root_ = nullptr;
};

// The collation an operation runs under: its own, or the collection's.
Result<std::shared_ptr<const expr::Collator>> CollatorOf(bson::View spec,
                                                         const store::CollectionInfo* collection);

// Where a read that lasts longer than one call reads from: the session's transaction, or null.
store::Transaction* SessionTransaction(const Operation& operation);

}  // namespace quire::engine
