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

// Runs a job while holding its lease, and releases it. skipped is 1, and nothing was run, when
// another worker holds it.
Result<JobReport> RunLeased(Lease lease, const std::function<Result<JobReport>()>& job);

}  // namespace quire::patterns
