// SPDX-License-Identifier: Apache-2.0
//
// From a query to the operators that answer it: candidate plans from the usable indexes, a choice
// by trial, and explain, which prints the plan that is really run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/op_context.h"
#include "exec/operator.h"
#include "expr/context.h"
#include "expr/match/match.h"
#include "expr/projection/projection.h"
#include "expr/sort/sort_key.h"
#include "quire/bson.h"
#include "store/catalog.h"
#include "store/transaction.h"

namespace quire::plan {

// What a query asks for beside its filter, sort and projection.
struct QueryOptions {
  // The projection only names what is wanted: rows that hold more will do.
  bool projection_optional = false;
  // Nothing of the documents is read, only how many there are: they may stay unfetched.
  bool no_fields = false;
  int64_t skip = 0;
  int64_t limit = 0;  // 0: none
  bool return_key = false;
  bool show_record_id = false;
  bool tailable = false;
  bool allow_disk_use = false;
  // What reads the rows may ask for the text score.
  bool wants_text_score = false;
  // What reads the rows asks for the index key of each.
  bool wants_index_key = false;
  // Only the number of rows matters: the plan may leave documents unfetched (count).
  bool count_only = false;
  // Distinct values of this path are wanted (distinct, $group on an indexed key); "" otherwise.
  std::string distinct_path;
  // The rows must carry documents as stored with their record ids (update, delete).
  bool for_write = false;
  // "UPDATE" or "DELETE": what explain shows above the plan; "" otherwise.
  std::string_view write_stage;
  // That stage gives the document it changed (findAndModify), shown through this projection.
  bool write_returns = false;
  bson::View write_fields;
  // It inserts a document when there is none to change.
  bool write_upserts = false;
  // The hint may name an index that is hidden from users' queries.
  bool hint_hidden = false;
  // Chosen by trial, whatever the plan cache says, with the plans that lost.
  bool explain = false;
  // A scan goes on after this record. In a capped collection CappedPositionLost when it is gone.
  bool has_scan_after = false;
  store::RecordId scan_after = 0;
  // Makes what a scan reads where the collection has no table (the oplog, system.views); null
  // where it has one.
  std::function<std::unique_ptr<exec::Operator>(bool backward)> rows = nullptr;
};

// One query on one collection. Everything it points to outlives the plan and its operators.
struct Query : QueryOptions {
  store::CollectionPtr collection;  // null: there is no such collection
  const expr::Context* context = nullptr;
  const expr::match::Filter* filter = nullptr;
  bson::View filter_spec;  // as the user wrote it: {_id: 5} and {_id: {$eq: 5}} plan differently
  const expr::SortPattern* sort = nullptr;       // may be null
  const expr::Projection* projection = nullptr;  // may be null
  bson::View sort_spec;                          // as the user wrote it, for explain
  bson::View projection_spec;
  bson::Value hint;  // missing, a name, or a key pattern
  // Names, key patterns, {$natural: 1}: what query settings allow, before any hint, as long as
  // there is a plan with it. Empty: everything.
  bson::View allowed_indexes;
  bson::View min;  // empty when not given
  bson::View max;
};

// The plan of one query: pure data, plus the operators once opened. Use by one thread at a time.
class Plan {
 public:
  virtual ~Plan() = default;

  // The operator tree of the chosen plan, reading through `txn`, which outlives it. Once only.
  virtual Result<exec::Operator*> Open(store::Transaction& txn) = 0;

  // The fields of explain's queryPlanner / executionStats, appended to `out`. The latter REQUIRES
  // the run to have ended; `verbosity` "allPlansExecution" adds the trials.
  virtual void ExplainPlanner(bson::Builder* out) const = 0;
  virtual void ExplainExecution(std::string_view verbosity, bson::Builder* out) const = 0;
  // "IXSCAN { a: 1 }", "COLLSCAN", "IDHACK"... for logs and $currentOp.
  virtual std::string Summary() const = 0;
  // Totals over the whole tree.
  virtual exec::Counters Totals() const = 0;
};

// Chooses a plan; may run candidates on the data for a while. Errors: BadValue for a bad hint,
// NoQueryExecutionPlans...
Result<std::unique_ptr<Plan>> MakePlan(OpContext& op, const Query& query, store::Transaction& txn);

}  // namespace quire::plan
