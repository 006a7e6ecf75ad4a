// SPDX-License-Identifier: Apache-2.0
#include "engine/snapshots.h"

#include <algorithm>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/json/text_forms.h"
#include "store/log/note.h"

namespace quire::engine {

namespace {

constexpr size_t kMost = 1000;

// The snapshot as that of another time at which the node was the same.
std::shared_ptr<const Snapshot> SameAt(bson::Timestamp time,
                                       const std::shared_ptr<const Snapshot>& snapshot) {
  if (snapshot->time == time) {
    return snapshot;
  }
  auto same = std::make_shared<Snapshot>(*snapshot);
  same->time = time;
  return same;
}

Status TooOld(bson::Timestamp time) {
  return {kSnapshotTooOld, "Read timestamp " + bson::TimestampText(time) +
                               " is older than the oldest available timestamp."};
}

}  // namespace

Result<Snapshots::Kept> Snapshots::Take() {
  store::ChangeLog& log = catalog_->log();
  auto catalog = catalog_->snapshot();
  auto snapshot = std::make_shared<Snapshot>();
  Kept taken{{}, {}, {}, std::chrono::steady_clock::now(), nullptr};
  bool was_open = false;
  uint64_t openings = 0;
  // With a catalog from before a change the indexes it shows may lack what was written since.
  for (auto now = std::move(catalog); now != snapshot->catalog; now = catalog_->snapshot()) {
    snapshot->catalog = std::move(now);
    RETURN_IF_ERROR(log.WhileStill([&]() -> Status {
      ASSIGN_OR_RETURN(snapshot->txn, store_->Begin({.read_only = true}));
      snapshot->time = log.Still();
      taken.visible = log.Visible();
      was_open = log.is_open();
      openings = log.openings();
      return Status::Ok();
    }));
  }
  ASSIGN_OR_RETURN(const uint64_t last_change,
                   store::LastChange(*snapshot->txn, store::PackTime(taken.visible)));
  taken.from = taken.last_write = store::UnpackTime(last_change);
  taken.snapshot = std::move(snapshot);
  MutexLock lock(mutex_);
  if (!was_open || (log.is_open() && log.openings() == openings)) {  // else EndAt has passed it
    Keep(taken);
  }
  return taken;
}

// Two that are the node at one time show the same: the later one is kept for the times of both.
void Snapshots::Keep(Kept taken) {
  if (!kept_.empty() &&
      kept_.back().snapshot->catalog->version == taken.snapshot->catalog->version &&
      kept_.back().last_write <= taken.snapshot->time &&
      taken.last_write <= kept_.back().snapshot->time) {
    Kept& last = kept_.back();
    const bson::Timestamp from = std::min(last.from, taken.from);
    if (last.snapshot->time <= taken.snapshot->time) {
      last = std::move(taken);
    }
    last.from = from;
    return;
  }
  auto place = std::upper_bound(
      kept_.begin(), kept_.end(), taken,
      [](const Kept& a, const Kept& b) { return a.snapshot->time < b.snapshot->time; });
  kept_.insert(place, std::move(taken));
  if (kept_.size() > kMost) {
    kept_.pop_front();
  }
}

Result<std::shared_ptr<const Snapshot>> Snapshots::Now() {
  // In a set its time is that of a slot, which the other members come to by themselves.
  const bool in_set = catalog_->log().in_set();
  const auto shown = [in_set](const Kept& kept) {
    return in_set ? SameAt(kept.last_write, kept.snapshot) : kept.snapshot;
  };
  {
    const uint64_t version = catalog_->snapshot()->version;
    MutexLock lock(mutex_);
    if (!kept_.empty() && kept_.back().visible == catalog_->log().Visible() &&
        kept_.back().snapshot->catalog->version == version) {
      kept_.back().taken = std::chrono::steady_clock::now();
      return shown(kept_.back());
    }
  }
  ASSIGN_OR_RETURN(Kept now, Take());
  return shown(now);
}

Result<std::shared_ptr<const Snapshot>> Snapshots::Fleeting() {
  auto snapshot = std::make_shared<Snapshot>();
  for (auto now = catalog_->snapshot(); now != snapshot->catalog; now = catalog_->snapshot()) {
    snapshot->catalog = std::move(now);
    ASSIGN_OR_RETURN(snapshot->txn, store_->Begin({.read_only = true}));
  }
  return std::shared_ptr<const Snapshot>(std::move(snapshot));
}

Result<std::shared_ptr<const Snapshot>> Snapshots::At(bson::Timestamp time) {
  {
    MutexLock lock(mutex_);
    for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) {
      if (kept->from <= time && time <= kept->snapshot->time) {
        return SameAt(time, kept->snapshot);
      }
    }
  }
  // First, so that those who ask for what is gone do not fill the room of what is kept.
  ASSIGN_OR_RETURN(const bool changed, HasChangedSince(time));
  if (changed) {
    return TooOld(time);
  }
  ASSIGN_OR_RETURN(Kept now, Take());
  if (now.last_write <= time) {
    return SameAt(time, now.snapshot);
  }
  return TooOld(time);
}

Result<bool> Snapshots::HasChangedSince(bson::Timestamp time) {
  const uint64_t visible = store::PackTime(catalog_->log().Visible());
  ASSIGN_OR_RETURN(auto txn, store_->Begin({.read_only = true}));
  ASSIGN_OR_RETURN(const uint64_t last_change, store::LastChange(*txn, visible));
  return last_change > store::PackTime(time);
}

void Snapshots::EndAt(bson::Timestamp end) {
  MutexLock lock(mutex_);
  std::erase_if(kept_, [&](const Kept& kept) { return end < kept.from; });
  for (Kept& kept : kept_) {
    kept.last_write = std::min(end, kept.last_write);
    kept.snapshot = SameAt(std::min(end, kept.snapshot->time), kept.snapshot);
  }
}

void Snapshots::Expire(std::chrono::seconds window) {
  const auto oldest = std::chrono::steady_clock::now() - window;
  MutexLock lock(mutex_);
  std::erase_if(kept_, [&](const Kept& kept) { return kept.taken < oldest; });
  ExpireCommitted();
}

}  // namespace quire::engine
