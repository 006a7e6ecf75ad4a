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

// Documents: idempotency {_id: "system/key", call, args, id, at, outcome | error}.
// Safe for concurrent use.
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

  // Forgets calls made `retention` ago: nobody repeats them any more.
  Result<JobReport> Purge(std::chrono::milliseconds retention) const;

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

// Inserts a document, which has an _id of the caller's choice, with the claim's id in `call` (not
// without a key): all holders of the claim may. Error: DuplicateKey (of another call's).
Status InsertOnce(const Store& store, std::string_view collection, const bson::Document& document,
                  const Claim& claim);

}  // namespace quire::patterns
