// SPDX-License-Identifier: Apache-2.0
#include "exec/densify.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"
#include "expr/collation/collator.h"
#include "expr/sort/sort_key.h"

namespace quire::exec {

namespace {

// Orders rows by their partition, then the field, of a document made for it.
const expr::SortPattern& OutputOrder() {
  static const auto* pattern = [] {
    bson::Builder spec;
    spec.Append("partition", int32_t{1});
    spec.Append("field", int32_t{1});
    bson::Document document = spec.Finish();
    return new expr::SortPattern(*expr::SortPattern::Parse(document));
  }();
  return *pattern;
}

}  // namespace

Status Densify::CheckKey(const bson::Value& key) const {
  bool date = key.type() == bson::Type::kDate;
  if (!date && !key.is_number()) {
    return Status(5733201, "Densify field type must be numeric or a date");
  }
  if (date && !options_.unit) {
    return Status(6053600,
                  "Encountered date densify value in collection when step does not have a "
                  "date unit.");
  }
  if (!date && options_.unit) {
    return Status(6053601,
                  "Encountered non-date densify value in collection when step has a date "
                  "unit.");
  }
  return Status::Ok();
}

bson::Document Densify::IdOf(bson::View row) const {
  std::string id = bson::Document().bytes();
  for (const FieldPath& path : options_.partition_fields) {
    std::string next;
    SetNested(bson::View(id.data()), path, GetNested(row, path), &next);
    id.swap(next);
  }
  return bson::Document::FromTrusted(std::move(id));
}

Result<bson::Value> Densify::At(const bson::Value& start, int64_t k) const {
  bson::Value amount = bson::Multiply(options_.step.value(), bson::NarrowInt(k));
  if (!options_.unit) {
    return bson::Add(start, amount);
  }
  auto moved = expr::date::Add(start.AsDate().millis, *options_.unit, bson::ClampedInt64(amount),
                               expr::date::TimeZone());
  if (!moved) {
    return Status(5166406, "dateAdd overflowed");
  }
  return bson::Value(bson::Date{*moved});
}

Status Densify::Keep(const Row& row, const bson::Value& key) {
  RETURN_IF_ERROR(CheckKey(key));
  bson::Builder order;
  order.Append("partition", IdOf(row.document));
  order.Append("field", key);
  bson::Document wrapped = order.Finish();
  std::string bytes;
  RETURN_IF_ERROR(OutputOrder().AppendKey(wrapped, nullptr, *options_.context, &bytes));
  RETURN_IF_ERROR(sorter_->Add(bytes, row));
  if (least_of_all_.missing() || bson::Compare(key, least_of_all_.value()) < 0) {
    least_of_all_ = bson::OwnedValue(key);
  }
  if (most_of_all_.missing() || bson::Compare(key, most_of_all_.value()) > 0) {
    most_of_all_ = bson::OwnedValue(key);
  }
  return Status::Ok();
}

Result<bool> Densify::ReadInput(OpContext& op, Row* row) {
  if (!sorter_) {
    SorterOptions options;
    options.memory_limit = op.memory_limit;
    options.allow_disk = options_.allow_disk;
    sorter_ = std::make_unique<Sorter>(options);
  }
  while (true) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, input_->Next(op, row));
    if (!more) {
      break;
    }
    bson::Value key = GetNested(row->document, options_.field);
    if (key.nullish()) {
      return true;
    }
    RETURN_IF_ERROR(Keep(*row, key));
  }
  read_ = true;
  RETURN_IF_ERROR(sorter_->Finish());
  if (options_.bounds == DensifyOptions::Bounds::kExplicit) {
    least_of_all_ = options_.lower;
    most_of_all_ = options_.upper;
  }
  RETURN_IF_ERROR(Advance());
  bool fills_nothing =
      options_.bounds == DensifyOptions::Bounds::kExplicit && options_.partition_fields.empty();
  if (!more_ && fills_nothing) {
    BeginPartition(bson::Document(), least_of_all_.value(), most_of_all_.value());
  }
  return false;
}

Status Densify::Advance() {
  ASSIGN_OR_RETURN(more_, sorter_->Next(&pending_));
  if (more_) {
    pending_id_ = IdOf(pending_.document);
    pending_key_ = GetNested(pending_.document, options_.field);
  }
  return Status::Ok();
}

void Densify::BeginPartition(bson::Document id, const bson::Value& least, const bson::Value& most) {
  id_ = std::move(id);
  least_ = bson::OwnedValue(least);
  most_ = bson::OwnedValue(most);
  next_ = 0;
  inside_ = true;
}

Result<bool> Densify::GenerateBelow(const bson::Value& end, bson::View id, Row* row) {
  ASSIGN_OR_RETURN(bson::Value value, At(least_.value(), next_));
  if (bson::Compare(value, end) >= 0) {
    return false;
  }
  if (++generated_ > kMaxGenerated) {
    return Status(5897900, "Generated " + std::to_string(generated_) +
                               " documents in $densify, which is over the limit of " +
                               std::to_string(kMaxGenerated));
  }
  ++next_;
  document_.clear();
  SetNested(id, options_.field, value, &document_);
  *row = Row();
  row->document = bson::View(document_.data());
  return true;
}

// The pending row, or what is missing of the sequence before it.
Result<bool> Densify::ShowPending(Row* row) {
  bool to_the_row = options_.bounds == DensifyOptions::Bounds::kPartition ||
                    bson::Compare(pending_key_, most_.value()) < 0;
  ASSIGN_OR_RETURN(bool generated,
                   GenerateBelow(to_the_row ? pending_key_ : most_.value(), pending_id_, row));
  if (generated) {
    return true;
  }
  ASSIGN_OR_RETURN(bson::Value due, At(least_.value(), next_));
  if (bson::Compare(due, pending_key_) == 0) {
    ++next_;
  }
  document_.assign(pending_.document.bytes());
  *row = Row();
  row->document = bson::View(document_.data());
  RETURN_IF_ERROR(Advance());
  return true;
}

Result<bool> Densify::Produce(OpContext& op, Row* row) {
  if (!read_) {
    ASSIGN_OR_RETURN(bool shown, ReadInput(op, row));
    if (shown) {
      return true;
    }
  }
  while (true) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    bool same = more_ && inside_ &&
                bson::CompareDocuments(id_, pending_id_, options_.context->collator) == 0;
    if (same) {
      return ShowPending(row);
    }
    if (inside_ && options_.bounds != DensifyOptions::Bounds::kPartition) {
      ASSIGN_OR_RETURN(bool generated, GenerateBelow(most_.value(), id_, row));
      if (generated) {
        return true;
      }
    }
    inside_ = false;
    if (!more_) {
      return false;
    }
    bool own = options_.bounds == DensifyOptions::Bounds::kPartition;
    BeginPartition(pending_id_, own ? pending_key_ : least_of_all_.value(),
                   own ? pending_key_ : most_of_all_.value());
  }
}

}  // namespace quire::exec
