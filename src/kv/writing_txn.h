// SPDX-License-Identifier: Apache-2.0
//
// The part of a writing transaction that is the same in every backend which decides conflicts by a
// ClaimTable and collects the writes until Commit.
#pragma once

#include "kv/claim_table.h"
#include "kv/kv.h"
#include "kv/write_set.h"

namespace quire::kv {

class WritingTxn : public Txn {
 public:
  Status Claim(std::string_view key) final { return claims_.Add(key); }
  Status Put(std::string_view key, std::string_view value, const PutHints& hints) final {
    writes_.Put(key, value, hints);
    return Status::Ok();
  }
  Status Delete(std::string_view key, Reads reads) final {
    writes_.Delete(key, reads);
    return Status::Ok();
  }
  Status Add(std::string_view counter, int64_t delta) final {
    writes_.Add(counter, delta);
    return Status::Ok();
  }
  void SetSavepoint() final { writes_.SetSavepoint(); }
  Status RollbackToSavepoint() final {
    writes_.RollbackToSavepoint();
    return Status::Ok();
  }
  void ReleaseSavepoint() final { writes_.ReleaseSavepoint(); }

 protected:
  // The claims begin here, before the derived class takes its snapshot. REQUIRES: the table
  // outlives the transaction.
  explicit WritingTxn(ClaimTable& table) : claims_(table) {}

  // Shows what a pending write makes of its key; false when that is nothing.
  static bool Show(const WriteSet::Write& write, ReadValue* value) {
    if (write.kind == WriteSet::Kind::kDelete) {
      return false;
    }
    value->SetCopy(write.value);
    return true;
  }
  // Lays the pending writes over what a MultiGet found in the store.
  void ShowOver(std::span<const std::string_view> keys, std::vector<ReadValue>* values,
                std::vector<bool>* found) {
    for (size_t i = 0; !writes_.empty() && i < keys.size(); ++i) {
      if (const WriteSet::Write* write = writes_.Find(keys[i])) {
        (*found)[i] = Show(*write, &(*values)[i]);
      }
    }
  }

  ClaimTable::Claims claims_;
  WriteSet writes_;
};

}  // namespace quire::kv
