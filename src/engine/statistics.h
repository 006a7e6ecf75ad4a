// SPDX-License-Identifier: Apache-2.0
//
// Counts and sizes of a collection, as collStats and $collStats tell them.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/engine.h"

namespace quire::engine {

// int32 when it fits, as MongoDB writes counters.
void AppendInteger(bson::Builder* out, std::string_view name, int64_t n);

// Indexes as MongoDB counts them: what clusters a collection is none.
int64_t CountIndexes(const store::CollectionInfo& collection);

// Estimated bytes on disk of a table.
int64_t StoredBytes(Engine& engine, store::TableId table);

// The change log as the capped collection local.oplog.rs.
struct LogTotals {
  int64_t entries = 0;
  int64_t bytes = 0;
};
// Counted while it is small, else reckoned from the size of its first entries.
LogTotals LogTotalsOf(Engine& engine);

// Appends size, count, storageSize... in units of `scale` bytes. `collection` null: all zero.
void AppendStorageStats(Engine& engine, const store::CollectionInfo* collection, int64_t scale,
                        bson::Builder* out);

}  // namespace quire::engine
