// SPDX-License-Identifier: Apache-2.0
#include "engine/write/write_unit.h"

#include <algorithm>
#include <random>
#include <thread>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"
#include "bson/validate.h"
#include "bson/walk/field_walk.h"
#include "engine/schema/schema.h"
#include "expr/match/match.h"
#include "expr/validation/failure.h"
#include "store/collection.h"

namespace quire::engine {

namespace {

constexpr uint32_t kMaxDocumentSize = uint32_t{16} << 20;

void Backoff(int attempt) {
  if (attempt < 4) {
    std::this_thread::yield();
    return;
  }
  static thread_local std::minstd_rand random(std::random_device{}());
  auto longest = static_cast<unsigned>(std::min(attempt * 50, 5000));
  std::this_thread::sleep_for(std::chrono::microseconds(random() % longest + 10));
}

bool NeedsZeroTimestamp(const bson::Element& e) {
  return e.type() == bson::Type::kTimestamp && e.value().AsTimestamp() == bson::Timestamp{};
}

Status NotFound(const std::string& ns) { return {kNamespaceNotFound, "ns not found: " + ns}; }

// Whether the catalog still shows the collection so, which lasts while it is held.
bool IsCurrent(const store::CollectionInfo& collection) {
  return collection.state->published_version == collection.version;
}

Status RunInSession(const Operation& operation, const store::CollectionPtr& found,
                    const WriteBody& body) {
  store::Transaction& txn = *operation.session->transaction();
  RETURN_IF_ERROR(txn.Hold(found->state));
  if (IsCurrent(*found)) {
    return body(txn, found);
  }
  // It has changed while the hold was waited for.
  ASSIGN_OR_RETURN(store::CollectionPtr collection, operation.Find(found->ns()));
  return collection == nullptr ? NotFound(found->ns()) : body(txn, collection);
}

}  // namespace

Result<store::CollectionPtr> WritableCollection(const Operation& operation, const std::string& ns,
                                                bool create) {
  ASSIGN_OR_RETURN(store::CollectionPtr collection, operation.Find(ns));
  while (collection == nullptr && create) {  // once more when another drops it at once
    RETURN_IF_ERROR(operation.op.CheckInterruptNow());
    operation.op.may_have_written = true;
    RETURN_IF_ERROR(CreateImplicitly(operation, ns));
    ASSIGN_OR_RETURN(collection, operation.Find(ns));
  }
  if (collection != nullptr && collection->is_view()) {
    return Status(kCommandNotSupportedOnView, "Namespace " + ns + " is a view, not a collection");
  }
  return collection;
}

Status RunWrite(const Operation& operation, const store::CollectionPtr& found,
                const WriteBody& body) {
  if (operation.in_transaction) {
    return RunInSession(operation, found, body);
  }
  store::CollectionPtr collection = found;
  for (int attempt = 0;; ++attempt) {
    const std::shared_ptr<store::CollectionState>& held = collection->state;
    ASSIGN_OR_RETURN(auto txn, store::Transaction::Begin(operation.engine.store(), false, held));
    Status status;
    if (IsCurrent(*collection)) {
      status = body(*txn, collection);
    } else {
      store::CollectionPtr now = operation.engine.catalog().Find(found->ns());
      status = now != nullptr && now->state == held
                   ? body(*txn, now)
                   : Status(kWriteConflict, "the collection was replaced");
    }
    if (status.ok() && txn->wrote()) {
      operation.op.may_have_written = true;
      status = txn->Commit(operation.durability);
    }
    if (status.code() != kWriteConflict) {
      return status;
    }
    txn.reset();
    operation.engine.metrics.write_conflicts++;
    RETURN_IF_ERROR(operation.op.CheckInterruptNow());
    Backoff(attempt);
    if (!IsCurrent(*collection)) {
      collection = operation.engine.catalog().Find(found->ns());
      if (collection == nullptr) {
        return NotFound(found->ns());
      }
    }
  }
}

bool IsDocumentError(const Status& status) {
  constexpr int kUnknownStage = 40324;  // of a pipeline update: refused as a malformed command is
  switch (status.code()) {
    case kUnknownStage:
    case kWriteConflict:
    case kOutOfDiskSpace:
    case kInternalError:
    case kInterrupted:
    case kInterruptedAtShutdown:
    case kMaxTimeMSExpired:
    case kNamespaceNotFound:
    case kInvalidNamespace:
    case kLockTimeout:
    case kSnapshotUnavailable:
    case kDataCorruptionDetected:
    // What drivers act on, of the whole command: this is no primary any more.
    case kNotWritablePrimary:
    case kPrimarySteppedDown:
    case kInterruptedDueToReplStateChange:
    case kShutdownInProgress:
      return false;
    default:
      return true;
  }
}

Status CheckId(const bson::Value& id) {
  switch (id.type()) {
    case bson::Type::kArray:
      return {kInvalidIdField, "The '_id' value cannot be of type array"};
    case bson::Type::kRegex:
      return {kInvalidIdField, "The '_id' value cannot be of type regex"};
    case bson::Type::kUndefined:
      return {kInvalidIdField, "The '_id' value cannot be of type undefined"};
    case bson::Type::kDocument:
      for (const bson::Element& e : id.AsDocument()) {
        bool reference = e.name() == "$ref" || e.name() == "$id" || e.name() == "$db";
        if (e.name().starts_with('$') && !reference) {
          return {kDollarPrefixedFieldName,
                  "_id fields may not contain '$'-prefixed fields: " + std::string(e.name()) +
                      " is not valid for storage."};
        }
      }
      return Status::Ok();
    default:
      return Status::Ok();
  }
}

Result<bson::View> PrepareForInsert(const Operation& operation, bson::View document,
                                    bool keep_empty_timestamps, bson::Document* storage) {
  const bson::Element id = document.Find("_id");
  bool in_place = id.present() && document.front().name() == "_id";
  for (bson::FieldWalk field(document); in_place && field.valid(); field.Next()) {
    if (field.type() == bson::Type::kTimestamp && !keep_empty_timestamps) {
      in_place = !NeedsZeroTimestamp(field.element()) || field.name() == "_id";
    }
  }
  RETURN_IF_ERROR(CheckId(id.value()));
  if (!bson::NestsWithin(document, bson::kMaxStoredDepth)) {
    return Status(kOverflow, "cannot insert document because it exceeds 180 levels of nesting");
  }
  bson::View prepared = document;
  if (!in_place) {
    bson::Builder out;
    if (id.present()) {
      out.Append(id);
    } else {
      out.Append("_id", bson::ObjectId::Generate());
    }
    for (const bson::Element& e : document) {
      if (e.name() == "_id") {
        continue;
      }
      if (!keep_empty_timestamps && NeedsZeroTimestamp(e)) {
        out.Append(e.name(), operation.engine.clock().Tick());
      } else {
        out.Append(e);
      }
    }
    *storage = out.Finish();
    prepared = *storage;
  }
  if (prepared.size() > kMaxDocumentSize) {
    return Status(kBSONObjectTooLarge,
                  "object to insert too large. size in bytes: " + std::to_string(prepared.size()) +
                      ", max size: " + std::to_string(kMaxDocumentSize));
  }
  return prepared;
}

Status CheckValidator(const Operation& operation, const store::CollectionInfo& collection,
                      bson::View document, const bson::View* before) {
  if (collection.validator == nullptr) {
    return Status::Ok();
  }
  bson::View spec = collection.options["validator"].AsDocument();
  const expr::match::Filter* validator = collection.validator.get();
  expr::Context context;
  context.collator = collection.context.collator;
  std::unique_ptr<expr::match::Filter> parsed_now;
  if (collection.validator_names_clock) {
    RETURN_IF_ERROR(FillContext(operation, {}, &context));
    ASSIGN_OR_RETURN(parsed_now, expr::match::Filter::Parse(spec, &context,
                                                            expr::match::Allowed::InValidator()));
    validator = parsed_now.get();
  }
  ASSIGN_OR_RETURN(bool valid, validator->Matches(document));
  if (valid) {
    return Status::Ok();
  }
  if (before != nullptr && collection.validate_existing_only_if_valid) {
    ASSIGN_OR_RETURN(bool was_valid, validator->Matches(*before));
    if (!was_valid) {
      return Status::Ok();
    }
  }
  bson::Document why = expr::schema::ExplainFailure(spec, document, &context);
  if (collection.validate_warn) {
    log::Warning("STORAGE", "Document would fail validation",
                 {{"namespace", collection.ns()}, {"errInfo", bson::ToJson(why)}});
    return Status::Ok();
  }
  bson::Builder extra;
  extra.Append("errInfo", why);
  return Status(kDocumentValidationFailure, "Document failed validation")
      .WithExtra(extra.Finish().bytes());
}

}  // namespace quire::engine
