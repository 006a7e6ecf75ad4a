// SPDX-License-Identifier: Apache-2.0
#include "store/records/records.h"

#include <algorithm>
#include <bit>
#include <span>

#include "base/error_codes.h"
#include "base/try.h"
#include "store/records/record_keys.h"

namespace quire::store {

namespace {

// Looks once at what lies beside a group from before this process, so that later reads need not.
Status LookBeside(kv::Txn& txn, CollectionState& state, int64_t number) {
  const RecordId first = FirstIdOf(number);
  ASSIGN_OR_RETURN(auto records, txn.Scan({RecordKey(state.table, first),
                                           RecordKey(state.table, first + kGroupSlots)},
                                          kv::Direction::kForward));
  uint64_t slots = 0;
  while (true) {
    ASSIGN_OR_RETURN(bool more, records->Next());
    if (!more) {
      break;
    }
    slots |= SlotBit(ReadRecordId(records->key().substr(4)));
  }
  state.beside.Learn(number, slots);
  return Status::Ok();
}

// Shows the document of `id` in the group; false when it has none.
Result<bool> ShowGrouped(TableId table, RecordId id, const kv::ReadValue& group,
                         kv::ReadValue* value) {
  GroupView view;
  if (!view.Read(group.view())) {
    return DamagedGroup(table, GroupOf(id));
  }
  if (!view.Has(SlotOf(id))) {
    return false;
  }
  const std::string_view document = view.At(view.RankOf(SlotOf(id)));
  if (document.empty()) {
    return DamagedGroup(table, GroupOf(id));
  }
  value->ShowPart(group, document);
  return true;
}

Result<bool> GetGrouped(kv::Txn& txn, CollectionState& state, RecordId id, kv::ReadValue* value) {
  kv::ReadValue group;
  ASSIGN_OR_RETURN(bool found,
                   txn.Get(GroupKey(state.table, GroupOf(id)), &group, kv::Reads::kByKey));
  return found ? ShowGrouped(state.table, id, group, value) : Result<bool>(false);
}

// Keys of one length, one after the other in one string.
class Keys {
 public:
  Keys(size_t count, size_t size) : size_(size) { bytes_.reserve(count * size); }
  std::string* bytes() { return &bytes_; }
  std::vector<std::string_view> Views() const {
    std::vector<std::string_view> views;
    views.reserve(bytes_.size() / size_);
    for (size_t at = 0; at < bytes_.size(); at += size_) {
      views.push_back(std::string_view(bytes_).substr(at, size_));
    }
    return views;
  }

 private:
  const size_t size_;
  std::string bytes_;
};

// Of ids[i] for each i of `places`: what their own keys hold. Leaves in *places those without.
Status GetOwn(kv::Txn& txn, TableId table, const std::vector<RecordId>& ids,
              std::vector<size_t>* places, std::vector<kv::ReadValue>* values,
              std::vector<bool>* found) {
  Keys keys(places->size(), kRecordKeySize);
  for (size_t i : *places) {
    AppendTableId(table, keys.bytes());
    AppendRecordId(ids[i], keys.bytes());
  }
  std::vector<kv::ReadValue> own;
  std::vector<bool> there;
  RETURN_IF_ERROR(txn.MultiGet(keys.Views(), &own, &there, kv::Reads::kByKey));
  std::vector<size_t> rest;
  for (size_t k = 0; k < places->size(); ++k) {
    const size_t i = (*places)[k];
    if (!there[k]) {
      rest.push_back(i);
    } else if (!own[k].view().empty()) {
      (*values)[i] = std::move(own[k]);
      (*found)[i] = true;
    }
  }
  *places = std::move(rest);
  return Status::Ok();
}

// The same from their groups, each read once.
Status GetFromGroups(kv::Txn& txn, TableId table, const std::vector<RecordId>& ids,
                     const std::vector<size_t>& places, std::vector<kv::ReadValue>* values,
                     std::vector<bool>* found) {
  std::vector<int64_t> numbers;
  numbers.reserve(places.size());
  for (size_t i : places) {
    numbers.push_back(GroupOf(ids[i]));
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  Keys keys(numbers.size(), kGroupKeySize);
  for (int64_t number : numbers) {
    AppendGroupKey(table, number, keys.bytes());
  }
  std::vector<kv::ReadValue> groups;
  std::vector<bool> there;
  RETURN_IF_ERROR(txn.MultiGet(keys.Views(), &groups, &there, kv::Reads::kByKey));
  for (size_t i : places) {
    const auto k = static_cast<size_t>(
        std::lower_bound(numbers.begin(), numbers.end(), GroupOf(ids[i])) - numbers.begin());
    if (there[k]) {
      ASSIGN_OR_RETURN(bool grouped, ShowGrouped(table, ids[i], groups[k], &(*values)[i]));
      (*found)[i] = grouped;
    }
  }
  return Status::Ok();
}

}  // namespace

Status DamagedGroup(TableId table, int64_t number) {
  return {kDataCorruptionDetected, "Group " + std::to_string(number) + " of table " +
                                       std::to_string(table) + " cannot be read"};
}

Status FindLastRecord(kv::Txn& txn, CollectionState* state) {
  ASSIGN_OR_RETURN(auto groups, txn.Scan(GroupRange(state->table), kv::Direction::kBackward));
  ASSIGN_OR_RETURN(const bool grouped, groups->Next());
  ASSIGN_OR_RETURN(auto records, txn.Scan(RecordRange(state->table), kv::Direction::kBackward));
  ASSIGN_OR_RETURN(const bool any, records->Next());
  RecordId next = state->next_record_id;
  if (grouped) {
    state->has_groups = true;
    next = FirstIdOf(ReadGroupNumber(groups->key()) + 1);
  }
  if (any) {
    next = std::max(next, ReadRecordId(records->key().substr(4)) + 1);
  }
  if (grouped || any) {
    // What is added from here on shares no number with what is there.
    state->next_record_id = FirstIdOf(FirstGroupFrom(next));
    state->beside.BeginAt(FirstGroupFrom(next));
  }
  return Status::Ok();
}

Result<bool> GetRecord(kv::Txn& txn, CollectionState& state, RecordId id, kv::ReadValue* value) {
  if (!state.has_groups.load(std::memory_order_relaxed)) {
    return txn.Get(RecordKey(state.table, id), value, kv::Reads::kByKey);
  }
  if (state.beside.WantsLook(GroupOf(id))) {
    RETURN_IF_ERROR(LookBeside(txn, state, GroupOf(id)));
  }
  if (state.beside.MayHave(id)) {
    ASSIGN_OR_RETURN(bool found, txn.Get(RecordKey(state.table, id), value, kv::Reads::kByKey));
    if (found) {
      return !value->view().empty();
    }
  }
  return GetGrouped(txn, state, id, value);
}

Status GetRecords(kv::Txn& txn, CollectionState& state, const std::vector<RecordId>& ids,
                  std::vector<kv::ReadValue>* values, std::vector<bool>* found) {
  if (!state.has_groups.load(std::memory_order_relaxed)) {
    Keys keys(ids.size(), kRecordKeySize);
    for (RecordId id : ids) {
      AppendTableId(state.table, keys.bytes());
      AppendRecordId(id, keys.bytes());
    }
    return txn.MultiGet(keys.Views(), values, found, kv::Reads::kByKey);
  }
  values->resize(ids.size());
  found->assign(ids.size(), false);
  std::vector<size_t> own;
  std::vector<size_t> grouped;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (state.beside.WantsLook(GroupOf(ids[i]))) {
      RETURN_IF_ERROR(LookBeside(txn, state, GroupOf(ids[i])));
    }
    (state.beside.MayHave(ids[i]) ? own : grouped).push_back(i);
  }
  if (!own.empty()) {
    RETURN_IF_ERROR(GetOwn(txn, state.table, ids, &own, values, found));
    grouped.insert(grouped.end(), own.begin(), own.end());
  }
  return grouped.empty() ? Status::Ok()
                         : GetFromGroups(txn, state.table, ids, grouped, values, found);
}

Status PutRecord(kv::Txn& txn, CollectionState& state, RecordId id, std::string_view document,
                 bool is_new, bool outlives) {
  state.beside.Mark(id);
  return txn.Put(RecordKey(state.table, id), document,
                 {.reads = kv::Reads::kByKey, .is_new = is_new, .outlives = outlives});
}

Status DeleteRecord(kv::Txn& txn, CollectionState& state, RecordId id) {
  state.beside.Mark(id);
  const std::string key = RecordKey(state.table, id);
  const int64_t number = GroupOf(id);
  GroupView group;
  kv::ReadValue value;
  if (state.has_groups.load(std::memory_order_relaxed)) {
    ASSIGN_OR_RETURN(bool found, txn.Get(GroupKey(state.table, number), &value, kv::Reads::kByKey));
    if (found && !group.Read(value.view())) {
      return DamagedGroup(state.table, number);
    }
  }
  if (!group.Has(SlotOf(id))) {
    return txn.Delete(key, kv::Reads::kByKey);
  }
  const uint64_t hidden = group.slots() & state.beside.MarkedOf(number);
  if (2 * std::popcount(hidden) >= group.count()) {
    state.fold_notes.Add(number);
  }
  return txn.Put(key, "", {.reads = kv::Reads::kByKey});
}

}  // namespace quire::store
