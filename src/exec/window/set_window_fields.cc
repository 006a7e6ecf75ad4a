// SPDX-License-Identifier: Apache-2.0
#include "exec/window/set_window_fields.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "expr/collation/collator.h"
#include "expr/row_size.h"

namespace quire::exec {

namespace {

// Orders partitions: by the value of the one field of a document made for it.
const expr::SortPattern& PartitionPattern() {
  static const auto* pattern = [] {
    bson::Builder spec;
    spec.Append("p", int32_t{1});
    bson::Document document = spec.Finish();
    return new expr::SortPattern(*expr::SortPattern::Parse(document));
  }();
  return *pattern;
}

}  // namespace

SetWindowFields::SetWindowFields(std::unique_ptr<Operator> input, WindowOptions options)
    : Unary(std::move(input)), options_(std::move(options)), evaluation_(options_.context) {}

Result<bson::OwnedValue> SetWindowFields::PartitionOf(const Row& row) {
  if (!options_.partition_by) {
    return bson::OwnedValue(bson::Value::Null());
  }
  ASSIGN_OR_RETURN(bson::Value value, options_.partition_by->Evaluate(evaluation_.Start(row)));
  if (value.is_array()) {
    return Status(kTypeMismatch,
                  "An expression used to partition cannot evaluate to value of type array");
  }
  return bson::OwnedValue(value.nullish() ? bson::Value::Null() : value);
}

Status SetWindowFields::ReadInput(OpContext& op) {
  if (sorter_ == nullptr) {
    SorterOptions options;
    options.memory_limit = op.memory_limit;
    options.allow_disk = options_.allow_disk;
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
    ASSIGN_OR_RETURN(bson::OwnedValue partition, PartitionOf(row));
    bson::Builder wrapper;
    wrapper.Append("p", partition.value());
    bson::Document wrapped = wrapper.Finish();
    key.clear();
    RETURN_IF_ERROR(PartitionPattern().AppendKey(wrapped, nullptr, *options_.context, &key));
    RETURN_IF_ERROR(options_.sort->AppendKey(row.document, &row.meta, *options_.context, &key));
    RETURN_IF_ERROR(sorter_->Add(key, row));
  }
  RETURN_IF_ERROR(sorter_->Finish());
  ASSIGN_OR_RETURN(more_, sorter_->Next(&pending_));
  if (more_) {
    ASSIGN_OR_RETURN(pending_partition_, PartitionOf(pending_));
  }
  return Status::Ok();
}

Status SetWindowFields::NextPartition(OpContext& op) {
  running_.clear();
  rows_ = std::make_unique<PartitionRows>(op.memory_limit, options_.allow_disk);
  next_ = 0;
  const size_t beside = options_.outputs.size() * sizeof(bson::OwnedValue);
  bson::OwnedValue partition = pending_partition_;
  while (more_ && bson::Compare(partition.value(), pending_partition_.value(),
                                options_.context->collator) == 0) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    RETURN_IF_ERROR(rows_->Add(pending_.document, beside));
    ASSIGN_OR_RETURN(more_, sorter_->Next(&pending_));
    if (more_) {
      ASSIGN_OR_RETURN(pending_partition_, PartitionOf(pending_));
    }
  }
  RETURN_IF_ERROR(rows_->Seal());
  return StartFunctions();
}

Status SetWindowFields::StartFunctions() {
  for (const WindowOptions::Output& output : options_.outputs) {
    Running& running = running_.emplace_back();
    running.partition = std::make_unique<Partition>(*rows_, *options_.sort, options_.context);
    ASSIGN_OR_RETURN(running.values, output.function->Start(*running.partition));
  }
  return Status::Ok();
}

Status SetWindowFields::Show(OpContext& op, size_t at, Row* row) {
  *row = Row();
  row->document = rows_->At(at);
  for (size_t i = 0; i < options_.outputs.size(); ++i) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bson::Value value, running_[i].values->Next());
    previous_.clear();
    SetNested(row->document, options_.outputs[i].path, value, &previous_);
    document_.swap(previous_);
    charge_.Set(document_.capacity() + previous_.capacity());
    RETURN_IF_ERROR(expr::CheckRowSize(document_.size()));
    row->document = bson::View(document_.data());
  }
  return Status::Ok();
}

Result<bool> SetWindowFields::Produce(OpContext& op, Row* row) {
  if (!read_) {
    RETURN_IF_ERROR(ReadInput(op));
    read_ = true;
  }
  if (rows_ == nullptr || next_ == rows_->size()) {
    if (!more_) {
      return false;
    }
    RETURN_IF_ERROR(NextPartition(op));
  }
  RETURN_IF_ERROR(Show(op, next_++, row));
  return true;
}

}  // namespace quire::exec
