// SPDX-License-Identifier: Apache-2.0
#include "exec/bucket_auto.h"

#include <algorithm>
#include <cmath>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/collation/collator.h"

namespace quire::exec {

BucketAuto::BucketAuto(std::unique_ptr<Operator> input, BucketAutoOptions options)
    : Unary(std::move(input)), options_(std::move(options)), evaluation_(options_.base.context) {}

int BucketAuto::Order(const Item& a, const Item& b) const {
  return bson::Compare(a.value.value(), b.value.value(), options_.base.context->collator);
}

Status BucketAuto::ReadInput(OpContext& op) {
  Row row;
  size_t memory = 0;
  for (;;) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, input_->Next(op, &row));
    if (!more) {
      break;
    }
    ASSIGN_OR_RETURN(bson::Value value, options_.base.id->Evaluate(evaluation_.Start(row)));
    if (value.nullish()) {
      value = bson::Value::Null();
    }
    RETURN_IF_ERROR(CheckGranularity(value));
    items_.push_back({bson::OwnedValue(value), bson::Document(row.document)});
    memory += sizeof(Item) + row.document.size() + items_.back().value.memory();
    if (memory > op.memory_limit && !options_.base.allow_disk) {
      return Status(kQueryExceededMemoryLimitNoDiskUseAllowed,
                    "$bucketAuto exceeded its memory limit, but didn't allow external sort. Pass "
                    "allowDiskUse:true to opt in.");
    }
  }
  std::stable_sort(items_.begin(), items_.end(),
                   [&](const Item& a, const Item& b) { return Order(a, b) < 0; });
  return Status::Ok();
}

Status BucketAuto::CheckGranularity(const bson::Value& value) const {
  if (!options_.series) {
    return Status::Ok();
  }
  if (!value.is_number()) {
    return Status(40258,
                  "$bucketAuto can specify a 'granularity' with numeric boundaries only, but "
                  "found a value with type: " +
                      std::string(bson::TypeName(value.type())));
  }
  double number = bson::ToDouble(value);
  if (std::isnan(number)) {
    return Status(40259,
                  "$bucketAuto can specify a 'granularity' with numeric boundaries only, but "
                  "found a NaN");
  }
  if (number < 0) {
    return Status(40260,
                  "$bucketAuto can specify a 'granularity' with non-negative numbers only, "
                  "but found a negative number");
  }
  return Status::Ok();
}

Status BucketAuto::StartBucket(const bson::Value& min) {
  Bucket& bucket = buckets_.emplace_back();
  bucket.min = bson::OwnedValue(min);
  bucket.max = bucket.min;
  for (const GroupOptions::Field& field : options_.base.fields) {
    ASSIGN_OR_RETURN(auto made, field.accumulator->Start(evaluation_.eval(), bson::Value::Null()));
    bucket.fields.push_back(std::move(made));
  }
  return Status::Ok();
}

Status BucketAuto::AddItem(const Item& item) {
  Row row;
  row.document = item.document.view();
  expr::agg::EvalContext& eval = evaluation_.Start(row);
  Bucket& bucket = buckets_.back();
  bucket.max = item.value;
  for (const auto& field : bucket.fields) {
    RETURN_IF_ERROR(field->Add(eval));
  }
  return Status::Ok();
}

bson::OwnedValue BucketAuto::Rounded(const bson::Value& value, bool up) const {
  double number = bson::ToDouble(value);
  double rounded = up ? RoundUp(*options_.series, number) : RoundDown(*options_.series, number);
  bool powers = options_.series->values.empty();
  bool integer = value.type() == bson::Type::kInt32 || value.type() == bson::Type::kInt64;
  if (powers && integer && rounded == std::trunc(rounded) && rounded < 0x1p62) {
    return bson::OwnedValue(bson::NarrowInt(static_cast<int64_t>(rounded)));
  }
  return bson::OwnedValue(bson::Value(rounded));
}

Status BucketAuto::MakeBuckets() {
  auto wanted = static_cast<size_t>(options_.buckets);
  size_t size = std::max<size_t>(1, (items_.size() + wanted / 2) / wanted);
  const bson::StringCompare* strings = options_.base.context->collator;
  size_t at = 0;
  while (at < items_.size()) {
    bool last = buckets_.size() + 1 == wanted;
    RETURN_IF_ERROR(StartBucket(items_[at].value.value()));
    size_t end = last ? items_.size() : std::min(items_.size(), at + size);
    for (; at < end; ++at) {
      RETURN_IF_ERROR(AddItem(items_[at]));
    }
    if (options_.series) {
      Bucket& bucket = buckets_.back();
      bucket.max = Rounded(bucket.max.value(), true);
      while (at < items_.size() &&
             (last || bson::Compare(items_[at].value.value(), bucket.max.value(), strings) < 0)) {
        bson::OwnedValue boundary = bucket.max;
        RETURN_IF_ERROR(AddItem(items_[at++]));
        bucket.max = boundary;
      }
    } else {
      while (at < items_.size() && Order(items_[at], items_[at - 1]) == 0) {
        RETURN_IF_ERROR(AddItem(items_[at++]));
      }
    }
  }
  for (size_t i = 0; i < buckets_.size(); ++i) {
    if (options_.series) {
      buckets_[i].min = i == 0 ? Rounded(buckets_[0].min.value(), false) : buckets_[i - 1].max;
    } else if (i > 0) {
      buckets_[i - 1].max = buckets_[i].min;
    }
  }
  items_.clear();
  return Status::Ok();
}

Status BucketAuto::Show(Bucket& bucket, Row* row) {
  arena_.Reset();
  document_.clear();
  bson::Builder builder(&document_);
  builder.BeginDocument("_id")
      .Append("min", bucket.min.value())
      .Append("max", bucket.max.value())
      .End();
  for (size_t i = 0; i < bucket.fields.size(); ++i) {
    ASSIGN_OR_RETURN(bson::Value value, bucket.fields[i]->Finish(&arena_));
    builder.Append(options_.base.fields[i].name, value);
  }
  builder.Close();
  *row = Row();
  row->document = bson::View(document_.data());
  return Status::Ok();
}

Result<bool> BucketAuto::Produce(OpContext& op, Row* row) {
  if (!read_) {
    RETURN_IF_ERROR(ReadInput(op));
    RETURN_IF_ERROR(MakeBuckets());
    read_ = true;
  }
  if (next_ == buckets_.size()) {
    return false;
  }
  RETURN_IF_ERROR(Show(buckets_[next_++], row));
  return true;
}

}  // namespace quire::exec
