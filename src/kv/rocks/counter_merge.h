// SPDX-License-Identifier: Apache-2.0
//
// RocksDB merge operator behind Txn::Add.
#pragma once

#include <rocksdb/merge_operator.h>

#include <memory>

namespace quire::kv {

std::shared_ptr<rocksdb::MergeOperator> NewCounterMerge();

}  // namespace quire::kv
