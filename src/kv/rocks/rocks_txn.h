// SPDX-License-Identifier: Apache-2.0
//
// Transactions on RocksDB. A reader is a snapshot; a writer adds claims and pending writes, which
// Commit hands to RocksDB as one batch.
#pragma once

#include <memory>

#include "kv/kv.h"
#include "kv/rocks/rocks_database.h"

namespace quire::kv {

// REQUIRES: the database outlives the transaction.
std::unique_ptr<Txn> NewTxn(RocksDatabase& database, TxnOptions options);

}  // namespace quire::kv
