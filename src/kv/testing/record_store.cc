// SPDX-License-Identifier: Apache-2.0
#include "kv/testing/record_store.h"

#include <utility>

#include "base/try.h"

namespace quire::kv {
namespace {

// The record that this thread fills; null: none.
thread_local AccessRecord* filled = nullptr;

class RecordCursor final : public Cursor {
 public:
  RecordCursor(std::unique_ptr<Cursor> base, AccessRecord& record)
      : base_(std::move(base)), record_(record) {}

  Result<bool> Next() override { return Show(base_->Next()); }
  Result<bool> Seek(std::string_view target) override { return Show(base_->Seek(target)); }

 private:
  Result<bool> Show(Result<bool> moved) {
    if (moved.ok() && *moved) {
      key_ = base_->key();
      value_ = base_->value();
      record_.NoteRead(key_);
    }
    return moved;
  }

  std::unique_ptr<Cursor> base_;
  AccessRecord& record_;
};

class RecordTxn final : public Txn {
 public:
  RecordTxn(std::unique_ptr<Txn> base, AccessRecord& record)
      : base_(std::move(base)), record_(record) {}
  Txn* base() { return base_.get(); }

  Result<bool> Get(std::string_view key, ReadValue* value, Reads reads) override {
    record_.NoteRead(key);
    return base_->Get(key, value, reads);
  }
  Status MultiGet(std::span<const std::string_view> keys, std::vector<ReadValue>* values,
                  std::vector<bool>* found, Reads reads) override {
    for (std::string_view key : keys) {
      record_.NoteRead(key);
    }
    return base_->MultiGet(keys, values, found, reads);
  }
  Result<std::unique_ptr<Cursor>> Scan(Range range, Direction direction) override {
    record_.NoteRead(range.begin);
    ASSIGN_OR_RETURN(auto cursor, base_->Scan(std::move(range), direction));
    return std::unique_ptr<Cursor>(new RecordCursor(std::move(cursor), record_));
  }
  Status Claim(std::string_view key) override { return base_->Claim(key); }
  Status Put(std::string_view key, std::string_view value, const PutHints& hints) override {
    record_.NoteWrite(key);
    return base_->Put(key, value, hints);
  }
  Status Delete(std::string_view key, Reads reads) override {
    record_.NoteWrite(key);
    return base_->Delete(key, reads);
  }
  Status Add(std::string_view counter, int64_t delta) override {
    record_.NoteWrite(counter);
    return base_->Add(counter, delta);
  }
  Result<int64_t> ReadCounter(std::string_view counter) override {
    record_.NoteRead(counter);
    return base_->ReadCounter(counter);
  }
  void SetSavepoint() override { base_->SetSavepoint(); }
  Status RollbackToSavepoint() override { return base_->RollbackToSavepoint(); }
  void ReleaseSavepoint() override { base_->ReleaseSavepoint(); }
  Status Commit(Durability durability) override { return base_->Commit(durability); }

 private:
  std::unique_ptr<Txn> base_;
  AccessRecord& record_;
};

class RecordLoader final : public SortedLoader {
 public:
  RecordLoader(std::unique_ptr<SortedLoader> base, AccessRecord& record)
      : base_(std::move(base)), record_(record) {}

  Status Add(std::string_view key, std::string_view value) override {
    record_.NoteWrite(key);
    return base_->Add(key, value);
  }
  Status Finish() override { return base_->Finish(); }

 private:
  std::unique_ptr<SortedLoader> base_;
  AccessRecord& record_;
};

class RecordStore final : public Store {
 public:
  RecordStore(std::unique_ptr<Store> base, AccessRecord& record)
      : base_(std::move(base)), record_(record) {}

  Result<std::unique_ptr<Txn>> Begin(TxnOptions options) override {
    if (options.as_of != nullptr) {
      Txn* inner = static_cast<RecordTxn&>(*options.as_of).base();
      options.as_of = std::shared_ptr<Txn>(options.as_of, inner);
    }
    ASSIGN_OR_RETURN(auto txn, base_->Begin(options));
    return std::unique_ptr<Txn>(new RecordTxn(std::move(txn), record_));
  }
  // Reclaims what nothing refers to any more: nobody's data.
  Status DeleteRange(const Range& range) override { return base_->DeleteRange(range); }
  Result<std::unique_ptr<SortedLoader>> Load() override {
    ASSIGN_OR_RETURN(auto loader, base_->Load());
    return std::unique_ptr<SortedLoader>(new RecordLoader(std::move(loader), record_));
  }
  Status Sync() override { return base_->Sync(); }
  Status SyncBehind() override { return base_->SyncBehind(); }
  Status Checkpoint(const std::string& folder) override { return base_->Checkpoint(folder); }
  Status Compact(const Range& range) override {
    record_.NoteRead(range.begin);
    return base_->Compact(range);
  }
  uint64_t ApproximateSize(const Range& range) override {
    record_.NoteRead(range.begin);
    return base_->ApproximateSize(range);
  }
  StoreStats Stats() override { return base_->Stats(); }
  Status Health() override { return base_->Health(); }

 private:
  std::unique_ptr<Store> base_;
  AccessRecord& record_;
};

}  // namespace

void AccessRecord::Start() {
  read_.clear();
  written_.clear();
  filled = this;
}

void AccessRecord::Stop() { filled = nullptr; }

void AccessRecord::NoteRead(std::string_view key) {
  if (filled == this) {
    read_.insert(place_(key));
  }
}

void AccessRecord::NoteWrite(std::string_view key) {
  if (filled == this) {
    written_.insert(place_(key));
  }
}

std::unique_ptr<Store> NewRecordStore(std::unique_ptr<Store> base, AccessRecord& record) {
  return std::make_unique<RecordStore>(std::move(base), record);
}

}  // namespace quire::kv
