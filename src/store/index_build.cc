// SPDX-License-Identifier: Apache-2.0
//
// Building an index over documents that are already there: keys are collected in runs of bounded
// size, sorted, and loaded straight into sorted files.
#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "store/catalog.h"
#include "store/collection.h"

namespace quire::store {

namespace {

constexpr size_t kRunBytes = size_t{64} << 20;

struct Entry {
  std::string key;  // with its table prefix (and record id, unless unique)
  std::string value;
};

class Builder {
 public:
  Builder(kv::Store& store, const CollectionInfo& info, const IndexInfo& index)
      : store_(store), info_(info), index_(index) {}

  Status Add(RecordId id, bson::View document) {
    ASSIGN_OR_RETURN(bool indexed, IsIndexed(index_, document));
    if (!indexed) {
      return Status::Ok();
    }
    RETURN_IF_ERROR(IndexKeys(index_.keys, document, &keys_));
    index_.state->multikey_steps |= keys_.multikey_steps;
    for (const IndexKey& key : keys_.keys) {
      Entry entry;
      IndexEntry(index_, key, id, &entry.key, &entry.value);
      bytes_ += entry.key.size() + entry.value.size() + sizeof(Entry);
      run_.push_back(std::move(entry));
    }
    return bytes_ >= kRunBytes ? Flush() : Status::Ok();
  }

  Status Flush() {
    if (run_.empty()) {
      return Status::Ok();
    }
    std::sort(run_.begin(), run_.end(),
              [](const Entry& a, const Entry& b) { return a.key < b.key; });
    if (index_.unique) {
      RETURN_IF_ERROR(CheckUnique());
    }
    ASSIGN_OR_RETURN(auto loader, store_.Load());
    for (const Entry& entry : run_) {
      RETURN_IF_ERROR(loader->Add(entry.key, entry.value));
    }
    RETURN_IF_ERROR(loader->Finish());
    run_.clear();
    bytes_ = 0;
    ++runs_;
    return Status::Ok();
  }

 private:
  Status CheckUnique() {
    for (size_t i = 1; i < run_.size(); ++i) {
      if (run_[i].key == run_[i - 1].key) {
        return Duplicate(run_[i]);
      }
    }
    if (runs_ == 0) {
      return Status::Ok();
    }
    ASSIGN_OR_RETURN(auto txn, store_.Begin({.read_only = true}));
    kv::ReadValue value;
    for (const Entry& entry : run_) {
      ASSIGN_OR_RETURN(bool found, txn->Get(entry.key, &value));
      if (found) {
        return Duplicate(entry);
      }
    }
    return Status::Ok();
  }

  Status Duplicate(const Entry& entry) {
    return DuplicateKeyError(info_, index_, std::string_view(entry.key).substr(4),
                             std::string_view(entry.value).substr(8));
  }

  kv::Store& store_;
  const CollectionInfo& info_;
  const IndexInfo& index_;
  IndexKeySet keys_;
  std::vector<Entry> run_;
  size_t bytes_ = 0;
  size_t runs_ = 0;
};

}  // namespace

Status Catalog::BuildIndex(OpContext& op, const CollectionInfo& info, const IndexInfo& index) {
  ASSIGN_OR_RETURN(auto txn, store_->Begin({.read_only = true}));
  ASSIGN_OR_RETURN(auto records, txn->Scan(TableRange(info.table->id), kv::Direction::kForward));
  Builder builder(*store_, info, index);
  while (true) {
    ASSIGN_OR_RETURN(bool more, records->Next());
    if (!more) {
      return builder.Flush();
    }
    RETURN_IF_ERROR(op.CheckInterrupt());
    RETURN_IF_ERROR(
        builder.Add(ReadRecordId(records->key().substr(4)), bson::View(records->value().data())));
  }
}

}  // namespace quire::store
