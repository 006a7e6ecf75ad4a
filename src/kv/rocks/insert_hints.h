// SPDX-License-Identifier: Apache-2.0
//
// Keys of one table that arrive in ascending order (record ids, generated _ids) find their place in
// the memtable from the one before instead of from the top.
#pragma once

#include <rocksdb/slice_transform.h>

#include <memory>
#include <string_view>

namespace quire::kv {

// Whether an insert of the key uses and leaves a hint. RocksDB lets range deletes share the hints
// of inserts, after which the next insert fails an assertion: a range delete must not start at a
// hinted key.
bool IsHinted(std::string_view key);

std::shared_ptr<const rocksdb::SliceTransform> NewInsertHints();

}  // namespace quire::kv
