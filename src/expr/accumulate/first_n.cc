// SPDX-License-Identifier: Apache-2.0
//
// $firstN, $lastN, $minN and $maxN.
#include <deque>
#include <set>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "expr/accumulate/accumulation_internal.h"
#include "expr/accumulate/count_argument.h"

namespace quire::expr {

namespace {

// The first or the last n values, in order.
class Ends final : public UnaryAccumulation {
 public:
  Ends(const Expression& argument, int64_t n, bool last)
      : UnaryAccumulation(argument), n_(static_cast<size_t>(n)), last_(last) {}
  Result<Value> Finish(Arena* arena) override { return ArrayOf(values_, arena); }
  Result<std::vector<Value>> Partial(Arena* arena) override { return PartsOf(values_, arena); }
  Status Merge(const Value& part, EvalContext& eval) override {
    return ForEachOfPart("$firstN", part, [&](const Value& value) { return Take(value, eval); });
  }
  size_t memory() const override { return sizeof *this + memory_; }

 protected:
  Status Take(const Value& value, const EvalContext&) override {
    if (!last_ && values_.size() == n_) {
      return Status::Ok();
    }
    values_.emplace_back(value);
    memory_ += values_.back().memory();
    if (values_.size() > n_) {
      memory_ -= values_.front().memory();
      values_.pop_front();
    }
    return CheckMemory(last_ ? "$lastN" : "$firstN", memory_);
  }

 private:
  size_t n_;
  bool last_;
  std::deque<bson::OwnedValue> values_;
  size_t memory_ = 0;
};

// The n smallest or largest values; null and missing do not count.
class Extremes final : public UnaryAccumulation {
 public:
  Extremes(const Expression& argument, int64_t n, int sign, const Collator* collator)
      : UnaryAccumulation(argument),
        n_(static_cast<size_t>(n)),
        sign_(sign),
        values_(Order{sign, collator}) {}

  Result<Value> Finish(Arena* arena) override { return ArrayOf(values_, arena); }
  Result<std::vector<Value>> Partial(Arena* arena) override { return PartsOf(values_, arena); }
  Status Merge(const Value& part, EvalContext& eval) override {
    return ForEachOfPart("$minN", part, [&](const Value& value) { return Take(value, eval); });
  }
  size_t memory() const override { return sizeof *this + memory_; }

 protected:
  Status Take(const Value& value, const EvalContext&) override {
    if (value.nullish()) {
      return Status::Ok();
    }
    if (values_.size() == n_ &&
        sign_ * bson::Compare(value, values_.rbegin()->value(), values_.key_comp().collator) >= 0) {
      return Status::Ok();
    }
    auto it = values_.emplace(value);
    memory_ += it->memory() + 48;
    if (values_.size() > n_) {
      auto last = std::prev(values_.end());
      memory_ -= last->memory() + 48;
      values_.erase(last);
    }
    return CheckMemory(sign_ > 0 ? "$minN" : "$maxN", memory_);
  }

 private:
  struct Order {
    int sign;
    const Collator* collator;
    bool operator()(const bson::OwnedValue& a, const bson::OwnedValue& b) const {
      return sign * bson::Compare(a.value(), b.value(), collator) < 0;
    }
  };
  size_t n_;
  int sign_;
  std::multiset<bson::OwnedValue, Order> values_;
  size_t memory_ = 0;
};

class FirstN final : public Accumulator {
 public:
  FirstN(const AccumulatorRow& row, std::unique_ptr<Expression> n,
         std::unique_ptr<Expression> input)
      : row_(row), n_(std::move(n)), input_(std::move(input)) {}

  Result<std::unique_ptr<Accumulation>> Start(EvalContext& eval,
                                              const Value& group) const override {
    ASSIGN_OR_RETURN(int64_t n, EvaluateCount(*n_, eval, group));
    if (row_.name == "$firstN" || row_.name == "$lastN") {
      return std::unique_ptr<Accumulation>(
          std::make_unique<Ends>(*input_, n, row_.name == "$lastN"));
    }
    return std::unique_ptr<Accumulation>(
        std::make_unique<Extremes>(*input_, n, row_.name == "$minN" ? 1 : -1, CollatorOf(eval)));
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    return input_->AddDependencies(fields);
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->BeginDocument(name).BeginDocument(row_.name);
    n_->Serialize("n", out);
    input_->Serialize("input", out);
    out->End().End();
  }

 private:
  const AccumulatorRow& row_;
  std::unique_ptr<Expression> n_;
  std::unique_ptr<Expression> input_;
};

}  // namespace

Result<int64_t> EvaluateCount(const Expression& n, EvalContext& eval, const Value& group) {
  Value root = std::exchange(eval.root, group.is_document() ? group : Value(bson::View()));
  Result<Value> value = n.Evaluate(eval);
  eval.root = root;
  if (!value.ok()) {
    return value.status();
  }
  return CheckCount(*value);
}

Result<std::unique_ptr<Accumulator>> ParseFirstN(const AccumulatorRow& row, const Value& argument,
                                                 ParseScope& scope) {
  std::string op(row.name);
  if (!argument.is_document()) {
    return Status(5787900, "specification must be an object; found " + op + ": " +
                               std::string(bson::TypeName(argument.type())));
  }
  std::unique_ptr<Expression> n;
  std::unique_ptr<Expression> input;
  for (const bson::Element& element : argument.AsDocument()) {
    if (element.name() == "n") {
      ASSIGN_OR_RETURN(n, agg::ParseExpression(element.value(), scope));
    } else if (element.name() == "input") {
      ASSIGN_OR_RETURN(input, agg::ParseExpression(element.value(), scope));
    } else {
      return Status(5787901,
                    "Unknown argument to " + op + " '" + std::string(element.name()) + "'");
    }
  }
  if (n == nullptr) {
    return Status(5787906, "Missing value for 'n'");
  }
  if (input == nullptr) {
    return Status(5787907, "Missing value for 'input'");
  }
  return std::unique_ptr<Accumulator>(
      std::make_unique<FirstN>(row, std::move(n), std::move(input)));
}

}  // namespace quire::expr
