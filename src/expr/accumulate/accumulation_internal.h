// SPDX-License-Identifier: Apache-2.0
//
// What the accumulators share: the row of an operator and the state of those with one argument.
// Private to expr/accumulate.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/try.h"
#include "expr/accumulate/accumulator.h"
#include "expr/collation/collator.h"

namespace quire::expr {

using agg::EvalContext;
using agg::Expression;
using agg::ParseScope;
using bson::Type;
using bson::Value;

struct AccumulatorRow;
using AccumulatorParseFn = Result<std::unique_ptr<Accumulator>> (*)(const AccumulatorRow& row,
                                                                    const Value& argument,
                                                                    ParseScope& scope);
using StateFn = std::unique_ptr<Accumulation> (*)(const Expression& argument);

struct AccumulatorRow {
  std::string_view name;
  AccumulatorParseFn parse;
  StateFn start = nullptr;  // of ParseUnary's
};

// Every accumulator of $group.
std::span<const AccumulatorRow> AccumulatorRows();

// {$op: <expression>}; error 40237 for an array of arguments.
Result<std::unique_ptr<Accumulator>> ParseUnary(const AccumulatorRow& row, const Value& argument,
                                                ParseScope& scope);
Result<std::unique_ptr<Accumulator>> ParseCount(const AccumulatorRow& row, const Value& argument,
                                                ParseScope& scope);
Result<std::unique_ptr<Accumulator>> ParseFirstN(const AccumulatorRow& row, const Value& argument,
                                                 ParseScope& scope);
Result<std::unique_ptr<Accumulator>> ParseTopN(const AccumulatorRow& row, const Value& argument,
                                               ParseScope& scope);
Result<std::unique_ptr<Accumulator>> ParsePercentile(const AccumulatorRow& row,
                                                     const Value& argument, ParseScope& scope);
Result<std::unique_ptr<Accumulator>> ParseScriptAccumulator(const AccumulatorRow& row,
                                                            const Value& argument,
                                                            ParseScope& scope);

std::unique_ptr<Accumulation> StartSum(const Expression& argument);
std::unique_ptr<Accumulation> StartAvg(const Expression& argument);
std::unique_ptr<Accumulation> StartStdDevPop(const Expression& argument);
std::unique_ptr<Accumulation> StartStdDevSamp(const Expression& argument);
std::unique_ptr<Accumulation> StartMin(const Expression& argument);
std::unique_ptr<Accumulation> StartMax(const Expression& argument);
std::unique_ptr<Accumulation> StartFirst(const Expression& argument);
std::unique_ptr<Accumulation> StartLast(const Expression& argument);
std::unique_ptr<Accumulation> StartPush(const Expression& argument);
std::unique_ptr<Accumulation> StartAddToSet(const Expression& argument);
std::unique_ptr<Accumulation> StartConcatArrays(const Expression& argument);
std::unique_ptr<Accumulation> StartSetUnion(const Expression& argument);
std::unique_ptr<Accumulation> StartMergeObjects(const Expression& argument);

// The state of an accumulator with one argument.
class UnaryAccumulation : public Accumulation {
 public:
  explicit UnaryAccumulation(const Expression& argument) : argument_(argument) {}
  Status Add(EvalContext& eval) final;

 protected:
  // Takes in one value of the argument; a missing one too.
  virtual Status Take(const Value& value, const EvalContext& eval) = 0;

 private:
  const Expression& argument_;
};

inline const Collator* CollatorOf(const EvalContext& eval) {
  return eval.context != nullptr ? eval.context->collator : nullptr;
}

// What one group's state may hold: error ExceededMemoryLimit beyond it.
Status CheckMemory(std::string_view op, size_t bytes);

// A copy of the value in the arena.
Value CopyTo(Arena* arena, const Value& value);

// Error of a Merge of what is no part of the operator's state.
Status NotAPart(std::string_view op, const Value& part);

// Writes values as arrays of at most about Accumulation::kPartBytes each.
class PartWriter {
 public:
  explicit PartWriter(Arena* arena) : arena_(arena) {}
  // Null stands for a missing value.
  void Push(const Value& value);
  // The arrays; none when nothing was pushed. Once only.
  std::vector<Value> Finish();

 private:
  void Close();

  Arena* arena_;
  std::string bytes_;
  std::optional<bson::Builder> array_;
  std::vector<Value> parts_;
};

// The values as parts.
template <typename OwnedValues>
std::vector<Value> PartsOf(const OwnedValues& values, Arena* arena) {
  PartWriter parts(arena);
  for (const bson::OwnedValue& value : values) {
    parts.Push(value.value());
  }
  return parts.Finish();
}

// Calls take(element) for each element of a part written by a PartWriter.
template <typename Take>
Status ForEachOfPart(std::string_view op, const Value& part, const Take& take) {
  if (!part.is_array()) {
    return NotAPart(op, part);
  }
  for (const bson::Element& element : part.AsArray()) {
    RETURN_IF_ERROR(take(element.value()));
  }
  return Status::Ok();
}

// The values as an array in the arena; null stands for a missing one.
template <typename OwnedValues>
Value ArrayOf(const OwnedValues& values, Arena* arena) {
  std::string bytes;
  bson::Builder out(&bytes);
  for (const bson::OwnedValue& value : values) {
    out.Push(value.missing() ? Value::Null() : value.value());
  }
  out.Close();
  return Value::Array(bson::View(arena->Adopt(std::move(bytes)).data()));
}

}  // namespace quire::expr
