// SPDX-License-Identifier: Apache-2.0
#include "kv/testing/fault_store.h"

#include <utility>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::kv {
namespace {

class FaultCursor final : public Cursor {
 public:
  FaultCursor(std::unique_ptr<Cursor> base, FaultPlan& plan)
      : base_(std::move(base)), plan_(plan) {}

  Result<bool> Next() override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kRead));
    return Show(base_->Next());
  }
  Result<bool> Seek(std::string_view target) override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kRead));
    return Show(base_->Seek(target));
  }

 private:
  Result<bool> Show(Result<bool> moved) {
    if (moved.ok() && *moved) {
      key_ = base_->key();
      value_ = base_->value();
    }
    return moved;
  }

  std::unique_ptr<Cursor> base_;
  FaultPlan& plan_;
};

class FaultTxn final : public Txn {
 public:
  FaultTxn(std::unique_ptr<Txn> base, FaultPlan& plan, bool read_only)
      : base_(std::move(base)), plan_(plan), read_only_(read_only) {}
  Txn* base() { return base_.get(); }

  Result<bool> Get(std::string_view key, ReadValue* value, Reads reads) override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kRead));
    return base_->Get(key, value, reads);
  }
  Status MultiGet(std::span<const std::string_view> keys, std::vector<ReadValue>* values,
                  std::vector<bool>* found, Reads reads) override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kRead));
    return base_->MultiGet(keys, values, found, reads);
  }
  Result<std::unique_ptr<Cursor>> Scan(Range range, Direction direction) override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kRead));
    ASSIGN_OR_RETURN(auto cursor, base_->Scan(std::move(range), direction));
    return std::unique_ptr<Cursor>(new FaultCursor(std::move(cursor), plan_));
  }
  Status Claim(std::string_view key) override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kClaim));
    return base_->Claim(key);
  }
  Status Put(std::string_view key, std::string_view value, const PutHints& hints) override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kWrite));
    return base_->Put(key, value, hints);
  }
  Status Delete(std::string_view key, Reads reads) override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kWrite));
    return base_->Delete(key, reads);
  }
  Status Add(std::string_view key, int64_t delta) override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kWrite));
    return base_->Add(key, delta);
  }
  Result<int64_t> ReadCounter(std::string_view counter) override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kRead));
    return base_->ReadCounter(counter);
  }
  void SetSavepoint() override { base_->SetSavepoint(); }
  Status RollbackToSavepoint() override { return base_->RollbackToSavepoint(); }
  void ReleaseSavepoint() override { base_->ReleaseSavepoint(); }
  Status Commit(Durability durability) override {
    if (!read_only_) {
      RETURN_IF_ERROR(plan_.Check(FaultPoint::kCommit));
    }
    return base_->Commit(durability);
  }

 private:
  std::unique_ptr<Txn> base_;
  FaultPlan& plan_;
  const bool read_only_;
};

class FaultLoader final : public SortedLoader {
 public:
  FaultLoader(std::unique_ptr<SortedLoader> base, FaultPlan& plan)
      : base_(std::move(base)), plan_(plan) {}

  Status Add(std::string_view key, std::string_view value) override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kLoad));
    return base_->Add(key, value);
  }
  Status Finish() override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kLoad));
    return base_->Finish();
  }

 private:
  std::unique_ptr<SortedLoader> base_;
  FaultPlan& plan_;
};

class FaultStore final : public Store {
 public:
  FaultStore(std::unique_ptr<Store> base, FaultPlan& plan) : base_(std::move(base)), plan_(plan) {}

  Result<std::unique_ptr<Txn>> Begin(TxnOptions options) override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kBegin));
    if (options.as_of != nullptr) {
      Txn* inner = static_cast<FaultTxn&>(*options.as_of).base();
      options.as_of = std::shared_ptr<Txn>(options.as_of, inner);
    }
    ASSIGN_OR_RETURN(auto txn, base_->Begin(options));
    return std::unique_ptr<Txn>(new FaultTxn(std::move(txn), plan_, options.read_only));
  }
  Status DeleteRange(const Range& range) override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kAdmin));
    return base_->DeleteRange(range);
  }
  Result<std::unique_ptr<SortedLoader>> Load() override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kLoad));
    ASSIGN_OR_RETURN(auto loader, base_->Load());
    return std::unique_ptr<SortedLoader>(new FaultLoader(std::move(loader), plan_));
  }
  Status SyncBehind() override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kAdmin));
    return base_->SyncBehind();
  }
  Status Checkpoint(const std::string& folder) override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kAdmin));
    return base_->Checkpoint(folder);
  }
  Status Sync() override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kAdmin));
    return base_->Sync();
  }
  Status Compact(const Range& range) override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kAdmin));
    return base_->Compact(range);
  }
  uint64_t ApproximateSize(const Range& range) override { return base_->ApproximateSize(range); }
  StoreStats Stats() override { return base_->Stats(); }
  Status Health() override {
    RETURN_IF_ERROR(plan_.Check(FaultPoint::kHealth));
    return base_->Health();
  }

 private:
  std::unique_ptr<Store> base_;
  FaultPlan& plan_;
};

bool NeedsSpace(FaultPoint point) {
  return point == FaultPoint::kCommit || point == FaultPoint::kLoad || point == FaultPoint::kAdmin;
}

}  // namespace

void FaultPlan::FailNth(FaultPoint point, uint64_t nth, Status error) {
  MutexLock lock(mutex_);
  Rule& rule = rules_[static_cast<size_t>(point)];
  rule.fail_at = rule.calls + nth;
  rule.nth_error = std::move(error);
}

void FaultPlan::RunAtNth(FaultPoint point, uint64_t nth, std::function<void()> action) {
  MutexLock lock(mutex_);
  Rule& rule = rules_[static_cast<size_t>(point)];
  rule.run_at = rule.calls + nth;
  rule.action = std::move(action);
}

void FaultPlan::FailRandomly(FaultPoint point, double probability, uint64_t seed, Status error) {
  MutexLock lock(mutex_);
  Rule& rule = rules_[static_cast<size_t>(point)];
  rule.probability = probability;
  rule.random.seed(seed);
  rule.random_error = std::move(error);
}

void FaultPlan::SetDiskFull(bool full) {
  MutexLock lock(mutex_);
  disk_full_ = full;
}

void FaultPlan::Clear() {
  MutexLock lock(mutex_);
  disk_full_ = false;
  for (Rule& rule : rules_) {
    rule.fail_at = 0;
    rule.run_at = 0;
    rule.probability = 0;
  }
}

uint64_t FaultPlan::calls(FaultPoint point) {
  MutexLock lock(mutex_);
  return rules_[static_cast<size_t>(point)].calls;
}

Status FaultPlan::Check(FaultPoint point) {
  MutexLock lock(mutex_);
  Rule& rule = rules_[static_cast<size_t>(point)];
  ++rule.calls;
  if (rule.calls == rule.run_at) {
    auto action = std::move(rule.action);
    lock.unlock();  // it may use the store
    action();
    return Status::Ok();
  }
  if (disk_full_ && NeedsSpace(point)) {
    return Status(kOutOfDiskSpace, "The disk is full");
  }
  if (rule.calls == rule.fail_at) {
    return rule.nth_error;
  }
  if (rule.probability > 0 &&
      std::uniform_real_distribution<double>()(rule.random) < rule.probability) {
    return rule.random_error;
  }
  return Status::Ok();
}

std::unique_ptr<Store> NewFaultStore(std::unique_ptr<Store> base, FaultPlan& plan) {
  return std::make_unique<FaultStore>(std::move(base), plan);
}

}  // namespace quire::kv
