// SPDX-License-Identifier: Apache-2.0
//
// Calls that may be repeated: a key that the caller chooses stands for one call and its outcome.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "quire/patterns/error.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

using CallKey = std::optional<std::string>;

// The right to carry a call out, given to every caller that comes with the key while no outcome is
// known: several may hold it at once, and one that crashed may have done any part of the work.
struct Claim {
  bson::ObjectId id;      // the same for all of them; a new one when the call has no key
  bool keyed = false;     // the call has a key
  bool repeated = false;  // another claimed it before
};

// How the job that forgets keys is run.
struct PurgeOptions {
  // How long calls are remembered: longer than anyone repeats them.
  std::chrono::milliseconds retention = std::chrono::hours(24);
  std::string worker = "worker";  // a name of its own for every process that runs the job
  std::chrono::milliseconds lease = std::chrono::minutes(5);
};

// Documents: idempotency {_id: "system/key", system, call, args, id, at, outcome | error}; jobs
// (see lease.h). Safe for concurrent use.
class Idempotency {
 public:
  Idempotency(Store store, std::string system);

  static IndexSpec Index();
  static ShardKeySpec ShardKey();

  // Runs `body` and keeps what it returns (a document, or an error of patterns/error.h that is
  // final); the next call with the key gets that without running it. Any other error leaves the
  // call open for whoever repeats it. Without a key just runs `body`.
  // REQUIRES: `body` run again with the same claim finishes what was begun, and finds out by
  // claim.id (as an _id it inserts, or by Marked below) that it was done already.
  // Errors: IdempotencyKeyReuse (another operation or other arguments), InvalidName (empty key).
  Result<bson::Document> Once(
      std::string_view operation, const CallKey& key, const bson::Document& arguments,
      const std::function<Result<bson::Document>(const Claim&)>& body) const;
  // For a body that has nothing to return.
  Status DoOnce(std::string_view operation, const CallKey& key, const bson::Document& arguments,
                const std::function<Status(const Claim&)>& body) const;

  // Forgets this system's calls made `retention` ago, some hundred at a time. skipped is 1, and
  // nothing was done, while another worker is at it. Error: LeaseLost.
  Result<JobReport> Purge(const PurgeOptions& options = {}) const;

 private:
  Result<bson::Document> Conclude(std::string_view operation, const std::string& id,
                                  const Result<bson::Document>& done) const;

  Store store_;
  std::string system_;
};

// How a write to one document is done once by all holders of a claim: `marks` of the document has
// the ids of its last 100 keyed writes. Without a key these change nothing.
bson::Document Unmarked(const bson::Document& filter, const Claim& claim);
bson::Document Marking(const bson::Document& update, const Claim& claim);
bool Marked(bson::View document, const Claim& claim);

// Changes the document of that _id, or makes it, once for all holders of the claim. Error:
// Contention.
Status UpsertOnce(const Store& store, std::string_view collection, std::string_view id,
                  const bson::Document& update, const Claim& claim);

// Inserts a document, which has an _id of the caller's choice, with the claim's id in `call` (not
// without a key): all holders of the claim may. Error: DuplicateKey (of another call's).
Status InsertOnce(const Store& store, std::string_view collection, const bson::Document& document,
                  const Claim& claim);

}  // namespace quire::patterns
