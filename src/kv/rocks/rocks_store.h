// SPDX-License-Identifier: Apache-2.0
//
// The RocksDB backend of kv.h: one database in one folder, or in memory.
#pragma once

#include <memory>

#include "kv/kv.h"
#include "kv/rocks/rocks_options.h"
#include "quire/status.h"

namespace quire::kv {

// Opens or creates the store. Errors: DBPathInUse when another store has the folder open,
// UnsupportedFormat when the folder holds something else or a newer format, DataCorruptionDetected,
// InternalError (I/O). The folder is left as it was on any of the first three.
Result<std::unique_ptr<Store>> OpenRocks(const RocksOptions& options);

}  // namespace quire::kv
