// SPDX-License-Identifier: Apache-2.0
//
// What is known beside the document ($meta, $rand) and the sizes of values.
#include <random>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/hash/index_hash.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"

namespace quire::expr::agg {

namespace {

struct MetaRow {
  std::string_view name;
  Value (*read)(const Metadata& metadata);
};

Value NoValue(const Metadata&) { return Value(); }

constexpr MetaRow kMeta[] = {
    {"textScore",
     [](const Metadata& m) { return m.has_text_score ? Value(m.text_score) : Value(); }},
    {"geoNearDistance",
     [](const Metadata& m) { return m.has_geo_distance ? Value(m.geo_distance) : Value(); }},
    {"geoNearPoint", [](const Metadata& m) { return m.geo_point; }},
    {"sortKey", [](const Metadata& m) { return m.sort_key; }},
    {"indexKey", [](const Metadata& m) { return m.index_key; }},
    {"recordId", [](const Metadata& m) { return m.has_record_id ? Value(m.record_id) : Value(); }},
    {"randVal", NoValue},
    {"searchScore", NoValue},
    {"searchHighlights", NoValue},
    {"searchScoreDetails", NoValue},
    {"searchSequenceToken", NoValue},
    {"vectorSearchScore", NoValue},
    {"score", [](const Metadata& m) { return m.has_score ? Value(m.score) : Value(); }},
    {"scoreDetails", [](const Metadata& m) { return m.score_details; }},
};

// Reads the whole row rather than fields of the document.
class Meta final : public Expression {
 public:
  explicit Meta(const MetaRow& row) : row_(row) {}
  Result<Value> Evaluate(EvalContext& eval) const override {
    return eval.metadata != nullptr ? row_.read(*eval.metadata) : Value();
  }
  bool AddDependencies(std::set<std::string>*) const override { return true; }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->BeginDocument(name).Append("$meta", row_.name).End();
  }

 private:
  const MetaRow& row_;
};

}  // namespace

Result<ExpressionPtr> ParseMeta(const OperatorRow&, const Value& spec, ParseScope&) {
  if (!spec.is_string()) {
    return Status(17307, "$meta only supports string arguments");
  }
  for (const MetaRow& row : kMeta) {
    if (row.name == spec.AsString()) {
      return ExpressionPtr(std::make_unique<Meta>(row));
    }
  }
  return Status(17308, "Unsupported argument to $meta: " + std::string(spec.AsString()));
}

Result<Value> EvalRand(const Call&, EvalContext&) {
  thread_local std::mt19937_64 engine{std::random_device{}()};
  return Value(std::uniform_real_distribution<double>(0.0, 1.0)(engine));
}

Result<ExpressionPtr> ParseRand(const OperatorRow& row, const Value& spec, ParseScope& scope) {
  if (!spec.is_document() && !spec.is_array()) {
    return Status(10065, "invalid parameter: expected an object ($rand)");
  }
  if (!spec.AsDocument().empty()) {
    return Status(3040501, "$rand does not currently accept arguments");
  }
  return MakeCall(row, {}, scope);
}

Result<Value> EvalBinarySize(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value value, call.Get(0, eval));
  if (value.nullish()) {
    return Value::Null();
  }
  if (!value.is_string() && value.type() != Type::kBinary) {
    return Status(51276,
                  "$binarySize requires a string or BinData argument, found: " + TypeText(value));
  }
  return Value(static_cast<int32_t>(value.bytes().size()));
}

Result<Value> EvalToHashedIndexKey(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value value, call.Get(0, eval));
  return Value(bson::IndexHash(value));
}

Result<Value> EvalBsonSize(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value value, call.Get(0, eval));
  if (value.nullish()) {
    return Value::Null();
  }
  if (!value.is_document()) {
    return Status(31393, "$bsonSize requires a document input, found: " + TypeText(value));
  }
  return Value(static_cast<int32_t>(value.AsDocument().size()));
}

Result<Value> EvalTsSecond(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value value, call.Get(0, eval));
  if (value.nullish()) {
    return Value::Null();
  }
  if (value.type() != Type::kTimestamp) {
    return Status(5687301, "$tsSecond requires a timestamp argument, found: " + TypeText(value));
  }
  return Value(int64_t{value.AsTimestamp().seconds});
}

Result<Value> EvalTsIncrement(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value value, call.Get(0, eval));
  if (value.nullish()) {
    return Value::Null();
  }
  if (value.type() != Type::kTimestamp) {
    return Status(5687302, "$tsIncrement requires a timestamp argument, found: " + TypeText(value));
  }
  return Value(int64_t{value.AsTimestamp().increment});
}

}  // namespace quire::expr::agg
