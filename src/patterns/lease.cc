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

Result<JobReport> HoldLease(Lease* lease,
                            const std::function<Result<JobReport>(const Document& state)>& job) {
  ASSIGN_OR_RETURN(auto state, lease->Acquire());
  if (!state) {
    return JobReport{.skipped = 1};
  }
  Result<JobReport> report = job(*state);
  if (Is(report.status(), Error::kCrashed)) {
    return report;
  }
  RETURN_IF_ERROR(lease->Release());
  return report;
}

Result<JobReport> RunLeased(Lease lease, const std::function<Result<JobReport>()>& job) {
  return HoldLease(&lease, [&](const Document&) { return job(); });
}

Result<JobReport> RepeatLeased(Lease lease, const std::function<Result<bool>(JobReport*)>& batch) {
  return HoldLease(&lease, [&](const Document& state) -> Result<JobReport> {
    JobReport report;
    for (;;) {
      ASSIGN_OR_RETURN(bool more, batch(&report));
      if (!more) {
        return report;
      }
      RETURN_IF_ERROR(lease.Save(state));
    }
  });
}

Result<JobReport> SweepLeased(const Store& store, Lease lease, const Sweep& sweep,
                              const std::function<Status(const Document&, JobReport*)>& visit) {
  const FindOptions options{
      .projection = sweep.projection, .sort = Doc("_id", 1), .limit = sweep.batch};
  JobReport report;
  auto visit_range = [&](bson::OwnedValue after, const bson::OwnedValue& last) -> Status {
    for (;;) {
      const Document range = Doc("$gt", after, "$lte", last);
      ASSIGN_OR_RETURN(auto batch, store.Find(sweep.collection,
                                              range.empty() ? range : Doc("_id", range), options));
      for (const Document& document : batch) {
        RETURN_IF_ERROR(visit(document, &report));
      }
      if (static_cast<int64_t>(batch.size()) < sweep.batch) {
        return lease.Save(Doc());
      }
      after = bson::OwnedValue(batch.back()["_id"]);
      RETURN_IF_ERROR(lease.Save(Doc("after", after)));
    }
  };
  return HoldLease(&lease, [&](const Document& state) -> Result<JobReport> {
    const bson::OwnedValue stopped(state["after"]);
    RETURN_IF_ERROR(visit_range(stopped, {}));
    if (!stopped.value().missing()) {
      RETURN_IF_ERROR(visit_range({}, stopped));
    }
    return report;
  });
}

}  // namespace quire::patterns
