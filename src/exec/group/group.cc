// SPDX-License-Identifier: Apache-2.0
#include "exec/group/group.h"

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "exec/number_key.h"
#include "expr/collation/collator.h"
#include "expr/row_size.h"

namespace quire::exec {

namespace {

// Bytes of a part of a state.
size_t SizeOf(const bson::Value& part) {
  switch (part.type()) {
    case bson::Type::kDocument:
    case bson::Type::kArray:
      return part.AsDocument().size();
    case bson::Type::kBinary:
      return part.AsBinary().size();
    case bson::Type::kString:
      return part.AsString().size();
    default:
      return sizeof(bson::Decimal128);
  }
}

// MongoDB runs $group in another engine than other stages, with codes of its own.
Status InGroup(const Status& status) {
  constexpr std::string_view kByZero = "can't $divide by zero";
  const int code = status.code() == kBadValue && status.message() == kByZero ? 4848401
                   : status.code() == 16610                                  ? 4848403
                                                                             : status.code();
  return code == status.code() ? status : Status(code, status.message());
}

}  // namespace

Group::Group(std::unique_ptr<Operator> input, GroupOptions options)
    : Unary(std::move(input)),
      options_(std::move(options)),
      evaluation_(options_.context),
      table_(options_.context->collator) {}

Result<Group::State*> Group::NewState(const bson::Value& id) {
  State& state = states_.emplace_back();
  state.id = bson::OwnedValue(id);
  state.fields.reserve(options_.fields.size());
  for (const GroupOptions::Field& field : options_.fields) {
    ASSIGN_OR_RETURN(auto accumulation,
                     field.accumulator->Start(evaluation_.eval(), state.id.value()));
    state.fields.push_back(std::move(accumulation));
  }
  state.memory = sizeof(State) + state.id.memory();
  memory_ += state.memory;
  table_.Insert(state.id.value(), static_cast<uint32_t>(states_.size() - 1));
  return &state;
}

// Valid until the next evaluation.
Result<bson::Value> Group::KeyOf(const Row& row) {
  if (Merges()) {
    evaluation_.Start(row);
    return row.document["_id"];
  }
  Result<bson::Value> key = options_.id->Evaluate(evaluation_.Start(row));
  if (!key.ok()) {
    return InGroup(key.status());
  }
  bson::Value id = *key;
  if (id.missing()) {
    return bson::Value::Null();
  }
  bool empty = id.is_document() && id.AsDocument().empty();
  return empty && !options_.empty_key.empty() ? bson::Value(options_.empty_key) : id;
}

Status Group::Spill(OpContext& op) {
  if (!options_.allow_disk) {
    return Status(kQueryExceededMemoryLimitNoDiskUseAllowed,
                  "Exceeded memory limit for $group, but didn't allow external sort. Pass "
                  "allowDiskUse:true to opt in.");
  }
  if (!spilled_) {
    SorterOptions options;
    options.memory_limit = op.memory_limit / 4;
    options.allow_disk = true;
    spilled_ = std::make_unique<Sorter>(options);
  }
  ++counters_.spills;
  Row row;
  for (State& state : states_) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    const std::string key = NumberKey(bson::Hash(state.id.value(), options_.context->collator));
    for (bool last = false; !last;) {
      ASSIGN_OR_RETURN(last, ShowPartial(state, &row));
      RETURN_IF_ERROR(spilled_->Add(key, row));
    }
  }
  Clear();
  return Status::Ok();
}

Status Group::Take(const Row& row, size_t field, expr::Accumulation* state) {
  if (!Merges()) {
    return state->Add(evaluation_.eval());
  }
  const bson::Value part = row.document[options_.fields[field].name];
  return part.missing() ? Status::Ok() : state->Merge(part, evaluation_.eval());
}

Status Group::Add(const Row& row) {
  constexpr size_t kChecked = 16;  // fields of one row between two looks whether to stop
  ASSIGN_OR_RETURN(bson::Value id, KeyOf(row));
  uint32_t found = table_.Find(id);
  State* state = found == GroupTable::kNone ? nullptr : &states_[found];
  if (!state) {
    ASSIGN_OR_RETURN(state, NewState(id));
  }
  size_t held = 0;
  for (size_t i = 0; i < state->fields.size(); ++i) {
    if (Status added = Take(row, i, state->fields[i].get()); !added.ok()) {
      return InGroup(added);
    }
    held += state->fields[i]->memory();
    if (i % kChecked == kChecked - 1) {
      charge_.Set(memory_ + table_.memory() + held);
      RETURN_IF_ERROR(CheckCurrentOpNow());
    }
  }
  held += sizeof(State) + state->id.memory();
  memory_ += held - state->memory;
  state->memory = held;
  counters_.memory = std::max<uint64_t>(counters_.memory, memory_);
  charge_.Set(memory_ + table_.memory());
  return Status::Ok();
}

Status Group::ReadInput(OpContext& op) {
  Row row;
  for (;;) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, input_->Next(op, &row));
    if (!more) {
      break;
    }
    RETURN_IF_ERROR(Add(row));
    if (memory_ + table_.memory() > op.memory_limit) {
      RETURN_IF_ERROR(Spill(op));
    }
  }
  if (spilled_) {
    RETURN_IF_ERROR(Spill(op));
    RETURN_IF_ERROR(spilled_->Finish());
    merges_spilled_ = true;
    ASSIGN_OR_RETURN(more_spilled_, spilled_->Next(&pending_));
  }
  return Status::Ok();
}

Status Group::ReadSpilled(OpContext& op) {
  Clear();
  for (bool first = true; more_spilled_; first = false) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bson::Value id, KeyOf(pending_));
    uint64_t hash = bson::Hash(id, options_.context->collator);
    if (!first && hash != pending_hash_) {
      break;
    }
    pending_hash_ = hash;
    RETURN_IF_ERROR(Add(pending_));
    ASSIGN_OR_RETURN(more_spilled_, spilled_->Next(&pending_));
  }
  return Status::Ok();
}

void Group::Clear() {
  table_.Clear();
  states_.clear();
  next_ = 0;
  memory_ = 0;
  charge_.Set(0);
}

Status Group::Show(const State& state, Row* row) {
  arena_.Reset();
  document_.clear();
  bson::Builder builder(&document_);
  builder.Append("_id", state.id.value());
  for (size_t i = 0; i < state.fields.size(); ++i) {
    ASSIGN_OR_RETURN(bson::Value value, state.fields[i]->Finish(&arena_));
    builder.Append(options_.fields[i].name, value);
    RETURN_IF_ERROR(expr::CheckRowSize(document_.size()));
  }
  builder.Close();
  *row = Row();
  row->document = bson::View(document_.data());
  return Status::Ok();
}

Result<bool> Group::ShowPartial(State& state, Row* row) {
  constexpr size_t kRowBytes = 4 * expr::Accumulation::kPartBytes;
  if (parts_.empty()) {
    arena_.Reset();
    for (const auto& field : state.fields) {
      ASSIGN_OR_RETURN(std::vector<bson::Value> parts, field->Partial(&arena_));
      parts_.emplace_back(parts.begin(), parts.end());
    }
  }
  document_.clear();
  bson::Builder builder(&document_);
  builder.Append("_id", state.id.value());
  bool any = false;
  bool more = false;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i].empty() && (!any || document_.size() + SizeOf(parts_[i].front()) <= kRowBytes)) {
      builder.Append(options_.fields[i].name, parts_[i].front());
      parts_[i].pop_front();
      any = true;
    }
    more = more || !parts_[i].empty();
  }
  builder.Close();
  *row = Row();
  row->document = bson::View(document_.data());
  if (!more) {
    parts_.clear();
  }
  return !more;
}

Result<bool> Group::Produce(OpContext& op, Row* row) {
  if (!read_) {
    RETURN_IF_ERROR(ReadInput(op));
    read_ = true;
  }
  if (next_ == states_.size()) {
    if (!more_spilled_) {
      return false;
    }
    RETURN_IF_ERROR(ReadSpilled(op));
  }
  if (options_.gives_partials) {
    ASSIGN_OR_RETURN(bool last, ShowPartial(states_[next_], row));
    next_ += last ? 1 : 0;
  } else {
    RETURN_IF_ERROR(Show(states_[next_++], row));
  }
  return true;
}

}  // namespace quire::exec
