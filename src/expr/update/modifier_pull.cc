// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <unordered_set>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "expr/collation/collator.h"
#include "expr/match/match.h"
#include "expr/update/array_writer_internal.h"
#include "expr/update/modifier_internal.h"

namespace quire::expr::update {

namespace {

using bson::Type;
using bson::Value;

// Removes the elements that `Drops` says yes to.
class Culling : public Modifier {
 public:
  Result<Effect> Apply(const Site& site, Value* result) const override {
    if (!site.old.is_array()) {
      return Status(kBadValue, "Cannot apply $pull to a non-array value");
    }
    ArrayWriter writer(site.old.AsArray().size());
    bool dropped = false;
    for (const bson::Element& element : site.old.AsArray()) {
      ASSIGN_OR_RETURN(bool drop, Drops(element.value(), site.context));
      dropped |= drop;
      if (!drop) {
        writer.Add(element.value());
      }
    }
    if (!dropped) {
      return Effect::kNone;
    }
    *result = writer.Finish(site.arena);
    return Effect::kSet;
  }

 protected:
  virtual Result<bool> Drops(const Value& element, const Context* context) const = 0;
};

class PullValues : public Culling {
 public:
  explicit PullValues(std::vector<Value> values) : values_(std::move(values)) {}

 protected:
  Result<bool> Drops(const Value& element, const Context* context) const override {
    if (values_.size() > kFew) {
      RETURN_IF_ERROR(CheckCurrentOp());
      return Lookup(context).contains(element);
    }
    return std::any_of(values_.begin(), values_.end(), [&](const Value& value) {
      return CompareValues(element, value, context) == 0;
    });
  }

 private:
  using ValueSet = std::unordered_set<Value, bson::ValueHash, bson::ValueEqual>;
  static constexpr size_t kFew = 4;  // values that are cheaper compared with all than looked up

  const ValueSet& Lookup(const Context* context) const {
    if (set_ == nullptr) {
      const Collator* collator = context != nullptr ? context->collator : nullptr;
      set_ = std::make_unique<ValueSet>(values_.begin(), values_.end(), values_.size(),
                                        bson::ValueHash{collator}, bson::ValueEqual{collator});
    }
    return *set_;
  }

  std::vector<Value> values_;
  mutable std::unique_ptr<ValueSet> set_;  // of an update's one context; made when first needed
};

// {$pull: {a: {x: 1}}}: elements that are documents matching the filter.
class PullDocuments : public Culling {
 public:
  explicit PullDocuments(std::unique_ptr<match::Filter> filter) : filter_(std::move(filter)) {}

 protected:
  Result<bool> Drops(const Value& element, const Context*) const override {
    if (!element.is_document()) {
      return false;
    }
    return filter_->Matches(element.AsDocument());
  }

 private:
  std::unique_ptr<match::Filter> filter_;
};

// {$pull: {a: {$gt: 1}}}: elements satisfying operators, seen as a field of a document.
class PullMatching : public Culling {
 public:
  explicit PullMatching(std::unique_ptr<match::Filter> filter) : filter_(std::move(filter)) {}
  static constexpr std::string_view kField = "e";

 protected:
  Result<bool> Drops(const Value& element, const Context*) const override {
    bson::Builder wrapper;
    wrapper.Append(kField, element);
    bson::Document document = wrapper.Finish();
    return filter_->Matches(document);
  }

 private:
  std::unique_ptr<match::Filter> filter_;
};

// Operators that stand at the top of a filter rather than behind a field.
bool IsTopLevelOperator(std::string_view name) {
  constexpr std::string_view kNames[] = {"$and",   "$or",      "$nor",        "$expr", "$text",
                                         "$where", "$comment", "$jsonSchema", "$not"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool IsReference(std::string_view name) { return name == "$ref" || name == "$id" || name == "$db"; }

}  // namespace

Result<std::unique_ptr<Modifier>> ParsePull(const bson::Element& argument, const Context* context) {
  Value spec = argument.value();
  bool operators = spec.type() == Type::kRegex;
  if (spec.is_document()) {
    bson::View fields = spec.AsDocument();
    std::string_view first = fields.empty() ? std::string_view() : fields.front().name();
    operators = !first.empty() && first[0] == '$' && !IsTopLevelOperator(first);
    if (!operators) {
      ASSIGN_OR_RETURN(auto filter, match::Filter::Parse(fields, context));
      return std::unique_ptr<Modifier>(std::make_unique<PullDocuments>(std::move(filter)));
    }
    operators = !IsReference(first);
  }
  if (!operators) {
    return std::unique_ptr<Modifier>(std::make_unique<PullValues>(std::vector<Value>{spec}));
  }
  bson::Builder wrapper;
  wrapper.Append(PullMatching::kField, spec);
  bson::Document wrapped = wrapper.Finish();
  ASSIGN_OR_RETURN(auto filter, match::Filter::Parse(wrapped, context));
  return std::unique_ptr<Modifier>(std::make_unique<PullMatching>(std::move(filter)));
}

Result<std::unique_ptr<Modifier>> ParsePullAll(const bson::Element& argument, const Context*) {
  Value spec = argument.value();
  if (!spec.is_array()) {
    return Status(kBadValue, "$pullAll requires an array argument but was given a " +
                                 std::string(bson::TypeName(spec.type())));
  }
  std::vector<Value> values;
  for (const bson::Element& element : spec.AsArray()) {
    values.push_back(element.value());
  }
  return std::unique_ptr<Modifier>(std::make_unique<PullValues>(std::move(values)));
}

}  // namespace quire::expr::update
