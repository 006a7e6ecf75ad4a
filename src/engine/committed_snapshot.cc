// SPDX-License-Identifier: Apache-2.0
//
// Snapshots of what a replica set has committed.
#include "base/error_codes.h"
#include "base/try.h"
#include "engine/snapshots.h"

namespace quire::engine {

Result<Snapshots::Candidate> Snapshots::TakeCandidate() {
  store::ChangeLog& log = catalog_->log();
  Candidate candidate;
  auto snapshot = std::make_shared<Snapshot>();
  // With a catalog from before a change the indexes it shows may lack what was written since.
  for (auto now = catalog_->snapshot(); now != snapshot->catalog; now = catalog_->snapshot()) {
    snapshot->catalog = std::move(now);
    auto take = [&]() -> Status {
      snapshot->time = log.Visible();
      ASSIGN_OR_RETURN(snapshot->txn, store_->Begin({.read_only = true}));
      return Status::Ok();
    };
    if (log.is_open()) {
      RETURN_IF_ERROR(take());
      candidate.last = log.last().time;
    } else {
      // What is being applied is there whole or not at all.
      RETURN_IF_ERROR(log.WhileStill(take));
      candidate.last = store::PackTime(snapshot->time);
    }
  }
  candidate.snapshot = std::move(snapshot);
  return candidate;
}

void Snapshots::Promote(uint64_t commit) {
  while (!candidates_.empty() && candidates_.front().last <= commit) {
    SetCommitted(std::move(candidates_.front()));
    candidates_.pop_front();
  }
}

Result<std::shared_ptr<const Snapshot>> Snapshots::Committed() {
  ASSIGN_OR_RETURN(Candidate candidate, TakeCandidate());
  const uint64_t commit = catalog_->log().commit();
  MutexLock lock(mutex_);
  if (candidate.last <= commit) {
    SetCommitted(candidate);
    return std::move(candidate.snapshot);
  }
  constexpr size_t kMostWaiting = 2;  // one about to be committed, and the newest
  if (candidates_.size() >= kMostWaiting) {
    candidates_.pop_back();
  }
  candidates_.push_back(std::move(candidate));
  Promote(commit);
  if (committed_.snapshot == nullptr) {
    return Status(kReadConcernMajorityNotAvailableYet,
                  "Read concern majority reads are currently not possible.");
  }
  return committed_.snapshot;
}

Status Snapshots::KeepCommitted() {
  ASSIGN_OR_RETURN(Candidate candidate, TakeCandidate());
  MutexLock lock(mutex_);
  committed_ = {};
  SetCommitted(std::move(candidate));
  return Status::Ok();
}

void Snapshots::SetCommitted(Candidate candidate) {
  if (committed_.snapshot == nullptr || committed_.last <= candidate.last) {
    committed_ = std::move(candidate);
    committed_since_ = std::chrono::steady_clock::now();
  }
}

void Snapshots::SetCommit(uint64_t commit) {
  MutexLock lock(mutex_);
  Promote(commit);
}

void Snapshots::ExpireCommitted() {
  constexpr auto kLongest = std::chrono::seconds(60);
  const bool old = std::chrono::steady_clock::now() - committed_since_ > kLongest;
  // While nothing more is committed there is no other one to be had.
  if (old && catalog_->log().commit() > committed_.last) {
    committed_ = {};
    candidates_.clear();
  }
}

}  // namespace quire::engine
