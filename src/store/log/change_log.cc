// SPDX-License-Identifier: Apache-2.0
#include "store/log/change_log.h"

#include <algorithm>
#include <cstring>

#include "base/error_codes.h"
#include "base/try.h"
#include "store/layout.h"

namespace quire::store {

namespace {

int64_t WallMillis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

bool IsLogged(std::string_view database, std::string_view name) {
  return database != "local" && name != "system.profile";
}

std::string ChangeLog::KeyOf(uint64_t time, uint32_t index) {
  std::string key = MetaKey(kLogKind, "");
  AppendBigEndian(time, &key);
  AppendBigEndian(index, &key);
  return key;
}

kv::Range ChangeLog::RangeFrom(uint64_t time) {
  return {KeyOf(time, 0), kv::PrefixEnd(MetaKey(kLogKind, ""))};
}

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
  clock_.Advance(Visible());
  ASSIGN_OR_RETURN(reader, ChangeReader::Open(*store_, *this, {}));
  ASSIGN_OR_RETURN(bool any, reader->Next(&change));
  first_ = any ? PackTime(change.time) : last;
  oldest_ = any && change.kind != 'n' ? PackTime(change.time) : 0;
  return Status::Ok();
}

Status ChangeLog::WriteFirstEntry() {
  ChangeBuffer buffer;
  bson::Builder o;
  o.Append("msg", "initiating set");
  bson::Document first = o.Finish();
  buffer.Noop(first);
  ASSIGN_OR_RETURN(auto txn, store_->Begin({}));
  RETURN_IF_ERROR(Commit(*txn, buffer, kv::Durability::kProcess));
  first_ = visible_.load();
  return Status::Ok();
}

Status ChangeLog::Commit(kv::Txn& txn, ChangeBuffer& buffer, kv::Durability durability) {
  if (buffer.empty()) {
    return txn.Commit(durability);
  }
  uint64_t first = Enter(buffer.in_transaction() ? 1 : buffer.count());
  Status status = Write(txn, buffer, first);
  if (status.ok()) {
    status = txn.Commit(durability);
  }
  Leave(first);
  const uint64_t step = trim_step_.load(std::memory_order_relaxed);
  if (step > 0 && written_.load(std::memory_order_relaxed) >= step) [[unlikely]] {
    swollen.Ring();
  }
  return status;
}

Status ChangeLog::Write(kv::Txn& txn, ChangeBuffer& buffer, uint64_t first) {
  return buffer.ForEachGroup(WallMillis(), [&](uint32_t index, std::string_view group) {
    written_.fetch_add(group.size(), std::memory_order_relaxed);
    return txn.Put(buffer.in_transaction() ? KeyOf(first, index) : KeyOf(first + index, 0), group,
                   {.is_new = true, .outlives = true});
  });
}

uint64_t ChangeLog::Enter(uint64_t count) {
  MutexLock lock(mutex_);
  if (still_ > 0) [[unlikely]] {
    calm_.wait(lock.native(), [&]() QUIRE_REQUIRES(mutex_) { return still_ == 0; });
  }
  uint64_t first = PackTime(clock_.Tick(count));
  in_flight_.push_back({first, first + count - 1});
  return first;
}

void ChangeLog::Leave(uint64_t first) {
  bool tell = false;
  {
    MutexLock lock(mutex_);
    auto mine = std::lower_bound(in_flight_.begin(), in_flight_.end(), first,
                                 [](const InFlight& f, uint64_t time) { return f.first < time; });
    mine->done = true;
    while (!in_flight_.empty() && in_flight_.front().done) {
      visible_.store(in_flight_.front().last, std::memory_order_release);
      in_flight_.pop_front();
      tell = waiting_ > 0;
    }
    if (still_ > 0 && in_flight_.empty()) [[unlikely]] {
      calm_.notify_all();
    }
  }
  if (tell) {
    told_.notify_all();
  }
  grown.Ring();
}

Status ChangeLog::WhileStill(const std::function<Status()>& look) {
  MutexLock lock(mutex_);
  ++still_;
  calm_.wait(lock.native(), [&]() QUIRE_REQUIRES(mutex_) { return in_flight_.empty(); });
  Status seen = look();
  if (--still_ == 0) {
    calm_.notify_all();
  }
  return seen;
}

void ChangeLog::Await(OpContext& op, bson::Timestamp seen,
                      std::chrono::steady_clock::time_point deadline) {
  constexpr auto kSlice = std::chrono::milliseconds(100);  // to notice a killed operation
  uint64_t known = PackTime(seen);
  MutexLock lock(mutex_);
  ++waiting_;
  while (visible_.load() <= known && !op.killed()) {
    auto now = std::chrono::steady_clock::now();
    if (now >= deadline) {
      break;
    }
    told_.wait_until(lock.native(), std::min(deadline, now + kSlice));
  }
  --waiting_;
}

// What was cut may lie on disk for a while: it does not count.
uint64_t ChangeLog::ApproximateSize() { return store_->ApproximateSize(RangeFrom(first_.load())); }

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
  ASSIGN_OR_RETURN(auto kept, ChangeReader::Open(*store_, *this, UnpackTime(cut)));
  cut = std::min(cut, kept->first_group());  // a group goes whole or not at all
  if (cut <= first) {
    return Status::Ok();
  }
  oldest_.store(cut, std::memory_order_release);
  first_.store(cut, std::memory_order_release);
  return store_->DeleteRange({MetaKey(kLogKind, ""), KeyOf(cut, 0)});
}

namespace {

template <typename T>
bool TakeNumber(std::string_view* bytes, T* value) {
  if (bytes->size() < sizeof *value) {
    return false;
  }
  memcpy(value, bytes->data(), sizeof *value);
  bytes->remove_prefix(sizeof *value);
  return true;
}

bool TakeBytes(std::string_view* bytes, size_t size, std::string_view* taken) {
  if (bytes->size() < size) {
    return false;
  }
  *taken = bytes->substr(0, size);
  bytes->remove_prefix(size);
  return true;
}

bool TakeDocument(std::string_view* bytes, bson::View* document) {
  if (bytes->size() < 5) {
    return false;
  }
  *document = bson::View(bytes->data());
  std::string_view taken;
  return TakeBytes(bytes, document->size(), &taken);
}

Status Corrupt() { return {kDataCorruptionDetected, "The change log cannot be read"}; }

uint64_t TimeOfKey(std::string_view key) {
  constexpr size_t kPrefixSize = 5;  // table and kind
  uint64_t time = 0;
  for (char byte : key.substr(kPrefixSize, 8)) {
    time = (time << 8) | static_cast<unsigned char>(byte);
  }
  return time;
}

uint32_t IndexOfKey(std::string_view key) { return ReadTableId(key.substr(key.size() - 4)); }

}  // namespace

Result<std::unique_ptr<ChangeReader>> ChangeReader::Open(kv::Store& store, ChangeLog& log,
                                                         bson::Timestamp from) {
  std::unique_ptr<ChangeReader> reader(new ChangeReader());
  // Visible first: everything up to it is in the snapshot taken after it.
  reader->upto_ = PackTime(log.Visible());
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
    RETURN_IF_ERROR(ReadHeader(back->key(), back->value()));
    uint64_t last = group_.in_transaction ? time_ : time_ + group_.later - 1;
    if (exact || last >= from_) {
      first_group_ = time_;
      begin = back->key();
    }
  } else if (exact) {
    begin = ChangeLog::RangeFrom(0).end;
  }
  group_ = Change();
  ASSIGN_OR_RETURN(cursor_, txn_->Scan({std::move(begin), ChangeLog::RangeFrom(0).end},
                                       kv::Direction::kForward));
  return Status::Ok();
}

Status ChangeReader::ReadHeader(std::string_view key, std::string_view value) {
  rest_ = value;
  group_ = Change();
  std::string_view head;
  uint32_t count = 0;
  if (!TakeBytes(&rest_, 2, &head) || head[0] != ChangeBuffer::kVersion ||
      !TakeNumber(&rest_, &count) || !TakeNumber(&rest_, &group_.wall_millis)) {
    return Corrupt();
  }
  group_.later = count;
  group_.in_transaction = (head[1] & ChangeBuffer::kInTransaction) != 0;
  if (group_.in_transaction && (!TakeBytes(&rest_, ChangeBuffer::kSessionIdSize, &group_.lsid) ||
                                !TakeNumber(&rest_, &group_.txn_number))) {
    return Corrupt();
  }
  time_ = TimeOfKey(key);
  group_.index = IndexOfKey(key);
  return Status::Ok();
}

Result<bool> ChangeReader::Next(Change* change) {
  while (true) {
    if (group_.later == 0) {
      ASSIGN_OR_RETURN(bool more, cursor_->Next());
      if (!more) {
        return false;
      }
      RETURN_IF_ERROR(ReadHeader(cursor_->key(), cursor_->value()));
    }
    if (time_ > upto_) {
      return false;
    }
    *change = group_;
    change->time = UnpackTime(time_);
    RETURN_IF_ERROR(ReadOperation(change));
    change->later = --group_.later;
    uint64_t time = time_;
    if (group_.in_transaction) {
      ++group_.index;
    } else {
      ++time_;
    }
    if (time >= from_) {
      return true;
    }
  }
}

Status ChangeReader::ReadOperation(Change* change) {
  std::string_view kind;
  if (!TakeBytes(&rest_, 1, &kind)) {
    return Corrupt();
  }
  if (kind[0] == 'C') {
    uint32_t size = 0;
    if (!TakeBytes(&rest_, 16, &group_.uuid) || !TakeNumber(&rest_, &size) ||
        !TakeBytes(&rest_, size, &group_.ns) || !TakeBytes(&rest_, 1, &kind)) {
      return Corrupt();
    }
    change->uuid = group_.uuid;
    change->ns = group_.ns;
  }
  change->kind = kind[0];
  std::string_view images;
  bool has_images = kind[0] == 'u' || kind[0] == 'r' || kind[0] == 'd';
  if (has_images && !TakeBytes(&rest_, 1, &images)) {
    return Corrupt();
  }
  if ((kind[0] == 'u' || kind[0] == 'd') && !TakeDocument(&rest_, &change->key)) {
    return Corrupt();
  }
  if (kind[0] != 'd' && !TakeDocument(&rest_, &change->document)) {
    return Corrupt();
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

}  // namespace quire::store
