// SPDX-License-Identifier: Apache-2.0
//
// Updates: operator documents, replacements and pipelines, parsed once and applied to a document's
// bytes.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "expr/context.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::update {

// What one application did.
struct Outcome {
  bool modified = false;  // false: the document is as it was, `*out` was not written
  // Dotted paths that were set or removed, for index upkeep and change events; `all` when the
  // whole document may have changed (replacement, pipeline).
  std::set<std::string> touched;
  bool all = false;
};

struct ParseOptions {
  bool upsert = false;
  bool multi = false;
  bson::View array_filters;            // array of filters; empty when there are none
  bson::View constants;                // `c` of a pipeline update
  bool keep_empty_timestamps = false;  // else a replacement's become the time of the write
};

// Immutable and safe for concurrent use. `context` outlives it; `spec`'s bytes are copied.
class Update {
 public:
  // `spec`: a document (operators or replacement) or an array (pipeline).
  static Result<std::unique_ptr<Update>> Parse(const bson::Value& spec, const ParseOptions& options,
                                               const Context* context);
  virtual ~Update() = default;

  virtual bool is_replacement() const = 0;

  // Applies to `document`, appending the new document to *out when it changed. `array_index` is
  // what the positional operator `$` stands for ("" when the filter traversed no array).
  // `inserting` is true for the document of an upsert ($setOnInsert applies). _id never changes
  // (ImmutableField); the result is at most 16 MB and 180 levels deep.
  virtual Result<Outcome> Apply(bson::View document, std::string_view array_index, bool inserting,
                                std::string* out) const = 0;
};

// QueryFeatureNotAllowed when the filter of an upsert has an $expr.
Status CheckUpsertFilter(bson::View filter);
// The document an upsert starts from: equality fields of the filter (dotted ones expanded), and
// _id first. A replacement keeps only _id.
Result<bson::Document> UpsertSeed(bson::View filter, bool is_replacement);

}  // namespace quire::expr::update
