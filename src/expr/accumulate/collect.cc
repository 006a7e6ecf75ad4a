// SPDX-License-Identifier: Apache-2.0
//
// $push, $addToSet, $concatArrays, $setUnion and $mergeObjects.
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "base/error_codes.h"
#include "base/keyed_hash.h"
#include "base/try.h"
#include "bson/compare.h"
#include "expr/accumulate/accumulation_internal.h"

namespace quire::expr {

namespace {

// Values in the order they came, appended to one growing array.
class ArrayCollector {
 public:
  ArrayCollector() : builder_(&bytes_) {}
  void Push(const Value& value) { builder_.Push(value); }
  Value Copy(Arena* arena) const {
    std::string copy = bytes_;
    copy.push_back('\0');
    auto size = static_cast<uint32_t>(copy.size());
    memcpy(copy.data(), &size, sizeof size);
    return Value::Array(bson::View(arena->Adopt(std::move(copy)).data()));
  }
  size_t memory() const { return bytes_.capacity(); }

 private:
  std::string bytes_;
  bson::Builder builder_;
};

// All values, or all elements of arrays, in the order in which they come.
class Collect : public UnaryAccumulation {
 public:
  using UnaryAccumulation::UnaryAccumulation;
  Result<Value> Finish(Arena* arena) override { return values_.Copy(arena); }
  Result<std::vector<Value>> Partial(Arena* arena) override {
    PartWriter parts(arena);
    for (const bson::Element& element : values_.Copy(arena).AsArray()) {
      parts.Push(element.value());
    }
    return parts.Finish();
  }
  Status Merge(const Value& part, EvalContext&) override {
    return ForEachOfPart(op(), part, [&](const Value& element) { return Keep(element); });
  }
  size_t memory() const override { return sizeof *this + values_.memory(); }

 protected:
  virtual std::string_view op() const = 0;
  Status Keep(const Value& value) {
    values_.Push(value);
    return CheckMemory(op(), values_.memory());
  }

 private:
  ArrayCollector values_;
};

class Push final : public Collect {
 public:
  using Collect::Collect;

 protected:
  Status Take(const Value& value, const EvalContext&) override {
    return value.missing() ? Status::Ok() : Keep(value);
  }
  std::string_view op() const override { return "$push"; }
};

Status NotArray(std::string_view op, const Value& value) {
  return Status(kTypeMismatch, std::string(op) + " requires an array input, but input is of type " +
                                   std::string(bson::TypeName(value.type())));
}

// Calls visit(element) for each; a missing value has none. Error: TypeMismatch for what is no
// array.
template <typename Visit>
Status ForEachElement(std::string_view op, const Value& value, const Visit& visit) {
  if (value.missing()) {
    return Status::Ok();
  }
  if (!value.is_array()) {
    return NotArray(op, value);
  }
  for (const bson::Element& element : value.AsArray()) {
    RETURN_IF_ERROR(visit(element.value()));
  }
  return Status::Ok();
}

class ConcatArrays final : public Collect {
 public:
  using Collect::Collect;

 protected:
  Status Take(const Value& value, const EvalContext&) override {
    return ForEachElement(op(), value, [&](const Value& element) { return Keep(element); });
  }
  std::string_view op() const override { return "$concatArrays"; }
};

// Distinct values in the order of their first occurrence.
class ValueSet {
 public:
  Status Insert(const Value& value, const EvalContext& eval, std::string_view op) {
    if (index_ == nullptr) {
      const Collator* collator = CollatorOf(eval);
      index_ = std::make_unique<Index>(16, bson::ValueHash{collator}, bson::ValueEqual{collator});
    }
    if (index_->contains(value)) {
      return Status::Ok();
    }
    values_.emplace_back(value);
    index_->insert(values_.back().value());
    memory_ += values_.back().memory() + 48;
    return CheckMemory(op, memory_);
  }
  Value ToArray(Arena* arena) const { return ArrayOf(values_, arena); }
  std::vector<Value> ToParts(Arena* arena) const { return PartsOf(values_, arena); }
  size_t memory() const { return memory_; }

 private:
  using Index = std::unordered_set<Value, bson::ValueHash, bson::ValueEqual>;
  std::deque<bson::OwnedValue> values_;
  std::unique_ptr<Index> index_;
  size_t memory_ = 0;
};

class CollectDistinct : public UnaryAccumulation {
 public:
  using UnaryAccumulation::UnaryAccumulation;
  Result<Value> Finish(Arena* arena) override { return set_.ToArray(arena); }
  Result<std::vector<Value>> Partial(Arena* arena) override { return set_.ToParts(arena); }
  Status Merge(const Value& part, EvalContext& eval) override {
    return ForEachOfPart(op(), part,
                         [&](const Value& element) { return set_.Insert(element, eval, op()); });
  }
  size_t memory() const override { return sizeof *this + set_.memory(); }

 protected:
  virtual std::string_view op() const = 0;
  ValueSet set_;
};

class AddToSet final : public CollectDistinct {
 public:
  using CollectDistinct::CollectDistinct;

 protected:
  Status Take(const Value& value, const EvalContext& eval) override {
    return value.missing() ? Status::Ok() : set_.Insert(value, eval, op());
  }
  std::string_view op() const override { return "$addToSet"; }
};

class SetUnion final : public CollectDistinct {
 public:
  using CollectDistinct::CollectDistinct;

 protected:
  Status Take(const Value& value, const EvalContext& eval) override {
    return ForEachElement(op(), value,
                          [&](const Value& element) { return set_.Insert(element, eval, op()); });
  }
  std::string_view op() const override { return "$setUnion"; }
};

class MergeObjects final : public UnaryAccumulation {
 public:
  using UnaryAccumulation::UnaryAccumulation;
  Result<Value> Finish(Arena* arena) override {
    std::string bytes;
    bson::Builder out(&bytes);
    for (const auto& [name, value] : fields_) {
      out.Append(name, value.value());
    }
    out.Close();
    return Value(bson::View(arena->Adopt(std::move(bytes)).data()));
  }
  // Documents of some of the fields each.
  Result<std::vector<Value>> Partial(Arena* arena) override {
    std::vector<Value> parts;
    for (auto field = fields_.begin(); field != fields_.end();) {
      std::string bytes;
      bson::Builder out(&bytes);
      for (; field != fields_.end() && bytes.size() < kPartBytes; ++field) {
        out.Append(field->first, field->second.value());
      }
      out.Close();
      parts.emplace_back(bson::View(arena->Adopt(std::move(bytes)).data()));
    }
    return parts;
  }
  Status Merge(const Value& part, EvalContext& eval) override {
    return part.is_document() ? Take(part, eval) : NotAPart("$mergeObjects", part);
  }
  size_t memory() const override { return sizeof *this + memory_; }

 protected:
  Status Take(const Value& value, const EvalContext&) override {
    if (value.nullish()) {
      return Status::Ok();
    }
    if (!value.is_document()) {
      return Status(5911200, "$mergeObjects requires object inputs, but input is of type " +
                                 std::string(bson::TypeName(value.type())));
    }
    for (const bson::Element& element : value.AsDocument()) {
      Set(element);
    }
    return CheckMemory("$mergeObjects", memory_);
  }

 private:
  void Set(const bson::Element& element) {
    bson::OwnedValue copy(element.value());
    memory_ += copy.memory();
    auto it = index_.find(element.name());
    if (it != index_.end()) {
      memory_ -= fields_[it->second].second.memory();
      fields_[it->second].second = std::move(copy);
      return;
    }
    fields_.emplace_back(std::string(element.name()), std::move(copy));
    index_.emplace(fields_.back().first, fields_.size() - 1);
    memory_ += element.name().size() + 64;
  }
  std::deque<std::pair<std::string, bson::OwnedValue>> fields_;
  std::unordered_map<std::string_view, size_t, KeyedStringHash> index_;
  size_t memory_ = 0;
};

}  // namespace

std::unique_ptr<Accumulation> StartPush(const Expression& argument) {
  return std::make_unique<Push>(argument);
}

std::unique_ptr<Accumulation> StartConcatArrays(const Expression& argument) {
  return std::make_unique<ConcatArrays>(argument);
}

std::unique_ptr<Accumulation> StartAddToSet(const Expression& argument) {
  return std::make_unique<AddToSet>(argument);
}

std::unique_ptr<Accumulation> StartSetUnion(const Expression& argument) {
  return std::make_unique<SetUnion>(argument);
}

std::unique_ptr<Accumulation> StartMergeObjects(const Expression& argument) {
  return std::make_unique<MergeObjects>(argument);
}

}  // namespace quire::expr
