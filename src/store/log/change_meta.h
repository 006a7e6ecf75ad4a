// SPDX-License-Identifier: Apache-2.0
//
// Writing keys of the meta table that a replica set may have to take back.
#pragma once

#include <string_view>

#include "kv/kv.h"
#include "quire/status.h"
#include "store/log/change_buffer.h"

namespace quire::store {

// As the transaction's own, with what undoes it noted where the buffer wants that.
Status PutMeta(kv::Txn& txn, std::string_view key, std::string_view value, ChangeBuffer* changes);
Status DeleteMeta(kv::Txn& txn, std::string_view key, ChangeBuffer* changes);

}  // namespace quire::store
