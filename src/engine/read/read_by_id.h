// SPDX-License-Identifier: Apache-2.0
//
// The shortest read: a document by its _id, past filters, plans and cursors. It is counted and
// shown as the plan that it stands for, IDHACK.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"
#include "kv/kv.h"
#include "quire/bson.h"
#include "request/crud.h"
#include "store/collection_info.h"
#include "store/layout.h"

namespace quire::engine {

class ReadById {
 public:
  // Whether documents of the collection are found so: no view, no order of keys of its own.
  static bool Suits(const store::CollectionInfo& collection);

  // False when there is no such document. Adds to the summary what was looked at.
  // REQUIRES: Suits(collection).
  Result<bool> Find(OpContext& op, store::Transaction& txn, const store::CollectionInfo& collection,
                    const bson::Value& id, request::OpSummary* summary);
  // Of what was found, as long as this lives and the transaction does.
  store::RecordId record() const { return record_; }
  bson::View document() const { return bson::View(value_.view().data()); }

 private:
  store::RecordId record_ = 0;
  kv::ReadValue value_;
};

// What a find of an _id found.
struct FoundById {
  std::unique_ptr<store::Transaction> txn;  // null: the session's
  ReadById read;
  bool found = false;
};
// False when the find asks for more than a document by its _id, or the collection does not suit:
// nothing was read then. Its reply is a batch of one document or none, and no cursor.
Result<bool> FindById(const Operation& operation, const std::string& ns,
                      const request::FindRequest& request, request::OpSummary* summary,
                      FoundById* out);

}  // namespace quire::engine
