// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/idempotency.h"

#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "quire/patterns/lease.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kCalls[] = "idempotency";
constexpr int32_t kKeptMarks = 100;
constexpr int64_t kPurgeBatch = 500;
constexpr int kAttempts = 10;

// What a finished call told its first caller.
Result<Document> OutcomeOf(const Document& call) {
  bson::Value error = call["error"];
  if (!error.is_document()) {
    return Document(call["outcome"].AsDocument());
  }
  Status status = MakeError(ErrorOfName(TextAt(error.AsDocument(), "name")),
                            TextAt(error.AsDocument(), "detail"));
  bson::Value extra = error.AsDocument()["extra"];
  return extra.is_document() ? status.WithExtra(std::string(extra.AsDocument().bytes())) : status;
}

bool Finished(const Document& call) {
  return call.view().Has("outcome") || call.view().Has("error");
}

Document ErrorDocument(const Status& status) {
  const std::string name = ErrorName(status);
  std::string_view detail = status.message();
  if (detail.starts_with(name + ": ")) {
    detail.remove_prefix(name.size() + 2);
  }
  bson::Builder out;
  out.Append("name", name).Append("detail", detail);
  if (!status.extra().empty()) {
    out.Append("extra", bson::View(status.extra().data()));
  }
  return out.Finish();
}

}  // namespace

Idempotency::Idempotency(Store store, std::string system)
    : store_(std::move(store)), system_(std::move(system)) {}

IndexSpec Idempotency::Index() { return {kCalls, R"({"system": 1, "at": 1})"}; }

ShardKeySpec Idempotency::ShardKey() { return {kCalls, R"({"_id": "hashed"})"}; }

Result<Document> Idempotency::Once(
    std::string_view operation, const CallKey& key, const Document& arguments,
    const std::function<Result<Document>(const Claim&)>& body) const {
  Claim claim{store_.seams().ids->Next()};
  if (!key) {
    return body(claim);
  }
  if (key->empty()) {
    return MakeError(Error::kInvalidName, "an idempotency key is not empty");
  }
  claim.keyed = true;
  const std::string id = system_ + "/" + *key;
  Status inserted =
      store_.Insert(kCalls, Doc("_id", id, "system", system_, "call", operation, "args", arguments,
                                "id", claim.id, "at", store_.Now()));
  if (IsDuplicateKey(inserted)) {
    ASSIGN_OR_RETURN(auto call, store_.FindOne(kCalls, Doc("_id", id)));
    if (!call) {
      return MakeError(Error::kContention, "the key was just forgotten");
    }
    if (TextAt(*call, "call") != operation ||
        !(*call)["args"].BinaryEquals(bson::Value(arguments.view()))) {
      return MakeError(Error::kIdempotencyKeyReuse, *key);
    }
    if (Finished(*call)) {
      return OutcomeOf(*call);
    }
    claim.id = (*call)["id"].AsObjectId();
    claim.repeated = true;
  } else {
    RETURN_IF_ERROR(inserted);
    RETURN_IF_ERROR(store_.seams().After(std::string(operation) + "_key", 1));
  }
  return Conclude(operation, id, body(claim));
}

// Who comes second returns what the first has kept.
Result<Document> Idempotency::Conclude(std::string_view operation, const std::string& id,
                                       const Result<Document>& done) const {
  if (!done.ok() && !IsFinal(done.status())) {
    return done.status();
  }
  const Document outcome =
      done.ok() ? Doc("outcome", *done) : Doc("error", ErrorDocument(done.status()));
  const Document open =
      Doc("_id", id, "outcome", Doc("$exists", false), "error", Doc("$exists", false));
  ASSIGN_OR_RETURN(int64_t kept, store_.UpdateOne(kCalls, open, Doc("$set", outcome)));
  RETURN_IF_ERROR(store_.seams().After(std::string(operation) + "_key", 2));
  if (kept == 1) {
    return done;
  }
  ASSIGN_OR_RETURN(auto call, store_.FindOne(kCalls, Doc("_id", id)));
  return call ? OutcomeOf(*call) : done;
}

Status Idempotency::DoOnce(std::string_view operation, const CallKey& key,
                           const Document& arguments,
                           const std::function<Status(const Claim&)>& body) const {
  return Once(operation, key, arguments,
              [&](const Claim& claim) -> Result<Document> {
                RETURN_IF_ERROR(body(claim));
                return Document();
              })
      .status();
}

// A key that was forgotten may stand for a new call when the deletion arrives: that is young.
Result<JobReport> Idempotency::Purge(const PurgeOptions& options) const {
  const Document old = Doc("$lt", store_.Ago(options.retention));
  auto purge_batch = [&](JobReport* report) -> Result<bool> {
    ASSIGN_OR_RETURN(
        auto calls,
        store_.Find(kCalls, Doc("system", system_, "at", old),
                    {.projection = Doc("_id", 1), .sort = Doc("at", 1), .limit = kPurgeBatch}));
    if (calls.empty()) {
      return false;
    }
    std::vector<bson::OwnedValue> ids;
    for (const Document& call : calls) {
      ids.emplace_back(call["_id"]);
    }
    ASSIGN_OR_RETURN(int64_t deleted,
                     store_.DeleteMany(kCalls, Doc("_id", Doc("$in", ListOf(ids)), "at", old)));
    const auto examined = static_cast<int64_t>(calls.size());
    *report += JobReport{.examined = examined, .changed = deleted, .skipped = examined - deleted};
    RETURN_IF_ERROR(store_.seams().After(system_ + ".purge_keys.c1"));
    return examined == kPurgeBatch;
  };
  return RepeatLeased(Lease(store_, system_ + ".purge_keys", options.worker, options.lease),
                      purge_batch);
}

Document Unmarked(const Document& filter, const Claim& claim) {
  if (!claim.keyed) {
    return filter;
  }
  bson::Builder out;
  out.AppendFields(filter).Append("marks", Doc("$ne", claim.id));
  return out.Finish();
}

Document Marking(const Document& update, const Claim& claim) {
  if (!claim.keyed) {
    return update;
  }
  return MergeUpdates(
      update, Doc("$push", Doc("marks", Doc("$each", List(claim.id), "$slice", -kKeptMarks))));
}

bool Marked(bson::View document, const Claim& claim) {
  return claim.keyed && Holds(document["marks"], bson::Value(claim.id));
}

// The upsert of a document that is marked meets its _id; so does one of two that make it.
Status UpsertOnce(const Store& store, std::string_view collection, std::string_view id,
                  const Document& update, const Claim& claim) {
  const Document by_id = Doc("_id", id);
  for (int i = 0; i < kAttempts; ++i) {
    Status status =
        store.UpdateOne(collection, Unmarked(by_id, claim), Marking(update, claim), true).status();
    if (!IsDuplicateKey(status)) {
      return status;
    }
    ASSIGN_OR_RETURN(auto found, store.FindOne(collection, by_id));
    if (found && Marked(*found, claim)) {
      return Status::Ok();
    }
  }
  return MakeError(Error::kContention, id);
}

Status InsertOnce(const Store& store, std::string_view collection, const Document& document,
                  const Claim& claim) {
  if (!claim.keyed) {
    return store.Insert(collection, document);
  }
  bson::Builder out;
  out.AppendFields(document).Append("call", claim.id);
  Status inserted = store.Insert(collection, out.Finish());
  if (!IsDuplicateKey(inserted)) {
    return inserted;
  }
  ASSIGN_OR_RETURN(auto found, store.FindOne(collection, Doc("_id", document["_id"])));
  const bool mine = found && (*found)["call"].BinaryEquals(bson::Value(claim.id));
  return mine ? Status::Ok() : inserted;
}

}  // namespace quire::patterns
