// SPDX-License-Identifier: Apache-2.0
#include "engine/snapshots.h"

#include <algorithm>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/json/text_forms.h"

namespace quire::engine {

namespace {

constexpr size_t kMost = 1000;

}  // namespace

Result<Snapshots::Kept> Snapshots::Take() {
  auto catalog = catalog_->snapshot();
  {
    MutexLock lock(mutex_);
    if (!kept_.empty() && kept_.back().last_write == catalog_->log().Visible() &&
        kept_.back().snapshot->catalog->version == catalog->version) {
      return kept_.back();
    }
  }
  auto snapshot = std::make_shared<Snapshot>();
  Kept taken{{}, std::chrono::steady_clock::now(), nullptr};
  // With a catalog from before a change the indexes it shows may lack what was written since.
  for (auto now = std::move(catalog); now != snapshot->catalog; now = catalog_->snapshot()) {
    snapshot->catalog = std::move(now);
    RETURN_IF_ERROR(catalog_->log().WhileStill([&]() -> Status {
      ASSIGN_OR_RETURN(snapshot->txn, store_->Begin({.read_only = true}));
      snapshot->time = catalog_->log().Still();
      taken.last_write = catalog_->log().Visible();
      return Status::Ok();
    }));
  }
  taken.snapshot = std::move(snapshot);
  MutexLock lock(mutex_);
  auto place = std::upper_bound(
      kept_.begin(), kept_.end(), taken,
      [](const Kept& a, const Kept& b) { return a.snapshot->time < b.snapshot->time; });
  kept_.insert(place, taken);
  if (kept_.size() > kMost) {
    kept_.pop_front();
  }
  return taken;
}

Result<std::shared_ptr<const Snapshot>> Snapshots::Now() {
  ASSIGN_OR_RETURN(Kept now, Take());
  return std::move(now.snapshot);
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
      if (kept->last_write <= time && time <= kept->snapshot->time) {
        return kept->snapshot;
      }
    }
  }
  if (catalog_->log().Visible() <= time) {
    ASSIGN_OR_RETURN(Kept now, Take());
    if (now.last_write <= time) {
      auto same = std::make_shared<Snapshot>(*now.snapshot);
      same->time = time;
      return std::shared_ptr<const Snapshot>(std::move(same));
    }
  }
  return Status(kSnapshotTooOld, "Read timestamp " + bson::TimestampText(time) +
                                     " is older than the oldest available timestamp.");
}

void Snapshots::Expire(std::chrono::seconds window) {
  const auto oldest = std::chrono::steady_clock::now() - window;
  MutexLock lock(mutex_);
  std::erase_if(kept_, [&](const Kept& kept) { return kept.taken < oldest; });
  ExpireCommitted();
}

}  // namespace quire::engine
