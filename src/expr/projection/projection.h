// SPDX-License-Identifier: Apache-2.0
//
// Projections of find and of $project: inclusion, exclusion, computed fields, $slice, $elemMatch,
// the positional operator and $meta.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "expr/context.h"
#include "expr/match/match.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr {

// Immutable and safe for concurrent use. `context` and `filter` outlive it.
class Projection {
 public:
  // kUpdate: as kAggregate, but a constant whose value is an error fails in Apply, not in Parse.
  enum class Policy { kFind, kAggregate, kUpdate };

  // `filter` is the query's own filter, needed by the positional operator; may be null.
  static Result<std::unique_ptr<Projection>> Parse(bson::View spec, Policy policy,
                                                   const Context* context,
                                                   const match::Filter* filter = nullptr);
  virtual ~Projection() = default;

  // Appends the projected document (whole, with its length) to *out.
  virtual Status Apply(bson::View document, const Metadata* metadata, std::string* out) const = 0;
  // The top-level fields it reads, when it is an inclusion; false when it may read any.
  virtual bool AddDependencies(std::set<std::string>* fields) const = 0;
  virtual bool is_exclusion() const = 0;
  // Dotted paths it includes when it is a plain inclusion of fields (for covered queries): then
  // true and `*paths` filled.
  virtual bool PlainInclusion(std::set<std::string>* paths) const = 0;
};

}  // namespace quire::expr
