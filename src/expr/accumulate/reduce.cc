// SPDX-License-Identifier: Apache-2.0
#include "expr/accumulate/reduce.h"

#include <optional>

#include "base/try.h"
#include "expr/accumulate/accumulation_internal.h"

namespace quire::expr {

namespace {

// A key's values are reduced when they are this many or take this many bytes.
constexpr size_t kMaxValues = 2000;
constexpr size_t kMaxBytes = size_t{1} << 20;

class Reduction final : public Accumulation {
 public:
  Reduction(const js::Function& reduce, const Value& key) : reduce_(reduce), key_(key) { Clear(); }

  Status Add(EvalContext& eval) override { return Keep(eval.root.AsDocument()["v"], eval); }
  Result<Value> Finish(Arena* arena) override { return Reduce(arena); }
  // What the values are reduced to, alone in an array.
  Result<std::vector<Value>> Partial(Arena* arena) override {
    std::vector<Value> parts;
    if (values_->pushed() > 0) {
      ASSIGN_OR_RETURN(Value reduced, Reduce(arena));
      PartWriter writer(arena);
      writer.Push(reduced);
      parts = writer.Finish();
    }
    return parts;
  }
  Status Merge(const Value& part, EvalContext& eval) override {
    reduced_ = reduced_ || values_->pushed() == 0;
    return ForEachOfPart("mapReduce", part, [&](const Value& value) { return Keep(value, eval); });
  }
  size_t memory() const override { return sizeof *this + bytes_.capacity() + key_.memory(); }

 private:
  Status Keep(const Value& value, EvalContext& eval) {
    values_->Push(value);
    if (values_->pushed() < kMaxValues && bytes_.size() < next_) {
      return Status::Ok();
    }
    ASSIGN_OR_RETURN(Value reduced, Reduce(eval.arena));
    bson::OwnedValue kept(reduced);
    Clear();
    values_->Push(kept.value());
    reduced_ = true;
    // Values that do not shrink are not reduced again for each that comes.
    next_ = std::max(kMaxBytes, 2 * bytes_.size());
    return CheckMemory("mapReduce", bytes_.size());
  }

  void Clear() {
    values_.reset();
    bytes_.clear();
    values_.emplace(&bytes_);
  }

  Result<Value> Reduce(Arena* arena) {
    std::string copy = bytes_;
    copy.push_back('\0');
    auto size = static_cast<uint32_t>(copy.size());
    memcpy(copy.data(), &size, sizeof size);
    bson::View list(arena->Adopt(std::move(copy)).data());
    if (reduced_ && values_->pushed() == 1) {
      return list.front().value();
    }
    Value arguments[] = {key_.value(), Value::Array(list)};
    return reduce_.Call(Value(), arguments, arena);
  }

  const js::Function& reduce_;
  bson::OwnedValue key_;
  std::string bytes_;  // an array being written
  std::optional<bson::Builder> values_;
  size_t next_ = kMaxBytes;
  bool reduced_ = false;  // the first of them is a result already
};

class ReduceAccumulator final : public Accumulator {
 public:
  explicit ReduceAccumulator(js::Function reduce) : reduce_(std::move(reduce)) {}

  Result<std::unique_ptr<Accumulation>> Start(EvalContext&, const Value& group) const override {
    return std::unique_ptr<Accumulation>(std::make_unique<Reduction>(reduce_, group));
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    fields->insert("v");
    return true;
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->Append(name, Value::Code(std::string_view(reduce_.source())));
  }

 private:
  const js::Function reduce_;
};

}  // namespace

std::unique_ptr<Accumulator> MakeReduce(js::Function reduce) {
  return std::make_unique<ReduceAccumulator>(std::move(reduce));
}

}  // namespace quire::expr
