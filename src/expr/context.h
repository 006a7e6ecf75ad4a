// SPDX-License-Identifier: Apache-2.0
//
// The environment in which filters, expressions and updates of one operation are parsed and run.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "quire/bson.h"

namespace quire::js {
class Scope;
class StoredFunctions;
}  // namespace quire::js

namespace quire::expr {

class Collator;

// Outlives everything parsed with it. Immutable once parsing starts.
struct Context {
  const Collator* collator = nullptr;  // null: simple binary comparison
  bson::Date now;                      // $$NOW
  bson::Timestamp cluster_time;        // $$CLUSTER_TIME
  bool has_clock = true;               // false: naming these two is an error
  // The command's `let`: names without "$$", values already evaluated.
  std::vector<std::pair<std::string, bson::OwnedValue>> let;
  // What the operation's scripts share; made when the first of them is parsed (expr/script.h).
  mutable std::shared_ptr<const js::Scope> script_scope;
  const js::StoredFunctions* stored_functions = nullptr;  // for that scope; outlives this
};

// What is known of a row beside its document; read by {$meta: ...}.
struct Metadata {
  double text_score = 0;
  bool has_text_score = false;
  double geo_distance = 0;
  bool has_geo_distance = false;
  bson::Value geo_point;
  bson::Value sort_key;   // array of the sort key's parts
  bson::Value index_key;  // document, for returnKey
  int64_t record_id = 0;
  bool has_record_id = false;
  double score = 0;
  bool has_score = false;
  bson::Value score_details;  // document
};

}  // namespace quire::expr
