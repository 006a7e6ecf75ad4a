// SPDX-License-Identifier: Apache-2.0
//
// Accumulators of $group, $bucket, $bucketAuto and window fields: parsed once, with one running
// state per group.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "expr/agg/expression.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr {

// What one accumulator holds for one group. Use by one thread at a time.
class Accumulation {
 public:
  virtual ~Accumulation() = default;
  // Evaluates the accumulator's arguments on `eval.root` and takes them in, copied.
  virtual Status Add(agg::EvalContext& eval) = 0;
  // The result so far, valid while `arena` and this are and nothing is added; missing when the
  // field is left out. May be called again after further Adds.
  virtual Result<bson::Value> Finish(Arena* arena) = 0;
  // The whole state so far, for Merge: values in `arena` that Merge takes one after the other. May
  // be none when nothing was added. A state of many values is given as several parts, so that each
  // part has a place in a document: none is longer than about kPartBytes, but for a single value
  // that is.
  virtual Result<std::vector<bson::Value>> Partial(Arena* arena) = 0;
  // Takes in one part of the state of another Accumulation that the same Accumulator started for
  // the same group, as if the rows it stands for came next. Results are exactly those of the rows
  // themselves, but for the last digits of deviations and of sums of doubles and decimals, which
  // depend on the order in which they are added. Error: FailedToParse for what is no such part.
  virtual Status Merge(const bson::Value& part, agg::EvalContext& eval) = 0;
  // Bytes held.
  virtual size_t memory() const = 0;

  static constexpr size_t kPartBytes = size_t{1} << 20;
};

// Immutable and safe for concurrent use.
class Accumulator {
 public:
  // `spec` is the field {$sum: "$x"} holds: its name the operator, its value the argument, whose
  // bytes outlive the accumulator. Errors 15952 (unknown operator), 40237, those of each operator.
  static Result<std::unique_ptr<Accumulator>> Parse(const bson::Element& spec,
                                                    agg::ParseScope& scope);
  virtual ~Accumulator() = default;

  // The state of an empty group whose _id is `group` (read by $accumulator's initArgs).
  virtual Result<std::unique_ptr<Accumulation>> Start(agg::EvalContext& eval,
                                                      const bson::Value& group) const = 0;
  // As Expression's.
  virtual bool AddDependencies(std::set<std::string>* fields) const = 0;
  // Appends {$op: argument} in normalised form as field `name`.
  virtual void Serialize(std::string_view name, bson::Builder* out) const = 0;
};

// Whether `name` is an accumulator that $group takes.
bool IsAccumulator(std::string_view name);

}  // namespace quire::expr
