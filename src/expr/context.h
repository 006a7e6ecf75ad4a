// SPDX-License-Identifier: Apache-2.0
//
// The environment in which filters, expressions and updates of one operation are parsed and run.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::js {
class Scope;
class StoredFunctions;
}  // namespace quire::js

namespace quire::expr {

class Collator;
class ConstantErrors;

// Outlives everything parsed with it. Immutable once parsing starts.
struct Context {
  const Collator* collator = nullptr;  // null: simple binary comparison
  bson::Date now;                      // $$NOW
  bson::Timestamp cluster_time;        // $$CLUSTER_TIME
  // $$USER_ROLES, an array; null: an empty one.
  std::shared_ptr<const bson::Document> user_roles;
  bool has_clock = true;  // false: naming these three is an error
  // The command's `let`: names without "$$", values already evaluated.
  std::vector<std::pair<std::string, bson::OwnedValue>> let;
  // What the operation's scripts share; made when the first of them is parsed (expr/script.h).
  mutable std::shared_ptr<const js::Scope> script_scope;
  const js::StoredFunctions* stored_functions = nullptr;  // for that scope; outlives this
  // Where errors of constants wait while more is parsed; null: they end the parse where they are.
  mutable ConstantErrors* constant_errors = nullptr;
};

// While one stands, a constant expression whose value is an error does not end the parse, so that
// what is wrong in form anywhere in a request is told first. What is parsed meanwhile may not be
// used when there was such an error. Within another one of the same context it does nothing.
class ConstantErrors {
 public:
  explicit ConstantErrors(const Context* context)
      : context_(context != nullptr && context->constant_errors == nullptr ? context : nullptr) {
    if (context_ != nullptr) {
      context_->constant_errors = this;
    }
  }
  ~ConstantErrors() {
    if (context_ != nullptr) {
      context_->constant_errors = nullptr;
    }
  }
  ConstantErrors(const ConstantErrors&) = delete;
  ConstantErrors& operator=(const ConstantErrors&) = delete;

  // The first error that was met; Ok when there was none, or an outer one of the context has it.
  const Status& first() const { return first_; }
  void Add(const Status& error) {
    if (first_.ok()) {
      first_ = error;
    }
  }

 private:
  const Context* const context_;
  Status first_;
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
