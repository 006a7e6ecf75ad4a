// SPDX-License-Identifier: Apache-2.0
#include "store/log/change_buffer.h"

#include "expr/update/diff.h"
#include "store/collection_info.h"
#include "store/log/bytes.h"
#include "store/log/document_key.h"
#include "store/touched.h"

namespace quire::store {

namespace {

constexpr size_t kGroupBytes = size_t{1} << 20;
constexpr size_t kReferenceSize = 1 + sizeof(TableId) + sizeof(RecordId) + 1;
constexpr size_t kLargestHeader = ChangeBuffer::kHeaderSize + ChangeBuffer::kLinkSize +
                                  ChangeBuffer::kSessionIdSize + sizeof(int64_t);

std::string_view UuidOf(const CollectionInfo& info) {
  return {reinterpret_cast<const char*>(info.uuid.data()), info.uuid.size()};
}

thread_local int no_event_depth = 0;

// What all groups begin with.
std::string Header(uint8_t flags, uint32_t operations, int64_t wall_millis, const SlotLink& link) {
  std::string header;
  header.push_back(link.epoch == 0 ? ChangeBuffer::kVersion : ChangeBuffer::kLinkedVersion);
  header.push_back(static_cast<char>(flags));
  AppendNumber(operations, &header);
  AppendNumber(wall_millis, &header);
  if (link.epoch != 0) {
    AppendNumber(link.epoch, &header);
    AppendNumber(link.previous, &header);
  }
  return header;
}

}  // namespace

NoEventScope::NoEventScope() { ++no_event_depth; }
NoEventScope::~NoEventScope() { --no_event_depth; }

void ChangeBuffer::Key(bson::View document) {
  bson::Builder key(&ops_);
  if (key_ != nullptr) {
    key_->Append(document, &key);
  } else {
    key.Append("_id", document["_id"]);
  }
  key.Close();
}

void ChangeBuffer::Begin() {
  if (groups_.empty() || ops_.size() - groups_.back().start + referred_bytes_ > kGroupBytes) {
    ops_.resize(ops_.size() + kLargestHeader);
    groups_.push_back({count_, ops_.size()});
    uuid_.clear();
    referred_bytes_ = 0;
  }
  ++count_;
}

void ChangeBuffer::Collection(std::string_view ns, std::string_view uuid) {
  ops_.push_back('C');
  ops_.append(uuid);
  AppendNumber(static_cast<uint32_t>(ns.size()), &ops_);
  ops_.append(ns);
  uuid_ = uuid;
}

void ChangeBuffer::Reserve(size_t inserts, size_t bytes, bool grouped) {
  if (grouped && !notes_undo_) {
    return;
  }
  const size_t groups = 1 + bytes / kGroupBytes;
  constexpr size_t kName = 300;  // of a collection, with its uuid
  ops_.reserve(ops_.size() + inserts + bytes + groups * (kLargestHeader + kName));
}

void ChangeBuffer::BeginOn(char kind, const CollectionInfo& info) {
  Begin();
  if (uuid_ != UuidOf(info)) {
    Collection(info.ns(), UuidOf(info));
    key_ = info.state == nullptr ? nullptr : info.state->document_key();
    if (key_ != nullptr) {
      ops_.push_back('K');
      Bytes(key_->fields());
    }
  }
  ops_.push_back(kind);
}

void ChangeBuffer::Insert(const CollectionInfo& info, bson::View document, RecordId id) {
  if (notes_undo_ && id != kNoRecord) {
    undo_.Record(UuidOf(info), id, nullptr);
  }
  if (!notes_changes_) {
    return;
  }
  BeginOn('i', info);
  Bytes(document);
}

void ChangeBuffer::InsertGrouped(const CollectionInfo& info, bson::View document, RecordId id) {
  Reference* last = references_.empty() ? nullptr : &references_.back();
  const bool same_group =
      last != nullptr && last->table == info.state->table && GroupOf(last->first) == GroupOf(id);
  const bool follows =
      same_group && last->at + kReferenceSize == ops_.size() && last->first + last->documents == id;
  if (notes_undo_ || !notes_changes_ || same_group != follows) {
    Insert(info, document, id);  // a group is referred to once: it tells where
    return;
  }
  if (follows) {
    ++count_;
    ++last->documents;
    ++ops_.back();
  } else {
    BeginOn('I', info);
    references_.push_back({info.state->table, id, count_ - 1, ops_.size() - 1, 1});
    AppendNumber(info.state->table, &ops_);
    AppendNumber(id, &ops_);
    ops_.push_back(1);
  }
  referred_bytes_ += document.bytes().size();
}

void ChangeBuffer::Update(const CollectionInfo& info, bson::View before, bson::View after,
                          const Touched& touched, RecordId id) {
  if (notes_undo_ && id != kNoRecord) {
    undo_.Record(UuidOf(info), id, &before);
  }
  if (!notes_changes_) {
    return;
  }
  bson::Document diff;
  bool whole = touched.replacement;
  if (!whole) {
    diff = touched.all || touched.paths == nullptr
               ? expr::update::Diff(before, after)
               : expr::update::DiffAt(before, after, *touched.paths);
    whole = touched.all && diff.view().size() >= after.size();
  }
  if (whole) {
    BeginOn('r', info);
    ops_.push_back(static_cast<char>(info.keep_images ? kBefore : 0));
    Bytes(after);
  } else {
    BeginOn('u', info);
    ops_.push_back(static_cast<char>(info.keep_images ? kBefore | kAfter : 0));
    Key(after);
    Bytes(diff);
  }
  if (info.keep_images) {
    Bytes(before);
    if (!whole) {
      Bytes(after);
    }
  }
}

void ChangeBuffer::Delete(const CollectionInfo& info, bson::View document, RecordId id) {
  if (notes_undo_ && id != kNoRecord) {
    undo_.Record(UuidOf(info), id, &document);
  }
  if (!notes_changes_) {
    return;
  }
  BeginOn('d', info);
  ops_.push_back(static_cast<char>(info.keep_images ? kBefore : 0));
  Key(document);
  if (info.keep_images) {
    Bytes(document);
  }
}

void ChangeBuffer::Trim(const CollectionInfo& info, bson::View document, RecordId id) {
  if (!notes_undo_) {
    return;
  }
  undo_.Record(UuidOf(info), id, &document);
  if (notes_changes_) {
    BeginOn('d', info);
    ops_.push_back(static_cast<char>(kNoEvent));
    Key(document);
  }
}

void ChangeBuffer::Session(std::string_view key, std::string_view value) {
  if (!notes_changes_) {
    return;
  }
  Begin();
  ops_.push_back('S');
  AppendNumber(static_cast<uint32_t>(key.size()), &ops_);
  ops_.append(key);
  AppendNumber(static_cast<uint32_t>(value.size()), &ops_);
  ops_.append(value);
}

void ChangeBuffer::Command(std::string_view ns, std::string_view uuid, bson::View o,
                           bson::View o2) {
  if (!notes_changes_) {
    return;
  }
  Begin();
  Collection(ns, uuid);
  uuid_.clear();  // a command may change what the name stands for
  ops_.push_back('c');
  bson::Builder command(&ops_);
  command.Append("o", o);
  if (!o2.empty()) {
    command.Append("o2", o2);
  }
  if (no_event_depth > 0) {
    command.Append("fromMigrate", true);
  }
  command.Close();
}

void ChangeBuffer::Noop(bson::View o) {
  if (!notes_changes_) {
    return;
  }
  Begin();
  ops_.push_back('n');
  bson::Builder object(&ops_);
  object.Append("o", o);
  object.Close();
}

void ChangeBuffer::NoopOn(std::string_view ns, std::string_view uuid, bson::View o, bson::View o2) {
  if (!notes_changes_) {
    return;
  }
  Begin();
  Collection(ns, uuid);
  uuid_.clear();
  ops_.push_back('n');
  bson::Builder object(&ops_);
  object.Append("o", o).Append("o2", o2);
  object.Close();
}

void ChangeBuffer::SetTransaction(std::string_view lsid, int64_t txn_number) {
  in_transaction_ = true;
  lsid_ = lsid;
  lsid_.resize(kSessionIdSize);
  txn_number_ = txn_number;
}

void ChangeBuffer::RollBack(const Mark& mark) {
  ops_.resize(mark.bytes);
  count_ = mark.count;
  groups_.resize(mark.groups);
  undo_.RollBack(mark.undo);
  references_.resize(mark.references);
  referred_bytes_ = mark.referred_bytes;
  if (!references_.empty()) {
    Reference& last = references_.back();
    last.documents = mark.referred;
    ops_[last.at + kReferenceSize - 1] = static_cast<char>(mark.referred);
  }
  uuid_.clear();
}

std::string ChangeBuffer::VoidGroup(int64_t wall_millis, const SlotLink& link) {
  return Header(0, 1, wall_millis, link) + 'v';
}

std::string_view ChangeBuffer::GroupBytes(size_t i, int64_t wall_millis, const SlotLink& link) {
  const bool last = i + 1 == groups_.size();
  const size_t end = last ? ops_.size() : groups_[i + 1].start - kLargestHeader;
  const uint32_t after = last ? count_ : groups_[i + 1].first;
  std::string header =
      Header(in_transaction_ ? kInTransaction : 0, after - groups_[i].first, wall_millis, link);
  if (in_transaction_) {
    header.append(lsid_);
    AppendNumber(txn_number_, &header);
  }
  const size_t begin = groups_[i].start - header.size();
  ops_.replace(begin, header.size(), header);
  return std::string_view(ops_).substr(begin, end - begin);
}

}  // namespace quire::store
