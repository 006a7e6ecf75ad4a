// SPDX-License-Identifier: Apache-2.0
#include "store/log/references.h"

#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "store/log/change_log.h"
#include "store/log/change_reader.h"

namespace quire::store {

namespace {

constexpr char kReferenceMark = 'R';
constexpr size_t kReferenceSize = sizeof(TableId) + sizeof(RecordId) + 1;  // behind its kind

std::string LogPrefix() { return MetaKey(kLogKind, ""); }

uint64_t TimeOf(std::string_view place) {
  uint64_t time = 0;
  for (char byte : place.substr(0, sizeof time)) {
    time = (time << 8) | static_cast<unsigned char>(byte);
  }
  return time;
}

std::string ReferredKey() { return MetaKey(kReferredKind, ""); }

}  // namespace

std::string ReferenceKey(TableId table, int64_t group) {
  std::string key = TablePrefix(table) + kReferenceMark;
  AppendBigEndian(static_cast<uint64_t>(group), &key);
  return key;
}

kv::Range ReferenceRange(TableId table) {
  std::string prefix = TablePrefix(table) + kReferenceMark;
  std::string end = kv::PrefixEnd(prefix);
  return {std::move(prefix), std::move(end)};
}

Result<WrittenOut> WriteOut(kv::Txn& txn, std::string_view key, std::string_view value) {
  WrittenOut out;
  GroupReader reader;
  RETURN_IF_ERROR(reader.Open(key, value, &txn));
  out.value = value.substr(0, value.size() - reader.rest().size());
  Change change;
  while (!reader.done()) {
    const std::string_view before = reader.rest();
    RETURN_IF_ERROR(reader.Next(&change));
    std::string_view read = before.substr(0, before.size() - reader.rest().size());
    if (!reader.reference()) {
      out.value.append(read);
      continue;
    }
    if (!read.empty()) {  // the first of its documents
      out.references.push_back(ReferenceKey(reader.reference()->table, reader.reference()->group));
      out.value.append(read.substr(0, read.size() - kReferenceSize - 1));
    }
    out.value.push_back('i');
    out.value.append(change.document.bytes());
  }
  return out;
}

Status ChangeLog::WriteReferences(kv::Txn& txn, const ChangeBuffer& buffer, const Slot& slot) {
  if (slot.link.epoch != 0) {  // begun before the log became a member's
    return {kInterruptedDueToReplStateChange, "operation was interrupted: the member joined a set"};
  }
  if (!refers_.load(std::memory_order_acquire)) {
    RETURN_IF_ERROR(txn.Put(ReferredKey(), ""));
  }
  const size_t prefix = LogPrefix().size();
  return buffer.ForEachReference([&](const ChangeBuffer::Reference& reference, uint32_t index) {
    const std::string key =
        buffer.in_transaction() ? KeyOf(slot.first, index) : KeyOf(slot.first + index, 0);
    return txn.Put(ReferenceKey(reference.table, reference.group()),
                   std::string_view(key).substr(prefix));
  });
}

bool ChangeLog::IsCut(std::string_view place) const {
  return TimeOf(place) < first_.load(std::memory_order_acquire);
}

Status ChangeLog::Uncut(const std::function<Status()>& work) {
  Status worked;
  {
    MutexLock lock(cut_mutex_);
    worked = work();
  }
  RingIfSwollen();
  return worked;
}

Result<uint64_t> ChangeLog::PutWrittenOut(kv::Txn& txn, const std::string& key) {
  RETURN_IF_ERROR(txn.Claim(key));
  kv::ReadValue value;
  ASSIGN_OR_RETURN(const bool found, txn.Get(key, &value));
  if (!found) {
    return 0;
  }
  ASSIGN_OR_RETURN(const WrittenOut out, store::WriteOut(txn, key, value.view()));
  if (out.references.empty()) {
    return 0;
  }
  for (const std::string& reference : out.references) {
    RETURN_IF_ERROR(txn.Delete(reference));
  }
  RETURN_IF_ERROR(txn.Put(key, out.value));
  written_.fetch_add(out.value.size(), std::memory_order_relaxed);
  return out.value.size();
}

Status ChangeLog::WriteOut(kv::Txn& txn, TableId table, int64_t group) {
  const std::string reference = ReferenceKey(table, group);
  kv::ReadValue place;
  ASSIGN_OR_RETURN(const bool found, txn.Get(reference, &place));
  if (!found) {
    return Status::Ok();
  }
  if (!IsCut(place.view())) {
    RETURN_IF_ERROR(PutWrittenOut(txn, LogPrefix() + std::string(place.view())).status());
  }
  return txn.Delete(reference);
}

Result<bool> ChangeLog::CutBehind(const std::string& place) {
  const std::string key = LogPrefix() + place;
  ASSIGN_OR_RETURN(auto txn, store_->Begin({.read_only = true}));
  kv::ReadValue value;
  ASSIGN_OR_RETURN(const bool found, txn->Get(key, &value));
  if (!found) {
    return IsCut(place);
  }
  ASSIGN_OR_RETURN(const GroupHeader header, ReadGroupHeader(key, value.view()));
  RETURN_IF_ERROR(Trim(0, UnpackTime(header.last + 1)));
  return IsCut(place);
}

Result<bool> ChangeLog::CutReferring(TableId table, int64_t group) {
  ASSIGN_OR_RETURN(auto txn, store_->Begin({.read_only = true}));
  kv::ReadValue place;
  ASSIGN_OR_RETURN(const bool found, txn->Get(ReferenceKey(table, group), &place));
  if (!found || IsCut(place.view())) {
    return false;
  }
  return CutBehind(std::string(place.view()));
}

Result<bool> ChangeLog::FindReferring(TableId table, std::string* end, std::string* place) {
  constexpr int kMostKeys = 1024;
  place->clear();
  kv::Range range = ReferenceRange(table);
  if (!end->empty()) {
    range.end = *end;
  }
  ASSIGN_OR_RETURN(auto txn, store_->Begin({.read_only = true}));
  ASSIGN_OR_RETURN(auto cursor, txn->Scan(std::move(range), kv::Direction::kBackward));
  for (int i = 0; i < kMostKeys && place->empty(); ++i) {
    ASSIGN_OR_RETURN(const bool more, cursor->Next());
    if (!more) {
      return false;
    }
    *end = cursor->key();
    if (!IsCut(cursor->value())) {
      *place = cursor->value();
    }
  }
  return true;
}

Result<bool> ChangeLog::MayReferTo(TableId table) {
  ASSIGN_OR_RETURN(auto txn, store_->Begin({.read_only = true}));
  ASSIGN_OR_RETURN(auto cursor, txn->Scan(ReferenceRange(table), kv::Direction::kForward));
  return cursor->Next();
}

Result<uint64_t> ChangeLog::WriteOutGroup(const std::string& place) {
  uint64_t bytes = 0;
  auto write = [&]() -> Status {
    if (IsCut(place)) {
      return Status::Ok();
    }
    ASSIGN_OR_RETURN(auto txn, store_->Begin({.reads_once = true}));
    ASSIGN_OR_RETURN(bytes, PutWrittenOut(*txn, LogPrefix() + place));
    return txn->Commit(kv::Durability::kProcess);
  };
  RETURN_IF_ERROR(Uncut(write));
  return bytes;
}

// What does not fit is cut off: the space of a dropped collection is worth more than a longer log.
Result<bool> ChangeLog::WriteOutTable(TableId table, uint64_t most,
                                      const std::function<bool()>& stop, std::string* end) {
  while (true) {
    std::string reached = *end;
    std::string place;
    ASSIGN_OR_RETURN(const bool more, FindReferring(table, &reached, &place));
    if (!more) {
      return true;
    }
    if (!place.empty()) {
      RETURN_IF_ERROR(WriteOutOrCut(place, most));
    }
    *end = std::move(reached);
    if (stop()) {
      return false;
    }
  }
}

Status ChangeLog::WriteOutOrCut(const std::string& place, uint64_t most) {
  const Result<uint64_t> bytes = WriteOutGroup(place);
  if (bytes.status().code() == kOutOfDiskSpace) {
    ASSIGN_OR_RETURN(const bool cut, CutBehind(place));
    return cut ? Status::Ok() : bytes.status();
  }
  RETURN_IF_ERROR(bytes.status());
  return *bytes > 0 && most > 0 && ApproximateSize() > most ? Trim(0, UnpackTime(TimeOf(place)))
                                                            : Status::Ok();
}

Status ChangeLog::WriteOutAll(uint64_t most) {
  if (!refers_.load(std::memory_order_acquire)) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(auto txn, store_->Begin({.read_only = true}));
  ASSIGN_OR_RETURN(auto cursor, txn->Scan(RangeFrom(0), kv::Direction::kBackward));
  const size_t prefix = LogPrefix().size();
  while (true) {
    ASSIGN_OR_RETURN(const bool more, cursor->Next());
    const std::string place(more ? cursor->key().substr(prefix) : std::string_view());
    if (!more || IsCut(place)) {
      break;
    }
    RETURN_IF_ERROR(WriteOutOrCut(place, most));
  }
  ASSIGN_OR_RETURN(auto mark, store_->Begin({}));
  RETURN_IF_ERROR(mark->Delete(ReferredKey()));
  RETURN_IF_ERROR(mark->Commit(kv::Durability::kDisk));
  refers_ = false;
  return Status::Ok();
}

}  // namespace quire::store
