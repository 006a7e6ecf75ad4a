// SPDX-License-Identifier: Apache-2.0
//
// $top, $topN, $bottom and $bottomN.
#include <map>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/accumulate/accumulation_internal.h"
#include "expr/accumulate/count_argument.h"
#include "expr/sort/sort_key.h"

namespace quire::expr {

namespace {

struct TopNSpec {
  SortPattern sort_by;
  bson::Document sort_spec;
  std::unique_ptr<Expression> n;  // null for $top and $bottom
  std::unique_ptr<Expression> output;
  bool bottom = false;
};

class TopNState final : public Accumulation {
 public:
  TopNState(const TopNSpec& spec, int64_t n) : spec_(spec), n_(static_cast<size_t>(n)) {}

  Status Add(EvalContext& eval) override {
    std::string key;
    RETURN_IF_ERROR(
        spec_.sort_by.AppendKey(eval.root.AsDocument(), eval.metadata, *eval.context, &key));
    if (values_.size() == n_ && Beyond(key)) {
      return Status::Ok();
    }
    ASSIGN_OR_RETURN(Value value, spec_.output->Evaluate(eval));
    return Keep(std::move(key), value);
  }

  Result<Value> Finish(Arena* arena) override {
    if (spec_.n == nullptr) {
      return values_.empty() ? Value::Null() : OrNull(values_.begin()->second);
    }
    std::string bytes;
    bson::Builder out(&bytes);
    for (const auto& [key, value] : values_) {
      out.Push(OrNull(value));
    }
    out.Close();
    return Value::Array(bson::View(arena->Adopt(std::move(bytes)).data()));
  }
  // Pairs of a key, as the bytes by which keys compare, and its value.
  Result<std::vector<Value>> Partial(Arena* arena) override {
    PartWriter parts(arena);
    for (const auto& [key, value] : values_) {
      std::string bytes;
      bson::Builder pair(&bytes);
      pair.Push(Value::Binary(key, 0)).Push(OrNull(value)).Close();
      parts.Push(Value::Array(bson::View(bytes.data())));
    }
    return parts.Finish();
  }
  Status Merge(const Value& part, EvalContext&) override {
    return ForEachOfPart(op(), part, [&](const Value& pair) {
      const Value key = pair.is_array() ? pair.AsArray()["0"] : Value();
      if (key.type() != Type::kBinary) {
        return NotAPart(op(), part);
      }
      std::string bytes(key.AsBinary());
      return values_.size() == n_ && Beyond(bytes) ? Status::Ok()
                                                   : Keep(std::move(bytes), pair.AsArray()["1"]);
    });
  }
  size_t memory() const override { return sizeof *this + memory_; }

 private:
  using Map = std::multimap<std::string, bson::OwnedValue>;

  static Value OrNull(const bson::OwnedValue& value) {
    return value.missing() ? Value::Null() : value.value();
  }
  static size_t Size(Map::const_iterator it) {
    return it->first.capacity() + it->second.memory() + 64;
  }
  std::string_view op() const { return spec_.bottom ? "$bottomN" : "$topN"; }
  // Drops what has no place any more.
  Status Keep(std::string key, const Value& value) {
    auto it = values_.emplace(std::move(key), bson::OwnedValue(value));
    memory_ += Size(it);
    if (values_.size() > n_) {
      auto drop = spec_.bottom ? values_.begin() : std::prev(values_.end());
      memory_ -= Size(drop);
      values_.erase(drop);
    }
    return CheckMemory(op(), memory_);
  }
  // Whether a further value of this key has no place among the n.
  bool Beyond(const std::string& key) const {
    return spec_.bottom ? key < values_.begin()->first : key >= values_.rbegin()->first;
  }

  const TopNSpec& spec_;
  size_t n_;
  Map values_;
  size_t memory_ = 0;
};

class TopN final : public Accumulator {
 public:
  TopN(const AccumulatorRow& row, TopNSpec spec) : row_(row), spec_(std::move(spec)) {}

  Result<std::unique_ptr<Accumulation>> Start(EvalContext& eval,
                                              const Value& group) const override {
    int64_t n = 1;
    if (spec_.n != nullptr) {
      ASSIGN_OR_RETURN(n, EvaluateCount(*spec_.n, eval, group));
    }
    return std::unique_ptr<Accumulation>(std::make_unique<TopNState>(spec_, n));
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    for (const SortPattern::Part& part : spec_.sort_by.parts()) {
      fields->insert(part.path.substr(0, part.path.find('.')));
    }
    return spec_.output->AddDependencies(fields);
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->BeginDocument(name).BeginDocument(row_.name);
    if (spec_.n != nullptr) {
      spec_.n->Serialize("n", out);
    }
    spec_.output->Serialize("output", out);
    out->Append("sortBy", spec_.sort_spec).End().End();
  }

 private:
  const AccumulatorRow& row_;
  TopNSpec spec_;
};

}  // namespace

Result<int64_t> CheckCount(const Value& n) {
  auto count = bson::ExactInt64(n);
  if (!count || *count <= 0) {
    return Status(7548606, "'n' must be a positive integer, found " +
                               (n.missing() ? std::string("missing") : bson::ToJson(n)));
  }
  return *count;
}

Result<std::unique_ptr<Accumulator>> ParseTopN(const AccumulatorRow& row, const Value& argument,
                                               ParseScope& scope) {
  std::string op(row.name);
  if (!argument.is_document()) {
    return Status(5788001, "specification must be an object; found " + op + ": " +
                               std::string(bson::TypeName(argument.type())));
  }
  bool counted = op.ends_with("N");
  TopNSpec spec;
  spec.bottom = op.starts_with("$bottom");
  bool sorted = false;
  for (const bson::Element& element : argument.AsDocument()) {
    Value value = element.value();
    if (element.name() == "n" && counted) {
      ASSIGN_OR_RETURN(spec.n, agg::ParseExpression(value, scope));
    } else if (element.name() == "output") {
      ASSIGN_OR_RETURN(spec.output, agg::ParseExpression(value, scope));
    } else if (element.name() == "sortBy") {
      if (!value.is_document()) {
        return Status(10065, "invalid parameter: expected an object (sortBy)");
      }
      ASSIGN_OR_RETURN(spec.sort_by, SortPattern::Parse(value.AsDocument()));
      spec.sort_spec = bson::Document(value.AsDocument());
      sorted = true;
    } else {
      return Status(5788002,
                    "Unknown argument to " + op + " '" + std::string(element.name()) + "'");
    }
  }
  if (counted && spec.n == nullptr) {
    return Status(5788003, "Missing value for 'n'");
  }
  if (spec.output == nullptr) {
    return Status(5788004, "Missing value for 'output'");
  }
  if (!sorted) {
    return Status(5788005, "Missing value for 'sortBy'");
  }
  return std::unique_ptr<Accumulator>(std::make_unique<TopN>(row, std::move(spec)));
}

}  // namespace quire::expr
