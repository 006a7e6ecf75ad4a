// SPDX-License-Identifier: Apache-2.0
//
// Transactions on RocksDB. A reader is a snapshot; a writer adds claims and pending writes, which
// Commit hands to RocksDB as one batch.
#pragma once

#include <memory>

#include "kv/kv.h"
#include "kv/rocks/rocks_database.h"

namespace quire::kv {

// REQUIRES of both: the database outlives the transaction. `as_of` may be null.
std::unique_ptr<Txn> NewReadTxn(RocksDatabase& database, std::shared_ptr<Txn> as_of);
std::unique_ptr<Txn> NewWriteTxn(RocksDatabase& database);

}  // namespace quire::kv
