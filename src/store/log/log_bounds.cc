// SPDX-License-Identifier: Apache-2.0
//
// Where the change log begins and ends.
#include <algorithm>

#include "base/try.h"
#include "store/layout.h"
#include "store/log/change_log.h"
#include "store/log/change_reader.h"
#include "store/log/note.h"

namespace quire::store {

Status ChangeLog::Open() {
  ASSIGN_OR_RETURN(auto reader, ChangeReader::OpenGroupBefore(*store_, RangeFrom(0).end));
  Change change;
  uint64_t last = 0;
  while (true) {
    ASSIGN_OR_RETURN(bool more, reader->Next(&change));
    if (!more) {
      break;
    }
    last = PackTime(change.time);
  }
  if (last == 0) {
    return WriteFirstEntry();
  }
  visible_ = last;
  SetLast({0, last});
  clock_.Advance(Visible());
  ASSIGN_OR_RETURN(reader, ChangeReader::Open(*store_, *this, {}));
  ASSIGN_OR_RETURN(bool any, reader->Next(&change));
  first_ = any ? PackTime(change.time) : last;
  oldest_ = any && !BeginsLog(change) ? PackTime(change.time) : 0;
  return Status::Ok();
}

Status ChangeLog::WriteFirstEntry() {
  const bson::Document first = bson::Builder().Append("msg", kFirstMessage).Finish();
  RETURN_IF_ERROR(WriteNote(*store_, *this, first, kv::Durability::kProcess).status());
  first_ = visible_.load();
  return Status::Ok();
}

Status ChangeLog::Trim(uint64_t max_bytes, bson::Timestamp before) {
  written_.store(0, std::memory_order_relaxed);
  ASSIGN_OR_RETURN(auto reader, ChangeReader::Open(*store_, *this, {}));
  Change change;
  ASSIGN_OR_RETURN(bool any, reader->Next(&change));
  if (!any) {
    return Status::Ok();
  }
  uint64_t first = PackTime(change.time);
  uint64_t newest = visible_.load();
  uint64_t cut = std::min(PackTime(before), newest);
  if (max_bytes > 0 && ApproximateSize() > max_bytes) {
    // The earliest time from which on the log is small enough.
    uint64_t low = first;
    uint64_t high = newest;
    while (low < high) {
      uint64_t middle = low + (high - low) / 2;
      if (store_->ApproximateSize(RangeFrom(middle)) > max_bytes - max_bytes / 10) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    cut = std::max(cut, low);
  }
  if (cut <= first) {
    return Status::Ok();
  }
  cut = std::min(cut, TrimLimit());
  if (cut <= first) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(auto kept, ChangeReader::Open(*store_, *this, UnpackTime(cut)));
  cut = std::min(cut, kept->first_group());  // a group goes whole or not at all
  ASSIGN_OR_RETURN(any, kept->Next(&change));
  if (any && change.epoch != 0) {
    cut = std::min(cut, change.previous + 1);  // and so does a slot
  }
  if (cut <= first) {
    return Status::Ok();
  }
  oldest_.store(cut, std::memory_order_release);
  first_.store(cut, std::memory_order_release);
  return store_->DeleteRange({MetaKey(kLogKind, ""), KeyOf(cut, 0)});
}

}  // namespace quire::store
