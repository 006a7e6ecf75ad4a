// SPDX-License-Identifier: Apache-2.0
//
// RocksDB's errors as ours, in one place.
#pragma once

#include <rocksdb/status.h>

#include "quire/status.h"

namespace quire::kv {

// Ok stays ok. NotFound is an InternalError: where it is an answer, callers look before.
Status FromRocks(const rocksdb::Status& status);

}  // namespace quire::kv
