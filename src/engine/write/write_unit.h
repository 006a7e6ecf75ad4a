// SPDX-License-Identifier: Apache-2.0
//
// The one loop that runs a write: begin, do, commit, and again when another write was in the way.
#pragma once

#include <functional>
#include <string>

#include "engine/engine.h"

namespace quire::engine {

// The collection to write to, created when it is not there (and `create`). Null when it is not
// there otherwise. CommandNotSupportedOnView for a view.
Result<store::CollectionPtr> WritableCollection(const Operation& operation, const std::string& ns,
                                                bool create);

// Calls `body` with a transaction that holds the collection, then commits. In a multi-document
// transaction it is called once, in that one, and nothing is committed. `found` is what
// WritableCollection gave; `body` gets what has become of it in between.
using WriteBody =
    std::function<Status(store::Transaction& txn, const store::CollectionPtr& collection)>;
Status RunWrite(const Operation& operation, const store::CollectionPtr& found,
                const WriteBody& body);
// Calls `run` with an operation whose commits are not synced one by one; what they wrote is synced
// once all are done. For commands of many statements.
template <typename Run>
auto WithOneSync(const Operation& operation, Run run) -> decltype(run(operation)) {
  if (operation.durability != Durability::kDisk || operation.in_transaction) {
    return run(operation);
  }
  Operation unsynced = operation;
  unsynced.durability = Durability::kProcess;
  auto reply = run(unsynced);
  if (reply.ok()) {
    // Also when nothing was written now: what is remembered of a command sent before may not be
    // on the disk yet.
    RETURN_IF_ERROR(operation.engine.store().SyncBehind());
  }
  return reply;
}

// Whether an error concerns one document of a batch; any other ends the command. (Inside a
// multi-document transaction either ends the transaction.)
bool IsDocumentError(const Status& status);

// The document as it is stored: _id first (made when missing), zero timestamps filled in unless
// they are kept. `storage` keeps the bytes when the document had to change.
Result<bson::View> PrepareForInsert(const Operation& operation, bson::View document,
                                    bool keep_empty_timestamps, bson::Document* storage);
// BadValue family for ids MongoDB refuses (arrays, regular expressions, undefined).
Status CheckId(const bson::Value& id);

// DocumentValidationFailure when the collection's validator refuses the document. `before` is the
// document being replaced, null for an insert.
Status CheckValidator(const Operation& operation, const store::CollectionInfo& collection,
                      bson::View document, const bson::View* before);

}  // namespace quire::engine
