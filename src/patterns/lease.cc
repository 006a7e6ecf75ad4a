// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/lease.h"

#include <utility>

#include "base/try.h"
#include "patterns/doc.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kJobs[] = "jobs";

}  // namespace

Lease::Lease(Store store, std::string job, std::string owner, std::chrono::milliseconds length)
    : store_(std::move(store)), job_(std::move(job)), owner_(std::move(owner)), length_(length) {}

bson::Date Lease::Until() const { return {store_.Now().millis + length_.count()}; }

// The upsert of a job that another holds meets its _id: DuplicateKey.
Result<std::optional<Document>> Lease::Acquire() {
  const Document free_or_mine =
      Doc("_id", job_, "$or", List(Doc("until", Doc("$lt", store_.Now())), Doc("owner", owner_)));
  auto taken = store_.FindAndUpdate(
      kJobs, free_or_mine,
      Doc("$set", Doc("owner", owner_, "until", Until()), "$inc", Doc("token", int64_t{1})), true);
  if (IsDuplicateKey(taken.status())) {
    return std::optional<Document>();
  }
  RETURN_IF_ERROR(taken.status());
  token_ = IntegerAt(**taken, "token");
  bson::Value state = (**taken)["state"];
  return std::optional<Document>(state.is_document() ? Document(state.AsDocument()) : Document());
}

Status Lease::Save(const Document& state) {
  ASSIGN_OR_RETURN(int64_t matched,
                   store_.UpdateOne(kJobs, Doc("_id", job_, "token", token_),
                                    Doc("$set", Doc("state", state, "until", Until()))));
  return matched == 1 ? Status::Ok() : MakeError(Error::kLeaseLost, job_);
}

Status Lease::Release() {
  return store_
      .UpdateOne(kJobs, Doc("_id", job_, "token", token_),
                 Doc("$set", Doc("until", bson::Date{0}, "owner", "")))
      .status();
}

Result<JobReport> RunLeased(Lease lease, const std::function<Result<JobReport>()>& job) {
  ASSIGN_OR_RETURN(auto state, lease.Acquire());
  if (!state) {
    return JobReport{.skipped = 1};
  }
  Result<JobReport> report = job();
  if (Is(report.status(), Error::kCrashed)) {
    return report;
  }
  RETURN_IF_ERROR(lease.Release());
  return report;
}

}  // namespace quire::patterns
