// SPDX-License-Identifier: Apache-2.0
//
// What every backend's read-only transactions have in common: they refuse to write.
#pragma once

#include "base/error_codes.h"
#include "kv/kv.h"

namespace quire::kv {

class ReadOnlyTxn : public Txn {
 public:
  Status Claim(std::string_view /*key*/) final { return Refusal(); }
  Status Put(std::string_view /*key*/, std::string_view /*value*/,
             const PutHints& /*hints*/) final {
    return Refusal();
  }
  Status Delete(std::string_view /*key*/, Reads /*reads*/) final { return Refusal(); }
  Status Add(std::string_view /*counter*/, int64_t /*delta*/) final { return Refusal(); }
  void SetSavepoint() final {}
  Status RollbackToSavepoint() final { return Status::Ok(); }
  void ReleaseSavepoint() final {}
  Status Commit(Durability /*durability*/) final { return Status::Ok(); }

 private:
  static Status Refusal() { return Status(kIllegalOperation, "Write in a read-only transaction"); }
};

}  // namespace quire::kv
