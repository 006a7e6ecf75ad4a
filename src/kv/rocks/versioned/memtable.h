// SPDX-License-Identifier: Apache-2.0
//
// RocksDB's write buffer as a tree of our own: one writer, readers without locks. It differs from
// RocksDB's in what it costs. A search touches a few nodes of fifteen keys each, which are compared
// by eight bytes in the node (memtable_node.h); keys that come in order and newer versions of a key
// go where the last one went; and what a flush reads is fetched ahead. For databases with the
// bytewise order and without concurrent writes of the buffer.
#pragma once

#include <rocksdb/memtablerep.h>

#include <memory>

namespace quire::kv {

std::shared_ptr<rocksdb::MemTableRepFactory> NewMemtableFactory();

}  // namespace quire::kv
