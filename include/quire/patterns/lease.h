// SPDX-License-Identifier: Apache-2.0
//
// A job that one worker runs at a time.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "quire/patterns/error.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

// Documents: jobs {_id: job, owner, until, token, state}. A worker that holds the lease past its
// end may lose it to another; the token, one more with every owner's turn, keeps its late writes
// out.
class Lease {
 public:
  Lease(Store store, std::string job, std::string owner, std::chrono::milliseconds length);

  // The state the job left, when the lease is (or already was) this owner's; nothing when another
  // holds it.
  Result<std::optional<bson::Document>> Acquire();

  // Keeps `state` for the next turn and the lease for another `length`.
  // Error: LeaseLost, with nothing changed. REQUIRES: acquired.
  Status Save(const bson::Document& state);

  // Lets others have it at once; ok when it was lost already. REQUIRES: acquired.
  Status Release();

  int64_t token() const { return token_; }

 private:
  bson::Date Until() const;

  Store store_;
  std::string job_;
  std::string owner_;
  std::chrono::milliseconds length_;
  int64_t token_ = 0;
};

// Runs a job, given the state that the turn before has left, while holding its lease, and releases
// it. skipped is 1, and nothing was run, when another worker holds it.
Result<JobReport> HoldLease(
    Lease* lease, const std::function<Result<JobReport>(const bson::Document& state)>& job);

// For a job that keeps no state.
Result<JobReport> RunLeased(Lease lease, const std::function<Result<JobReport>()>& job);

// Runs `batch` again and again while holding the lease, which is renewed after each, until one says
// that it was the last. skipped is 1, and nothing was run, when another worker holds it. Errors:
// what `batch` returns; LeaseLost.
Result<JobReport> RepeatLeased(Lease lease, const std::function<Result<bool>(JobReport*)>& batch);

// A collection that a job goes through, whose _ids are of one type.
struct Sweep {
  std::string_view collection;
  int64_t batch = 100;        // documents at a time. REQUIRES: > 0
  bson::Document projection;  // of what `visit` sees; it has the _id. Empty: everything
};

// Visits every document once while holding the lease, in the order of _id: from where a run that
// was broken off stopped to the end, then from the beginning to there. So a report without changes
// says that nothing was to be done anywhere. After each batch the place is kept and the lease
// renewed. Errors: what `visit` returns; LeaseLost.
Result<JobReport> SweepLeased(
    const Store& store, Lease lease, const Sweep& sweep,
    const std::function<Status(const bson::Document&, JobReport*)>& visit);

}  // namespace quire::patterns
