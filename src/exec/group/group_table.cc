// SPDX-License-Identifier: Apache-2.0
#include "exec/group/group_table.h"

#include <cstring>

#include "base/keyed_hash.h"
#include "bson/number.h"

namespace quire::exec {

namespace {

constexpr size_t kFirstSlots = 64;

uint64_t HashKey(const bson::Value& key) {
  auto type = static_cast<uint64_t>(key.type());
  switch (key.type()) {
    case bson::Type::kString:
    case bson::Type::kDocument:
    case bson::Type::kArray:
      return KeyedHash(key.bytes(), type);
    case bson::Type::kDouble: {
      double number = key.AsDouble();
      uint64_t bits;
      memcpy(&bits, &number, sizeof bits);
      return MixHash(type, bits);
    }
    case bson::Type::kObjectId: {
      bson::ObjectId id = key.AsObjectId();
      return KeyedHash({reinterpret_cast<const char*>(&id), sizeof id}, type);
    }
    case bson::Type::kNull:
      return MixHash(type, 0);
    default:
      return MixHash(type, static_cast<uint64_t>(key.AsInt64()));
  }
}

}  // namespace

GroupTable::GroupTable(const bson::StringCompare* strings)
    : strings_(strings),
      slots_(kFirstSlots),
      by_value_(0, bson::ValueHash{strings}, bson::ValueEqual{strings}) {}

bson::Value GroupTable::Canonical(const bson::Value& id, bool* exact) const {
  *exact = true;
  switch (id.type()) {
    case bson::Type::kInt32:
    case bson::Type::kInt64:
      return bson::Value(id.AsInt64());
    case bson::Type::kDouble:
    case bson::Type::kDecimal128:
      if (auto integer = bson::ExactInt64(id)) {
        return bson::Value(*integer);
      }
      break;
    case bson::Type::kString:
    case bson::Type::kSymbol:
      if (strings_ == nullptr) {
        return bson::Value(id.AsString());
      }
      break;
    case bson::Type::kObjectId:
    case bson::Type::kBool:
    case bson::Type::kDate:
    case bson::Type::kNull:
      return id;
    default:
      break;
  }
  *exact = false;
  return id;
}

uint32_t GroupTable::FindBytes(const bson::Value& key, uint64_t hash) const {
  size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask; slots_[at].group != kNone; at = (at + 1) & mask) {
    if (slots_[at].hash == hash && slots_[at].key.BinaryEquals(key)) {
      return slots_[at].group;
    }
  }
  return kNone;
}

void GroupTable::InsertBytes(const bson::Value& key, uint64_t hash, uint32_t group) {
  if (2 * (used_ + 1) > slots_.size()) {
    Grow();
  }
  size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].group != kNone) {
    at = (at + 1) & mask;
  }
  slots_[at] = {hash, group, key};
  ++used_;
}

void GroupTable::Grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  used_ = 0;
  for (const Slot& slot : old) {
    if (slot.group != kNone) {
      InsertBytes(slot.key, slot.hash, slot.group);
    }
  }
}

uint32_t GroupTable::Find(const bson::Value& id) {
  bool exact = false;
  bson::Value key = Canonical(id, &exact);
  bool bytes = exact || key.is_document() || key.is_array();
  if (bytes) {
    uint64_t hash = HashKey(key);
    uint32_t group = FindBytes(key, hash);
    if (group != kNone || exact) {
      return group;
    }
  }
  auto found = by_value_.find(id);
  if (found == by_value_.end()) {
    return kNone;
  }
  if (bytes && spellings_.size() <= by_value_.size()) {
    const bson::OwnedValue& spelling = spellings_.emplace_back(id);
    InsertBytes(spelling.value(), HashKey(spelling.value()), found->second);
  }
  return found->second;
}

void GroupTable::Insert(const bson::Value& id, uint32_t group) {
  bool exact = false;
  bson::Value key = Canonical(id, &exact);
  if (exact || key.is_document() || key.is_array()) {
    InsertBytes(key, HashKey(key), group);
  }
  if (!exact) {
    by_value_.emplace(id, group);
  }
}

void GroupTable::Clear() {
  slots_.assign(kFirstSlots, Slot());
  used_ = 0;
  by_value_.clear();
  spellings_.clear();
}

size_t GroupTable::memory() const {
  constexpr size_t kNode = sizeof(bson::Value) + 4 * sizeof(void*);
  return slots_.size() * sizeof(Slot) + by_value_.size() * kNode;
}

}  // namespace quire::exec
