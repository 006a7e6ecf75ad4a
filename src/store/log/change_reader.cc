// SPDX-License-Identifier: Apache-2.0
#include "store/log/change_reader.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "store/layout.h"
#include "store/log/bytes.h"
#include "store/log/change_log.h"
#include "store/log/document_key.h"
#include "store/records/record_keys.h"

namespace quire::store {

namespace {

Status Corrupt() { return {kDataCorruptionDetected, "The change log cannot be read"}; }

constexpr size_t kPrefixSize = 5;  // table and kind
constexpr size_t kKeySize = kPrefixSize + sizeof(uint64_t) + sizeof(uint32_t);

uint64_t TimeOfKey(std::string_view key) {
  uint64_t time = 0;
  for (char byte : key.substr(kPrefixSize, 8)) {
    time = (time << 8) | static_cast<unsigned char>(byte);
  }
  return time;
}

uint32_t IndexOfKey(std::string_view key) { return ReadTableId(key.substr(key.size() - 4)); }

// The header, which is taken off `value`; of a transaction also whose it is.
Status TakeHeader(std::string_view key, std::string_view* value, GroupHeader* header,
                  std::string_view* lsid, int64_t* txn_number) {
  std::string_view head;
  if (key.size() != kKeySize || !TakeBytes(value, 2, &head) ||
      (head[0] != ChangeBuffer::kVersion && head[0] != ChangeBuffer::kLinkedVersion) ||
      !TakeNumber(value, &header->count) || !TakeNumber(value, &header->wall_millis)) {
    return Corrupt();
  }
  if (head[0] == ChangeBuffer::kLinkedVersion &&
      (!TakeNumber(value, &header->link.epoch) || !TakeNumber(value, &header->link.previous))) {
    return Corrupt();
  }
  header->in_transaction = (head[1] & ChangeBuffer::kInTransaction) != 0;
  if (header->in_transaction &&
      (!TakeBytes(value, ChangeBuffer::kSessionIdSize, lsid) || !TakeNumber(value, txn_number))) {
    return Corrupt();
  }
  header->first = TimeOfKey(key);
  header->index = IndexOfKey(key);
  header->last = header->in_transaction ? header->first : header->first + header->count - 1;
  return header->count > 0 ? Status::Ok() : Corrupt();
}

bool TakeSized(std::string_view* bytes, std::string_view* taken) {
  uint32_t size = 0;
  return TakeNumber(bytes, &size) && TakeBytes(bytes, size, taken);
}

}  // namespace

bson::Document KeyOf(const Change& change) {
  if (change.kind == 'u' || change.kind == 'd') {
    return bson::Document(change.key);
  }
  bson::Builder key;
  DocumentKey(change.key_fields).Append(change.document, &key);
  return key.Finish();
}

Result<GroupHeader> ReadGroupHeader(std::string_view key, std::string_view value) {
  GroupHeader header;
  std::string_view lsid;
  int64_t txn_number = 0;
  RETURN_IF_ERROR(TakeHeader(key, &value, &header, &lsid, &txn_number));
  return header;
}

Status GroupReader::Open(std::string_view key, std::string_view value, kv::Txn* txn) {
  txn_ = txn;
  reference_.reset();
  left_ = 0;
  header_ = GroupHeader();
  group_ = Change();
  rest_ = value;
  RETURN_IF_ERROR(TakeHeader(key, &rest_, &header_, &group_.lsid, &group_.txn_number));
  group_.wall_millis = header_.wall_millis;
  group_.in_transaction = header_.in_transaction;
  group_.index = header_.index;
  group_.later = header_.count;
  group_.epoch = header_.link.epoch;
  group_.previous = header_.link.previous;
  time_ = header_.first;
  return Status::Ok();
}

Status GroupReader::Next(Change* change) {
  *change = group_;
  change->time = UnpackTime(time_);
  RETURN_IF_ERROR(left_ > 0 ? NextReferred(change) : ReadOperation(change));
  change->later = --group_.later;
  if (group_.in_transaction) {
    ++group_.index;
  } else {
    ++time_;
  }
  return Status::Ok();
}

Status GroupReader::Follow() {
  TableId table = 0;
  RecordId first = 0;
  std::string_view count;
  if (txn_ == nullptr || !TakeNumber(&rest_, &table) || !TakeNumber(&rest_, &first) ||
      !TakeBytes(&rest_, 1, &count)) {
    return Corrupt();
  }
  const int documents = static_cast<unsigned char>(count[0]);
  const int slot = SlotOf(first);
  if (documents == 0 || slot + documents > kGroupSlots ||
      static_cast<uint32_t>(documents) > group_.later) {
    return Corrupt();
  }
  const uint64_t slots = ~uint64_t{0} >> (kGroupSlots - documents) << slot;
  ASSIGN_OR_RETURN(const bool found, txn_->Get(GroupKey(table, GroupOf(first)), &referred_));
  if (!found || !documents_.Read(referred_.view()) || (documents_.slots() & slots) != slots) {
    return Corrupt();
  }
  rank_ = documents_.RankOf(slot);
  left_ = documents;
  reference_ = {table, GroupOf(first)};
  return Status::Ok();
}

Status GroupReader::NextReferred(Change* change) {
  change->kind = 'i';
  const std::string_view document = documents_.At(rank_++);
  --left_;
  if (document.empty()) {
    return Corrupt();
  }
  change->document = bson::View(document.data());
  return Status::Ok();
}

Status GroupReader::ReadOperation(Change* change) {
  reference_.reset();
  std::string_view kind;
  if (!TakeBytes(&rest_, 1, &kind)) {
    return Corrupt();
  }
  if (kind[0] == 'C') {
    group_.key_fields = bson::View();
    if (!TakeBytes(&rest_, 16, &group_.uuid) || !TakeSized(&rest_, &group_.ns) ||
        !TakeBytes(&rest_, 1, &kind)) {
      return Corrupt();
    }
    if (kind[0] == 'K' &&
        (!TakeDocument(&rest_, &group_.key_fields) || !TakeBytes(&rest_, 1, &kind))) {
      return Corrupt();
    }
    change->uuid = group_.uuid;
    change->ns = group_.ns;
    change->key_fields = group_.key_fields;
  }
  if (kind[0] == 'I') {
    RETURN_IF_ERROR(Follow());
    return NextReferred(change);
  }
  change->kind = kind[0];
  if (change->kind == 'v') {
    return Status::Ok();
  }
  if (change->kind == 'S') {
    return TakeSized(&rest_, &change->session_key) && TakeSized(&rest_, &change->session_value)
               ? Status::Ok()
               : Corrupt();
  }
  std::string_view images;
  const bool has_images = kind[0] == 'u' || kind[0] == 'r' || kind[0] == 'd';
  if (has_images && !TakeBytes(&rest_, 1, &images)) {
    return Corrupt();
  }
  change->no_event = has_images && (images[0] & ChangeBuffer::kNoEvent) != 0;
  if ((kind[0] == 'u' || kind[0] == 'd') && !TakeDocument(&rest_, &change->key)) {
    return Corrupt();
  }
  if (kind[0] != 'd' && !TakeDocument(&rest_, &change->document)) {
    return Corrupt();
  }
  if (kind[0] == 'c') {
    const bson::Value silent = change->document["fromMigrate"];
    change->no_event = silent.type() == bson::Type::kBool && silent.AsBool();
  }
  if (has_images && (images[0] & ChangeBuffer::kBefore) != 0 &&
      !TakeDocument(&rest_, &change->before.emplace())) {
    return Corrupt();
  }
  if (has_images && (images[0] & ChangeBuffer::kAfter) != 0 &&
      !TakeDocument(&rest_, &change->after.emplace())) {
    return Corrupt();
  }
  return Status::Ok();
}

Result<std::unique_ptr<ChangeReader>> ChangeReader::Open(kv::Store& store, ChangeLog& log,
                                                         bson::Timestamp from) {
  std::unique_ptr<ChangeReader> reader(new ChangeReader());
  // The end first: everything up to it is in the snapshot taken after it.
  reader->upto_ = PackTime(log.Readable());
  reader->from_ = PackTime(from);
  ASSIGN_OR_RETURN(reader->txn_, store.Begin({.read_only = true}));
  RETURN_IF_ERROR(reader->Start(ChangeLog::KeyOf(reader->from_, 0), false));
  return reader;
}

Result<std::unique_ptr<ChangeReader>> ChangeReader::OpenGroupBefore(kv::Store& store,
                                                                    std::string end) {
  std::unique_ptr<ChangeReader> reader(new ChangeReader());
  reader->upto_ = UINT64_MAX;
  ASSIGN_OR_RETURN(reader->txn_, store.Begin({.read_only = true}));
  RETURN_IF_ERROR(reader->Start(std::move(end), true));
  return reader;
}

// Begins at the group before `end` when that one reaches from_ (or is what was asked for), else at
// from_.
Status ChangeReader::Start(std::string end, bool exact) {
  first_group_ = from_;
  std::string begin = ChangeLog::KeyOf(from_, 0);
  ASSIGN_OR_RETURN(auto back,
                   txn_->Scan({ChangeLog::KeyOf(0, 0), std::move(end)}, kv::Direction::kBackward));
  ASSIGN_OR_RETURN(bool any, back->Next());
  if (any) {
    ASSIGN_OR_RETURN(const GroupHeader header, ReadGroupHeader(back->key(), back->value()));
    if (exact || header.last >= from_) {
      first_group_ = header.first;
      begin = back->key();
    }
  } else if (exact) {
    begin = ChangeLog::RangeFrom(0).end;
  }
  ASSIGN_OR_RETURN(cursor_, txn_->Scan({std::move(begin), ChangeLog::RangeFrom(0).end},
                                       kv::Direction::kForward));
  return Status::Ok();
}

Result<bool> ChangeReader::Next(Change* change) {
  while (true) {
    if (group_.done()) {
      ASSIGN_OR_RETURN(bool more, cursor_->Next());
      if (!more) {
        return false;
      }
      RETURN_IF_ERROR(group_.Open(cursor_->key(), cursor_->value(), txn_.get()));
    }
    const uint64_t time = group_.time();
    if (time > upto_) {
      return false;
    }
    RETURN_IF_ERROR(group_.Next(change));
    if (time >= from_) {
      return true;
    }
  }
}

}  // namespace quire::store
