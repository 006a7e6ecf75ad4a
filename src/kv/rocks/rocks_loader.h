// SPDX-License-Identifier: Apache-2.0
//
// SortedLoader on RocksDB: sorted table files written beside the database, taken in at Finish.
#pragma once

#include <memory>

#include "kv/kv.h"
#include "kv/rocks/rocks_database.h"

namespace quire::kv {

// REQUIRES: the database outlives the loader.
std::unique_ptr<SortedLoader> NewRocksLoader(RocksDatabase& database);

}  // namespace quire::kv
