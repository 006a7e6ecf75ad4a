// SPDX-License-Identifier: Apache-2.0
//
// One query on one collection: what a request asks for, filled once, and what its parts mean once
// they are parsed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "exec/sharding_filter.h"
#include "expr/context.h"
#include "expr/match/match.h"
#include "expr/projection/projection.h"
#include "expr/sort/sort_key.h"
#include "quire/bson.h"
#include "store/catalog.h"

namespace quire::plan {

// Everything it points to outlives what is made from it.
struct QuerySpec {
  store::CollectionPtr collection;  // null: there is no such collection

  // As the request has them.
  bson::View filter_spec;  // {_id: 5} and {_id: {$eq: 5}} plan differently
  bson::View sort_spec;
  bson::View projection_spec;
  bson::Value hint;  // missing, a name, or a key pattern
  bson::View min;    // empty when not given
  bson::View max;
  bson::View collation;
  bson::View let;
  int64_t skip = 0;
  int64_t limit = 0;  // 0: none
  bool return_key = false;
  bool show_record_id = false;
  bool tailable = false;
  bool allow_disk_use = false;
  // Whether the command knows $$NOW and $$CLUSTER_TIME: count and distinct do not.
  bool has_clock = true;

  // What the rows are for.
  // Only the number of rows matters: the plan may leave documents unfetched (count).
  bool count_only = false;
  // Distinct values of this path are wanted (distinct, $group on an indexed key); "" otherwise.
  std::string distinct_path;
  // The projection only names what is wanted: rows that hold more will do.
  bool projection_optional = false;
  // Nothing of the documents is read, only how many there are: they may stay unfetched.
  bool no_fields = false;
  // What reads the rows may ask for the text score.
  bool wants_text_score = false;
  // What reads the rows asks for the index key of each.
  bool wants_index_key = false;
  // Rows carry the bytes by which they are sorted (exec::Row::sort_key), also where an index gives
  // the order.
  bool wants_sort_key = false;
  // On a shard, for a router: the rows that it may see. Null: all.
  std::shared_ptr<const exec::Ownership> ownership;
  // The rows must carry documents as stored with their record ids (update, delete).
  bool for_write = false;
  // "UPDATE" or "DELETE": what explain shows above the plan; "" otherwise.
  std::string_view write_stage;
  // That stage gives the document it changed (findAndModify), shown through this projection.
  bool write_returns = false;
  bson::View write_fields;
  // The command inserts a document when there is none to change.
  bool write_upserts = false;
  // The hint may name an index that is hidden from users' queries.
  bool hint_hidden = false;
  // Chosen by trial, whatever the plan cache says, with the plans that lost.
  bool explain = false;
  // What of the pipeline it begins is part of the shape that explain shows.
  std::string explained_stages;

  // Where a scan begins.
  // A scan goes on after this record. In a capped collection CappedPositionLost when it is gone.
  bool has_scan_after = false;
  store::RecordId scan_after = 0;
  // Makes what a scan reads where the collection has no table (the oplog, system.views); null
  // where it has one.
  std::function<std::unique_ptr<exec::Operator>(bool backward)> rows = nullptr;

  // Parsed, by whoever plans it (engine::PlannedQuery).
  // A context given beforehand is the one to parse in; else one is made from collation and let.
  const expr::Context* context = nullptr;
  const expr::match::Filter* filter = nullptr;
  const expr::SortPattern* sort = nullptr;       // may be null
  const expr::Projection* projection = nullptr;  // may be null
  // Names, key patterns, {$natural: 1}: what query settings allow, before any hint, as long as
  // there is a plan with it. Empty: everything.
  bson::View allowed_indexes;
};

}  // namespace quire::plan
