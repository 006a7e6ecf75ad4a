// SPDX-License-Identifier: Apache-2.0
#include "engine/schema/validate.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/validate.h"
#include "engine/stream/oplog.h"
#include "store/collection.h"
#include "store/keys/index_keys.h"
#include "store/records/record_cursor.h"
#include "store/records/record_keys.h"
#include "store/records/records.h"

namespace quire::engine {

namespace {

class Validator {
 public:
  Validator(const Operation& operation, const store::CollectionInfo& info, kv::Txn& txn,
            ValidateResult* result)
      : operation_(operation), info_(info), txn_(txn), result_(*result) {}

  Status Run() {
    RETURN_IF_ERROR(Groups());
    if (!readable_) {  // its documents cannot be told
      return Status::Ok();
    }
    RETURN_IF_ERROR(Documents());
    for (const auto& index : info_.indexes) {
      RETURN_IF_ERROR(Keys(*index));
    }
    CheckCounters();
    return Status::Ok();
  }

 private:
  void Error(std::string what) {
    constexpr size_t kMost = 100;
    if (result_.errors.size() < kMost) {
      result_.errors.push_back(std::move(what));
    }
  }

  // Every group can be read whole, and what was deleted beside one is in it.
  Status Groups() {
    ASSIGN_OR_RETURN(auto groups,
                     txn_.Scan(store::GroupRange(info_.table->id), kv::Direction::kForward));
    while (true) {
      RETURN_IF_ERROR(operation_.op.CheckInterrupt());
      ASSIGN_OR_RETURN(bool more, groups->Next());
      if (!more) {
        break;
      }
      if (!IsWhole(groups->value())) {
        Error(
            store::DamagedGroup(info_.table->id, store::ReadGroupNumber(groups->key())).message());
        readable_ = false;
      }
    }
    ASSIGN_OR_RETURN(auto own,
                     txn_.Scan(store::RecordRange(info_.table->id), kv::Direction::kForward));
    while (true) {
      RETURN_IF_ERROR(operation_.op.CheckInterrupt());
      ASSIGN_OR_RETURN(bool more, own->Next());
      if (!more) {
        return Status::Ok();
      }
      if (own->value().empty()) {
        RETURN_IF_ERROR(CheckDeleted(store::ReadRecordId(own->key().substr(4))));
      }
    }
  }

  static bool IsWhole(std::string_view bytes) {
    store::GroupView group;
    if (!group.Read(bytes) || group.count() == 0) {
      return false;
    }
    for (int rank = 0; rank < group.count(); ++rank) {
      if (group.At(rank).empty()) {
        return false;
      }
    }
    return true;
  }

  Status CheckDeleted(store::RecordId id) {
    ASSIGN_OR_RETURN(bool found,
                     txn_.Get(store::GroupKey(info_.table->id, store::GroupOf(id)), &value_));
    store::GroupView group;
    if (!found || !group.Read(value_.view()) || !group.Has(store::SlotOf(id))) {
      Error("document " + std::to_string(id) + " was deleted beside a group that has it not");
    }
    return Status::Ok();
  }

  Status Documents() {
    ASSIGN_OR_RETURN(auto records,
                     store::RecordCursor::Open(txn_, *info_.state, kv::Direction::kForward));
    while (true) {
      RETURN_IF_ERROR(operation_.op.CheckInterrupt());
      ASSIGN_OR_RETURN(bool more, records->Next());
      if (!more) {
        return Status::Ok();
      }
      const store::RecordId id = records->id();
      const std::string_view document = records->document();
      ++result_.records;
      bytes_ += static_cast<int64_t>(document.size());
      if (!bson::Validate(document).ok()) {
        ++result_.invalid_documents;
        Error("document " + std::to_string(id) + " is not valid BSON");
        continue;
      }
      RETURN_IF_ERROR(CheckDocument(id, bson::View(document.data())));
    }
  }

  // Every key of the document is in its index.
  Status CheckDocument(store::RecordId id, bson::View document) {
    for (const auto& index : info_.indexes) {
      ASSIGN_OR_RETURN(bool indexed, store::IsIndexed(*index, document));
      if (!indexed) {
        continue;
      }
      RETURN_IF_ERROR(store::IndexKeys(index->keys, document, &keys_));
      for (const store::IndexKey& key : keys_.keys) {
        store::IndexEntry(*index, key, id, &entry_key_, &entry_value_);
        ASSIGN_OR_RETURN(bool found, txn_.Get(entry_key_, &value_));
        if (!found || value_.view() != entry_value_) {
          ++result_.missing_keys;
          Error("index " + index->name + " lacks a key of document " + std::to_string(id));
        }
      }
      expected_[index->name] += static_cast<int64_t>(keys_.keys.size());
    }
    return Status::Ok();
  }

  // With every expected key there, equal numbers mean equal sets.
  Status Keys(const store::IndexInfo& index) {
    int64_t& count = result_.keys_per_index[index.name];
    ASSIGN_OR_RETURN(auto entries,
                     txn_.Scan(store::TableRange(index.table->id), kv::Direction::kForward));
    while (true) {
      RETURN_IF_ERROR(operation_.op.CheckInterrupt());
      ASSIGN_OR_RETURN(bool more, entries->Next());
      if (!more) {
        break;
      }
      ++count;
    }
    int64_t extra = count - expected_[index.name] + result_.missing_keys;
    if (count > expected_[index.name]) {
      result_.extra_keys += extra;
      Error("index " + index.name + " has " + std::to_string(count) + " keys, its documents " +
            std::to_string(expected_[index.name]));
    }
    return Status::Ok();
  }

  void CheckCounters() {
    auto counter = [&](char kind) -> int64_t {
      Result<int64_t> stored = txn_.ReadCounter(store::MetaKey(kind, info_.table->id));
      return stored.ok() ? *stored : -1;
    };
    if (counter('n') != result_.records) {
      Error("the stored document count is " + std::to_string(counter('n')) + ", there are " +
            std::to_string(result_.records));
    }
    if (counter('b') != bytes_) {
      Error("the stored size is " + std::to_string(counter('b')) + " bytes, the documents have " +
            std::to_string(bytes_));
    }
  }

  const Operation& operation_;
  const store::CollectionInfo& info_;
  kv::Txn& txn_;
  ValidateResult& result_;
  std::map<std::string, int64_t> expected_;
  store::IndexKeySet keys_;
  std::string entry_key_;
  std::string entry_value_;
  kv::ReadValue value_;
  int64_t bytes_ = 0;
  bool readable_ = true;
};

// Its entries are made of the change log: what cannot be read there is an error.
Result<ValidateResult> ValidateOplog(const Operation& operation) {
  ValidateResult result;
  OplogRows rows(operation.engine, operation.engine.log().Oldest(), false);
  exec::Row row;
  while (true) {
    RETURN_IF_ERROR(operation.op.CheckInterrupt());
    Result<bool> more = rows.Next(operation.op, &row);
    if (!more.ok()) {
      RETURN_IF_ERROR(operation.op.CheckInterruptNow());
      result.errors.push_back("the change log cannot be read: " + more.status().message());
      return result;
    }
    if (!*more) {
      return result;
    }
    ++result.records;
    if (!bson::Validate(row.document.bytes()).ok()) {
      ++result.invalid_documents;
      result.errors.push_back("entry " + std::to_string(result.records) + " is not valid BSON");
      return result;
    }
  }
}

}  // namespace

Result<ValidateResult> ValidateCollection(const Operation& operation, const std::string& ns) {
  store::CollectionPtr info = operation.engine.catalog().Find(ns);
  if (info == nullptr) {
    return Status(kNamespaceNotFound, "Collection '" + ns + "' does not exist to validate.");
  }
  if (info->is_oplog) {
    return ValidateOplog(operation);
  }
  if (info->is_view()) {
    return Status(kCommandNotSupportedOnView, "Cannot validate a view");
  }
  ASSIGN_OR_RETURN(auto txn, operation.engine.store().Begin({.read_only = true}));
  ValidateResult result;
  Validator validator(operation, *info, *txn, &result);
  RETURN_IF_ERROR(validator.Run());
  return result;
}

}  // namespace quire::engine
