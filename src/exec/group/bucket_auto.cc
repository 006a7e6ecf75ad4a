// SPDX-License-Identifier: Apache-2.0
#include "exec/group/bucket_auto.h"

#include <algorithm>
#include <cmath>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "bson/ordered.h"
#include "expr/collation/collator.h"
#include "expr/row_size.h"

namespace quire::exec {

BucketAuto::BucketAuto(std::unique_ptr<Operator> input, BucketAutoOptions options)
    : Unary(std::move(input)), options_(std::move(options)), evaluation_(options_.base.context) {}

int BucketAuto::Compare(const bson::Value& a, const bson::Value& b) const {
  return bson::Compare(a, b, options_.base.context->collator);
}

Status BucketAuto::ReadInput(OpContext& op) {
  if (sorter_ == nullptr) {
    SorterOptions options;
    options.memory_limit = op.memory_limit;
    options.allow_disk = options_.base.allow_disk;
    sorter_ = std::make_unique<Sorter>(options);
  }
  Row row;
  std::string key;
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
    key.clear();
    bson::AppendOrdered(value, bson::Direction::kAscending, options_.base.context->collator, &key,
                        nullptr);
    RETURN_IF_ERROR(sorter_->Add(key, row));
    ++rows_;
  }
  RETURN_IF_ERROR(sorter_->Finish());
  counters_.spills = sorter_->spills();
  return NextPending();
}

Status BucketAuto::NextPending() {
  ASSIGN_OR_RETURN(more_, sorter_->Next(&pending_));
  if (!more_) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(bson::Value value, options_.base.id->Evaluate(evaluation_.Start(pending_)));
  value_ = bson::OwnedValue(value.nullish() ? bson::Value::Null() : value);
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

Status BucketAuto::AddPending() {
  expr::agg::EvalContext& eval = evaluation_.Start(pending_);
  Bucket& bucket = buckets_.back();
  bucket.max = value_;
  for (const auto& field : bucket.fields) {
    RETURN_IF_ERROR(field->Add(eval));
  }
  return NextPending();
}

bson::OwnedValue BucketAuto::Rounded(const bson::Value& value, bool up) const {
  double number = bson::ToDouble(value);
  if (number == 0) {
    return bson::OwnedValue(value);
  }
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
  size_t size = std::max<size_t>(1, (rows_ + wanted / 2) / wanted);
  while (more_) {
    bool last = buckets_.size() + 1 == wanted;
    RETURN_IF_ERROR(StartBucket(value_.value()));
    Bucket& bucket = buckets_.back();
    for (size_t n = 0; more_ && (last || n < size); ++n) {
      RETURN_IF_ERROR(AddPending());
    }
    if (options_.series) {
      bson::OwnedValue boundary = Rounded(bucket.max.value(), true);
      while (more_ && Compare(value_.value(), boundary.value()) < 0) {
        RETURN_IF_ERROR(AddPending());
      }
      bucket.max = boundary;
    } else {
      while (more_ && Compare(value_.value(), bucket.max.value()) == 0) {
        RETURN_IF_ERROR(AddPending());
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
  sorter_.reset();
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
    RETURN_IF_ERROR(expr::CheckRowSize(document_.size()));
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
