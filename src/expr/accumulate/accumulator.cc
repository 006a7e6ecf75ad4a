// SPDX-License-Identifier: Apache-2.0
#include "expr/accumulate/accumulator.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "expr/accumulate/accumulation_internal.h"

namespace quire::expr {

namespace {

constexpr AccumulatorRow kRows[] = {
    {"$accumulator", ParseScriptAccumulator},
    {"$addToSet", ParseUnary, StartAddToSet},
    {"$avg", ParseUnary, StartAvg},
    {"$bottom", ParseTopN},
    {"$bottomN", ParseTopN},
    {"$concatArrays", ParseUnary, StartConcatArrays},
    {"$count", ParseCount, StartSum},
    {"$first", ParseUnary, StartFirst},
    {"$firstN", ParseFirstN},
    {"$last", ParseUnary, StartLast},
    {"$lastN", ParseFirstN},
    {"$max", ParseUnary, StartMax},
    {"$maxN", ParseFirstN},
    {"$median", ParsePercentile},
    {"$mergeObjects", ParseUnary, StartMergeObjects},
    {"$min", ParseUnary, StartMin},
    {"$minN", ParseFirstN},
    {"$percentile", ParsePercentile},
    {"$push", ParseUnary, StartPush},
    {"$setUnion", ParseUnary, StartSetUnion},
    {"$stdDevPop", ParseUnary, StartStdDevPop},
    {"$stdDevSamp", ParseUnary, StartStdDevSamp},
    {"$sum", ParseUnary, StartSum},
    {"$top", ParseTopN},
    {"$topN", ParseTopN},
};

}  // namespace

std::span<const AccumulatorRow> AccumulatorRows() { return kRows; }

namespace {

const AccumulatorRow* FindRow(std::string_view name) {
  for (const AccumulatorRow& row : kRows) {
    if (row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

// An accumulator with one argument.
class UnaryAccumulator final : public Accumulator {
 public:
  UnaryAccumulator(const AccumulatorRow& row, std::unique_ptr<Expression> argument)
      : row_(row), argument_(std::move(argument)) {}

  Result<std::unique_ptr<Accumulation>> Start(EvalContext&, const Value&) const override {
    return row_.start(*argument_);
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    return argument_->AddDependencies(fields);
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->BeginDocument(name);
    argument_->Serialize(row_.name, out);
    out->End();
  }

 private:
  const AccumulatorRow& row_;
  std::unique_ptr<Expression> argument_;
};

constexpr size_t kMemoryLimit = size_t{100} << 20;

}  // namespace

Result<std::unique_ptr<Accumulator>> Accumulator::Parse(const bson::Element& spec,
                                                        ParseScope& scope) {
  if (!spec.name().starts_with('$')) {
    return Status(
        40234, "The field must be an accumulator object, found '" + std::string(spec.name()) + "'");
  }
  const AccumulatorRow* row = FindRow(spec.name());
  if (row == nullptr) {
    return Status(15952, "unknown group operator '" + std::string(spec.name()) + "'");
  }
  return row->parse(*row, spec.value(), scope);
}

bool IsAccumulator(std::string_view name) { return FindRow(name) != nullptr; }

Result<std::unique_ptr<Accumulator>> ParseUnary(const AccumulatorRow& row, const Value& argument,
                                                ParseScope& scope) {
  if (argument.is_array()) {
    return Status(40237, "The " + std::string(row.name) + " accumulator is a unary operator");
  }
  ASSIGN_OR_RETURN(auto expression, agg::ParseExpression(argument, scope));
  return std::unique_ptr<Accumulator>(
      std::make_unique<UnaryAccumulator>(row, std::move(expression)));
}

Result<std::unique_ptr<Accumulator>> ParseCount(const AccumulatorRow& row, const Value& argument,
                                                ParseScope& scope) {
  if (!argument.is_document() || !argument.AsDocument().empty()) {
    return Status(kTypeMismatch, "$count takes no arguments, i.e. $count:{}");
  }
  return ParseUnary(row, Value(1), scope);
}

Status UnaryAccumulation::Add(EvalContext& eval) {
  ASSIGN_OR_RETURN(Value value, argument_.Evaluate(eval));
  return Take(value, eval);
}

Status CheckMemory(std::string_view op, size_t bytes) {
  if (bytes <= kMemoryLimit) {
    return Status::Ok();
  }
  return Status(kExceededMemoryLimit, std::string(op) +
                                          " used too much memory and cannot spill to disk. Memory "
                                          "limit: " +
                                          std::to_string(kMemoryLimit) + " bytes");
}

Value CopyTo(Arena* arena, const Value& value) {
  std::string bytes;
  value.AppendTo(&bytes);
  return Value::FromBytes(value.type(), arena->Adopt(std::move(bytes)).data());
}

Status NotAPart(std::string_view op, const Value& part) {
  return Status(kFailedToParse, "not a partial state of " + std::string(op) + ": " +
                                    std::string(bson::TypeName(part.type())));
}

void PartWriter::Push(const Value& value) {
  if (!array_) {
    array_.emplace(&bytes_);
  }
  array_->Push(value.missing() ? Value::Null() : value);
  if (bytes_.size() >= Accumulation::kPartBytes) {
    Close();
  }
}

void PartWriter::Close() {
  array_->Close();
  array_.reset();
  parts_.push_back(
      Value::Array(bson::View(arena_->Adopt(std::exchange(bytes_, std::string())).data())));
}

std::vector<Value> PartWriter::Finish() {
  if (array_) {
    Close();
  }
  return std::move(parts_);
}

}  // namespace quire::expr
