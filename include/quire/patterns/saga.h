// SPDX-License-Identifier: Apache-2.0
//
// One change to several documents, with single-document atomicity only: all of it happens or none,
// whoever crashes, however late anyone's write arrives.
//
// A record of the whole goes through new -> commit -> done or new -> rollback -> rolled_back. Every
// participant is prepared (what it gives is taken away, what it gets is not given yet), then the
// record's state decides, then every participant is retired (gets what it gets) or rolled back.
// A participant keeps the ids of pending records in `txns`, and in `voided` the ids whose late
// writes it must refuse.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quire/patterns/error.h"
#include "quire/patterns/idempotency.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

// A document that takes part. The updates hold operators; those on `txns` and `voided` are added.
struct Participant {
  std::string collection;
  bson::OwnedValue id;
  bson::Document guard;                // must hold for prepare, beside the _id
  bson::Document prepare;              // takes what this one gives
  bson::Document retire;               // gives what this one gets
  bson::Document rollback;             // undoes prepare
  Error absent = Error::kNotFound;     // when there is no such document
  Error refused = Error::kContention;  // when the guard does not hold
};

struct SagaOptions {
  std::string system;   // "transfers": the jobs are transfers.cleanup and transfers.purge
  std::string name;     // of the operation in crash points: "transfers.transfer"
  std::string records;  // the collection of the records
  // The participants of a record, always the same ones in the same order.
  std::function<std::vector<Participant>(bson::View record)> plan;
  // A record that is not committed by then may be undone by Cleanup.
  std::chrono::milliseconds max_time = std::chrono::minutes(1);
  // How long ended records and their tombstones are kept: longer than any write may be delayed.
  std::chrono::milliseconds tombstone_retention = std::chrono::hours(24);
  std::string worker = "worker";  // a name of its own for every process that runs the jobs
  std::chrono::milliseconds lease = std::chrono::minutes(5);
  int64_t batch = 1000;  // records a job works on between two renewals of its lease. REQUIRES: > 0
};

// Safe for concurrent use.
class Saga {
 public:
  Saga(Store store, SagaOptions options);

  // Carries the record out: `fields` are its fields but state and ts, with `_id`. A record of that
  // _id that exists is gone on with, or its outcome returned; with other fields it is
  // IdempotencyKeyReuse. Returns the record as it was done, or the error that rolled it back
  // (an Error of a participant, TransactionExpired). Any other error (HostUnreachable...) leaves
  // the outcome open: call again with the same _id, or let Cleanup decide.
  Result<bson::Document> Run(const bson::Document& fields) const;

  // The same in one multi-document transaction, which leaves nothing to clean up. Both ways may be
  // used side by side.
  Result<bson::Document> RunInTransaction(const bson::Document& fields) const;

  // The jobs. Each looks at every record of its kind once, the oldest first: one that fails counts
  // as an error and does not keep the job from the others. skipped is 1, and nothing was done,
  // while another worker is at it. Error: LeaseLost.
  // Finishes what was committed, undoes what was not within max_time of its start, and goes on with
  // what was being undone. Harmless even when several run at once.
  Result<JobReport> Cleanup() const;
  // Forgets records that ended tombstone_retention ago, and the keys of the system's other calls
  // after that time. No write of theirs may still be on its way.
  Result<JobReport> Purge(const Idempotency& calls) const;

 private:
  class Work;
  std::shared_ptr<const Work> work_;
};

}  // namespace quire::patterns
