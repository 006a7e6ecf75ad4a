// SPDX-License-Identifier: Apache-2.0
//
// Moving money between accounts.
//
//   patterns::Transfers bank(client, "bank");
//   bank.CreateIndexes();
//   bank.OpenAccount("alice", 10'000);
//   bank.OpenAccount("bob", 0);
//   auto moved = bank.Transfer(6'000, "alice", "bob", "invoice-17");   // repeatable: same outcome
//   bank.Cleanup();                                                     // now and then, by anyone
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/idempotency.h"
#include "quire/patterns/saga.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

struct TransfersOptions {
  Backend backend = Backend::kCompensating;
  // A transfer not committed by then may be undone by Cleanup.
  std::chrono::milliseconds max_time = std::chrono::minutes(1);
  // How long ended transfers and their tombstones are kept: longer than any write may be delayed.
  std::chrono::milliseconds tombstone_retention = std::chrono::hours(24);
  std::string worker = "worker";  // a name of its own for every process that runs the jobs
  std::chrono::milliseconds lease = std::chrono::minutes(5);
  // Money: no failover takes back what was acknowledged.
  Concerns concerns = KeptByMajority();
  Seams seams = {};
};

// new, commit and rollback are on their way; done and rolled_back are final.
struct TransferRecord {
  bson::OwnedValue id;  // the key, or an ObjectId when none was given
  std::string state;
  int64_t amount = 0;  // minor units
  std::string source;
  std::string destination;
  std::string error;  // why it was rolled back
};

struct Balance {
  int64_t balance = 0;
  int64_t pending_out = 0;  // taken by transfers that are not decided yet; not part of balance
};

// Documents: accounts {_id, balance, txns, voided}, transactions {_id, state, ts, amt, src, dst,
// ended, error}; idempotency (of OpenAccount); jobs. Safe for concurrent use.
class Transfers {
 public:
  Transfers(const Client& client, std::string_view database, TransfersOptions options = {});

  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes());
  }

  // REQUIRES: all balances together are below 2^63. Errors: InvalidAmount (negative), DuplicateKey.
  Status OpenAccount(std::string_view id, int64_t balance, const CallKey& key = std::nullopt) const;

  // Moves `amount`. With a key, repeating the call returns the first call's outcome.
  // Errors: InvalidAmount, SameAccount, UnknownAccount, InsufficientFunds, TransactionExpired,
  // InvalidName (an empty key), IdempotencyKeyReuse: no money moved. After any other error the
  // outcome is open until the call is repeated with its key, or Cleanup has decided.
  Result<TransferRecord> Transfer(int64_t amount, std::string_view source,
                                  std::string_view destination,
                                  const std::optional<std::string>& key = std::nullopt) const;

  // Error: NotFound.
  Result<TransferRecord> GetStatus(const bson::Value& id) const;
  // Error: UnknownAccount.
  Result<Balance> GetBalance(std::string_view id) const;

  // All money, in accounts and on its way between them, as of one instant: no transfer changes it.
  // Reads every account in one transaction.
  Result<int64_t> GetTotal() const;

  // The jobs. skipped is 1 (Purge: above 0) while another worker is at it.
  // Finishes or undoes what crashed clients left behind.
  Result<JobReport> Cleanup() const { return saga_.Cleanup(); }
  // Forgets ended transfers and keys after the retention.
  Result<JobReport> Purge() const { return saga_.Purge(calls_); }

  // What is wrong, a line each, once nothing is under way and Cleanup has run: accounts below 0, or
  // with something of transfers that have ended; transfers that have not ended.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  TransfersOptions options_;
  Store store_;
  Saga saga_;
  Idempotency calls_;
};

}  // namespace quire::patterns
