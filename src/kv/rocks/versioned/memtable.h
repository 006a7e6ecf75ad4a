// SPDX-License-Identifier: Apache-2.0
//
// RocksDB's write buffer as a skip list of our own: one writer, readers without locks. It differs
// from RocksDB's in what it costs: keys are compared by the sixteen bytes of them each node has as
// two numbers, a table's next key is looked for where its last one went, and stepping back is one
// step. For databases with the bytewise order and without concurrent writes of the buffer.
#pragma once

#include <rocksdb/memtablerep.h>

#include <memory>

namespace quire::kv {

std::shared_ptr<rocksdb::MemTableRepFactory> NewMemtableFactory();

}  // namespace quire::kv
