// SPDX-License-Identifier: Apache-2.0
#include "expr/accumulate/percentile.h"

#include <algorithm>
#include <cmath>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/accumulate/accumulation_internal.h"
#include "expr/wrong_type.h"

namespace quire::expr {

namespace {

class PercentileState final : public UnaryAccumulation {
 public:
  explicit PercentileState(const PercentileSpec& spec)
      : UnaryAccumulation(*spec.input), spec_(spec) {}
  Result<Value> Finish(Arena* arena) override { return ComputePercentiles(spec_, &values_, arena); }
  // The doubles' bytes.
  Result<std::vector<Value>> Partial(Arena* arena) override {
    constexpr size_t kMost = kPartBytes / sizeof(double);
    std::vector<Value> parts;
    for (size_t at = 0; at < values_.size(); at += kMost) {
      const size_t count = std::min(kMost, values_.size() - at);
      std::string_view bytes(reinterpret_cast<const char*>(&values_[at]), count * sizeof(double));
      parts.push_back(CopyTo(arena, Value::Binary(bytes, 0)));
    }
    return parts;
  }
  Status Merge(const Value& part, EvalContext&) override {
    std::string_view bytes = part.type() == Type::kBinary ? part.AsBinary() : std::string_view();
    if (bytes.empty() || bytes.size() % sizeof(double) != 0) {
      return NotAPart(op(), part);
    }
    const size_t held = values_.size();
    values_.resize(held + bytes.size() / sizeof(double));
    memcpy(&values_[held], bytes.data(), bytes.size());
    return CheckMemory(op(), memory());
  }
  size_t memory() const override { return sizeof *this + values_.capacity() * sizeof(double); }

 protected:
  Status Take(const Value& value, const EvalContext&) override {
    if (value.is_number()) {
      values_.push_back(bson::ToDouble(value));
    }
    return CheckMemory(op(), memory());
  }

 private:
  std::string_view op() const { return spec_.median ? "$median" : "$percentile"; }

  const PercentileSpec& spec_;
  std::vector<double> values_;
};

class Percentile final : public Accumulator {
 public:
  Percentile(const AccumulatorRow& row, PercentileSpec spec) : row_(row), spec_(std::move(spec)) {}
  Result<std::unique_ptr<Accumulation>> Start(EvalContext&, const Value&) const override {
    return std::unique_ptr<Accumulation>(std::make_unique<PercentileState>(spec_));
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    return spec_.input->AddDependencies(fields);
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    SerializePercentile(name, row_.name, spec_, out);
  }

 private:
  const AccumulatorRow& row_;
  PercentileSpec spec_;
};

// NaN sorts first, as in the order of values.
bool Less(double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; }

Status ReadPercentiles(const Value& spec, ParseScope& scope, std::vector<double>* out) {
  ASSIGN_OR_RETURN(auto expression, agg::ParseExpression(spec, scope));
  ASSIGN_OR_RETURN(const Value* p, agg::ConstantValue(*expression));
  if (p == nullptr || !p->is_array() || p->AsArray().empty()) {
    return Status(7750301, "The $percentile 'p' field must be an array of numbers from [0.0, 1.0]");
  }
  for (const bson::Element& element : p->AsArray()) {
    Value value = element.value();
    if (!value.is_number()) {
      return Status(7750302,
                    "The $percentile 'p' field must be an array of numbers from [0.0, 1.0], but "
                    "found: " +
                        bson::ToJson(value));
    }
    double d = bson::ToDouble(value);
    if (!(d >= 0 && d <= 1)) {
      return Status(7750303,
                    "The $percentile 'p' field must be an array of numbers from [0.0, 1.0], but "
                    "found: " +
                        bson::ToJson(value));
    }
    out->push_back(d);
  }
  return Status::Ok();
}

Status CheckMethod(const Value& method, std::string_view op) {
  if (!method.is_string()) {
    return WrongType(std::string(op) + ".method", method, "string");
  }
  if (method.AsString() != "approximate") {
    return Status(kBadValue, "Currently only 'approximate' can be used as percentile 'method'");
  }
  return Status::Ok();
}

Status MissingField(std::string_view op, std::string_view field) {
  return Status(40414, "BSON field '" + std::string(op) + "." + std::string(field) +
                           "' is missing but a required field");
}

}  // namespace

Result<PercentileSpec> ParsePercentileSpec(std::string_view op, const Value& argument,
                                           ParseScope& scope) {
  if (!argument.is_document()) {
    return Status(op == "$median" ? 7436100 : 7429703, "specification must be an object; found " +
                                                           std::string(op) + " :" +
                                                           bson::ToJson(argument));
  }
  PercentileSpec spec;
  spec.median = op == "$median";
  Value p;
  Value method;
  for (const bson::Element& element : argument.AsDocument()) {
    if (element.name() == "input") {
      ASSIGN_OR_RETURN(spec.input, agg::ParseExpression(element.value(), scope));
    } else if (element.name() == "p" && !spec.median) {
      p = element.value();
    } else if (element.name() == "method") {
      method = element.value();
    } else {
      return Status(40415, "BSON field '" + std::string(op) + "." + std::string(element.name()) +
                               "' is an unknown field.");
    }
  }
  if (spec.input == nullptr) {
    return MissingField(op, "input");
  }
  if (p.missing() && !spec.median) {
    return MissingField(op, "p");
  }
  if (method.missing()) {
    return MissingField(op, "method");
  }
  RETURN_IF_ERROR(CheckMethod(method, op));
  if (spec.median) {
    spec.p.push_back(0.5);
  } else {
    RETURN_IF_ERROR(ReadPercentiles(p, scope, &spec.p));
  }
  return spec;
}

Value ComputePercentiles(const PercentileSpec& spec, std::vector<double>* values, Arena* arena) {
  std::sort(values->begin(), values->end(), Less);
  auto at = [&](double p) {
    if (values->empty()) {
      return Value::Null();
    }
    double rank = std::ceil(p * static_cast<double>(values->size()));
    return Value((*values)[rank < 1 ? 0 : static_cast<size_t>(rank) - 1]);
  };
  if (spec.median) {
    return at(0.5);
  }
  std::string bytes;
  bson::Builder out(&bytes);
  for (double p : spec.p) {
    out.Push(at(p));
  }
  out.Close();
  return Value::Array(bson::View(arena->Adopt(std::move(bytes)).data()));
}

void SerializePercentile(std::string_view name, std::string_view op, const PercentileSpec& spec,
                         bson::Builder* out) {
  out->BeginDocument(name).BeginDocument(op);
  spec.input->Serialize("input", out);
  if (!spec.median) {
    out->BeginArray("p");
    for (double p : spec.p) {
      out->Push(p);
    }
    out->End();
  }
  out->Append("method", "approximate").End().End();
}

Result<std::unique_ptr<Accumulator>> ParsePercentile(const AccumulatorRow& row,
                                                     const Value& argument, ParseScope& scope) {
  ASSIGN_OR_RETURN(PercentileSpec spec, ParsePercentileSpec(row.name, argument, scope));
  return std::unique_ptr<Accumulator>(std::make_unique<Percentile>(row, std::move(spec)));
}

}  // namespace quire::expr
