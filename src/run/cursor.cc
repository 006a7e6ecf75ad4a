// SPDX-License-Identifier: Apache-2.0
#include "run/cursor.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::run {

namespace {

// A batch holds at most this much, or one document.

// What idle cursors may take into memory, each and all together.
constexpr size_t kAheadEach = size_t{4} << 20;
constexpr size_t kAheadAll = size_t{64} << 20;

// Not to be guessed from others: straight from the system's random numbers.
int64_t NewCursorId() {
  static thread_local std::random_device random;
  int64_t id;
  do {
    const uint64_t high = random();
    id = static_cast<int64_t>(((high << 32) | random()) >> 1);
  } while (id == 0);
  return id;
}

}  // namespace

Status Cursor::Fill(OpContext& op, int64_t limit, bson::Builder* array) {
  MemoryCharge charge;  // for the batch
  const bool goes_on = std::exchange(awaits_, false);
  const size_t start = goes_on ? batch_start_ : array->size();
  const auto before = static_cast<int64_t>(goes_on ? array->pushed() : 0);
  int64_t count = before;
  if (has_stash_ && !exhausted) {
    array->Push(stash_.view());
    if (tailable) {
      source->Returned(stash_);
    }
    has_stash_ = false;
    stash_ = bson::Document();
    stash_charge_.Set(0);
    ++count;
  }
  exec::Row row;
  bson::Document ahead;
  while (!exhausted && (limit == 0 || count < limit)) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, NextRow(op, &row, &ahead));
    if (!more) {
      awaits_ = !finished_ && source->Pending();
      exhausted = !awaits_ && (!tailable || source->Ended());
      break;
    }
    if (count > 0 && array->size() - start + row.document.size() + 16 > most_bytes) {
      stash_ = bson::Document(row.document);
      has_stash_ = true;
      stash_charge_.Set(stash_.view().size());
      break;
    }
    array->Push(row.document);
    charge.Set(array->size());
    if (tailable) {
      source->Returned(row.document);
    }
    ++count;
  }
  batch_start_ = start;
  exhausted = exhausted || (!tailable && !awaits_ && !has_stash_ && ahead_.empty() && count > 0 &&
                            !finished_ && source->AtEnd());
  returned += count - before;
  return Status::Ok();
}

Result<bool> Cursor::NextRow(OpContext& op, exec::Row* row, bson::Document* ahead) {
  if (!ahead_.empty()) {
    *ahead = std::move(ahead_.front());
    ahead_.pop_front();
    ahead_bytes_ -= ahead->view().size();
    row->document = *ahead;
    return true;
  }
  RETURN_IF_ERROR(ahead_error_);
  if (finished_) {
    return false;
  }
  return source->Next(op, row);
}

void Cursor::TakeAhead(OpContext& op, size_t bytes) {
  exec::Row row;
  while (ahead_bytes_ < bytes) {
    Status status = op.CheckInterruptNow();
    if (!status.ok()) {
      return;
    }
    Result<bool> more = source->Next(op, &row);
    if (!more.ok()) {
      // Out of time: the source goes on later. Anything else is for the client.
      ahead_error_ = op.CheckInterruptNow().ok() ? more.status() : Status::Ok();
      return;
    }
    if (!*more) {
      finished_ = true;
      source->Finish();
      return;
    }
    ahead_.emplace_back(row.document);
    ahead_bytes_ += row.document.size();
  }
}

bson::Document KeptCommand(bson::View command) {
  constexpr size_t kWhole = 4096;
  constexpr size_t kField = 512;
  constexpr size_t kFields = 16;
  if (command.size() <= kWhole) {
    return bson::Document(command);
  }
  bson::Builder kept;
  std::string left_out;
  size_t fields = 0;
  for (const bson::Element& field : command) {
    const bson::Value value = field.value();
    const bool is_short = field.name().size() + value.EncodedSize() <= kField;
    if (is_short && fields < kFields) {
      kept.Append(field);
      ++fields;
      continue;
    }
    if (left_out.size() + field.name().size() <= kField) {
      left_out += (left_out.empty() ? "" : ", ") + std::string(field.name());
    }
    if (value.is_array() && field.name().size() <= kField && fields < kFields) {
      kept.BeginArray(field.name());
      for (const bson::Element& element : value.AsArray()) {
        if (element.value().EncodedSize() > kField || kept.pushed() == kFields / 2) {
          break;
        }
        kept.Push(element.value());
      }
      kept.End();
      ++fields;
    }
  }
  kept.Append("$truncated", left_out);
  return kept.Finish();
}

// Whoever listens finds its operation killed.
void Cursor::End() {
  killed_ = true;
  if (pinned_) {
    user_->Kill(kCursorKilled);
  }
  killed.Ring();
}

Result<int64_t> CursorTable::Add(std::shared_ptr<Cursor> cursor) {
  constexpr size_t kBytesOfOne = size_t{16} << 10;
  const auto weight = static_cast<int64_t>(1 + cursor->command_size / kBytesOfOne);
  MutexLock lock(mutex_);
  cursor->place_ = all_.Take("", most.load(std::memory_order_relaxed), weight);
  if (cursor->place_ == nullptr) {
    return Status(kExceededMemoryLimit,
                  "There are too many open cursors (" + std::to_string(cursors_.size()) +
                      ", of which those of long commands count for several); close some or read "
                      "them to their ends");
  }
  if (cursor->owner != nullptr) {
    cursor->ticket_ = owners_.Take(cursor->owner->digest, most_per_user.load(), weight);
    if (cursor->ticket_ == nullptr) {
      cursor->place_.reset();
      return Status(kExceededMemoryLimit,
                    "You have too many open cursors; close some or read them to their ends");
    }
  }
  do {
    cursor->id_ = NewCursorId();
  } while (cursors_.contains(cursor->id_));
  cursor->last_use_ = std::chrono::steady_clock::now();
  int64_t id = cursor->id_;
  cursors_.emplace(id, std::move(cursor));
  return id;
}

Result<std::shared_ptr<Cursor>> CursorTable::Pin(int64_t id, OpContext* op) {
  MutexLock lock(mutex_);
  auto it = cursors_.find(id);
  while (it != cursors_.end() && it->second->taking_ahead_) {  // for milliseconds
    taken_ahead_.wait(lock.native());
    it = cursors_.find(id);
  }
  if (it == cursors_.end()) {
    return Status(kCursorNotFound, "cursor id " + std::to_string(id) + " not found");
  }
  if (it->second->pinned_) {
    constexpr int kCursorInUse = 12051;
    return Status(kCursorInUse, "cursor id " + std::to_string(id) + " is already in use");
  }
  it->second->pinned_ = true;
  it->second->user_ = op;
  return it->second;
}

void CursorTable::Unpin(const std::shared_ptr<Cursor>& cursor) {
  MutexLock lock(mutex_);
  cursor->pinned_ = false;
  cursor->user_ = nullptr;
  cursor->last_use_ = std::chrono::steady_clock::now();
  if (cursor->exhausted || cursor->killed_) {
    cursors_.erase(cursor->id_);
  }
}

void CursorTable::Touch(int64_t id) {
  MutexLock lock(mutex_);
  if (const auto found = cursors_.find(id); found != cursors_.end()) {
    found->second->last_use_ = std::chrono::steady_clock::now();
  }
}

std::shared_ptr<Cursor> CursorTable::Find(int64_t id) {
  MutexLock lock(mutex_);
  auto it = cursors_.find(id);
  return it == cursors_.end() ? nullptr : it->second;
}

bool CursorTable::Kill(int64_t id) {
  std::shared_ptr<Cursor> dead;  // destroyed outside the lock
  MutexLock lock(mutex_);
  auto it = cursors_.find(id);
  if (it == cursors_.end()) {
    return false;
  }
  it->second->End();
  if (!it->second->pinned_) {
    dead = std::move(it->second);
    cursors_.erase(it);
  }
  return true;
}

template <typename F>
void CursorTable::KillIf(F matches) {
  std::vector<std::shared_ptr<Cursor>> dead;  // destroyed outside the lock
  MutexLock lock(mutex_);
  for (auto it = cursors_.begin(); it != cursors_.end();) {
    if (!matches(*it->second)) {
      ++it;
      continue;
    }
    it->second->End();
    if (it->second->pinned_) {
      ++it;
    } else {
      dead.push_back(std::move(it->second));
      it = cursors_.erase(it);
    }
  }
}

void CursorTable::KillSession(std::string_view lsid) {
  KillIf([&](const Cursor& c) { return c.lsid == lsid; });
}

void CursorTable::KillNamespace(std::string_view ns) {
  KillIf([&](const Cursor& c) { return c.ns == ns; });
}

void CursorTable::KillTransaction(std::string_view lsid, int64_t txn_number) {
  KillIf([&](const Cursor& c) { return c.lsid == lsid && c.txn_number == txn_number; });
}

void CursorTable::Expire(std::chrono::milliseconds timeout) {
  auto oldest = std::chrono::steady_clock::now() - timeout;
  KillIf([&](const Cursor& c) {
    bool old = !c.no_timeout && !c.pinned_ && c.last_use_ < oldest;
    timed_out_ += old ? 1 : 0;
    return old;
  });
}

std::vector<std::shared_ptr<Cursor>> CursorTable::PinIdle(std::chrono::milliseconds idle,
                                                          OpContext* op, size_t* room) {
  const auto oldest = std::chrono::steady_clock::now() - idle;
  std::vector<std::shared_ptr<Cursor>> found;
  MutexLock lock(mutex_);
  for (auto& [id, cursor] : cursors_) {
    *room -= std::min(*room, cursor->ahead_bytes_.load());
    if (!cursor->pinned_ && !cursor->tailable && cursor->last_use_ < oldest &&
        cursor->returned > 0 && !cursor->finished_ && cursor->ahead_error_.ok() &&
        cursor->ahead_bytes_ < kAheadEach && !cursor->txn_number &&
        cursor->source->HoldsSnapshot()) {
      cursor->pinned_ = cursor->taking_ahead_ = true;
      cursor->user_ = op;
      found.push_back(cursor);
    }
  }
  return found;
}

void CursorTable::ReleaseSnapshots(std::chrono::milliseconds idle) {
  constexpr auto kTime = std::chrono::milliseconds(20);
  size_t room = kAheadAll;
  OpContext op;
  op.SetDeadline(std::chrono::steady_clock::now() + kTime);
  for (const std::shared_ptr<Cursor>& cursor : PinIdle(idle, &op, &room)) {
    const size_t before = cursor->ahead_bytes_.load();
    cursor->TakeAhead(op, std::min(kAheadEach, before + room));
    room -= std::min(room, cursor->ahead_bytes_.load() - before);
    MutexLock lock(mutex_);
    cursor->pinned_ = cursor->taking_ahead_ = false;
    cursor->user_ = nullptr;
    if (cursor->killed_) {
      cursors_.erase(cursor->id_);
    }
    taken_ahead_.notify_all();
  }
}

void CursorTable::Clear() {
  KillIf([](const Cursor&) { return true; });
}

size_t CursorTable::size() {
  MutexLock lock(mutex_);
  return cursors_.size();
}

}  // namespace quire::run
