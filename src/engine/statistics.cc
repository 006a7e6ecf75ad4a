// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics.h"

#include <algorithm>

#include "engine/stream/oplog.h"

namespace quire::engine {

void AppendInteger(bson::Builder* out, std::string_view name, int64_t n) {
  if (n <= INT32_MAX && n >= INT32_MIN) {
    out->Append(name, static_cast<int32_t>(n));
  } else {
    out->Append(name, n);
  }
}

int64_t CountIndexes(const store::CollectionInfo& collection) {
  return static_cast<int64_t>(collection.indexes.size()) - (collection.clustered ? 1 : 0);
}

int64_t StoredBytes(Engine& engine, store::TableId table) {
  return static_cast<int64_t>(engine.store().ApproximateSize(store::TableRange(table)));
}

LogTotals LogTotalsOf(Engine& engine) {
  constexpr int64_t kCounted = 100000;
  LogTotals totals;
  OpContext op;
  OplogRows rows(engine, engine.log().Oldest(), false);
  exec::Row row;
  for (Result<bool> more = rows.Next(op, &row); more.ok() && *more; more = rows.Next(op, &row)) {
    ++totals.entries;
    totals.bytes += static_cast<int64_t>(row.document.size());
    if (totals.entries == kCounted) {
      const auto stored = static_cast<int64_t>(engine.log().ApproximateSize());
      totals.entries = std::max(totals.entries, stored / (totals.bytes / kCounted));
      totals.bytes = std::max(totals.bytes, stored);
      break;
    }
  }
  return totals;
}

void AppendStorageStats(Engine& engine, const store::CollectionInfo* collection, int64_t scale,
                        bson::Builder* out) {
  if (collection == nullptr) {
    for (std::string_view field : {"size", "count", "numOrphanDocs", "storageSize", "totalSize",
                                   "nindexes", "totalIndexSize"}) {
      out->Append(field, 0);
    }
    out->BeginDocument("indexDetails").End().BeginDocument("indexSizes").End();
    out->Append("scaleFactor", static_cast<int32_t>(scale));
    return;
  }
  if (collection->is_oplog) {
    const LogTotals totals = LogTotalsOf(engine);
    const auto stored = static_cast<int64_t>(engine.log().ApproximateSize());
    AppendInteger(out, "size", totals.bytes / scale);
    AppendInteger(out, "count", totals.entries);
    if (totals.entries > 0) {
      AppendInteger(out, "avgObjSize", totals.bytes / totals.entries);
    }
    out->Append("numOrphanDocs", 0);
    AppendInteger(out, "storageSize", stored / scale);
    out->Append("freeStorageSize", 0).Append("capped", true).Append("max", 0);
    AppendInteger(out, "maxSize", static_cast<int64_t>(engine.log_bytes.load()) / scale);
    out->Append("nindexes", 0).BeginDocument("indexDetails").End();
    out->BeginArray("indexBuilds").End().Append("totalIndexSize", 0);
    AppendInteger(out, "totalSize", stored / scale);
    out->BeginDocument("indexSizes").End().Append("scaleFactor", static_cast<int32_t>(scale));
    return;
  }
  int64_t documents = collection->state->documents;
  int64_t bytes = collection->state->bytes;
  int64_t stored = StoredBytes(engine, collection->table->id);
  AppendInteger(out, "size", bytes / scale);
  AppendInteger(out, "count", documents);
  if (documents > 0) {
    AppendInteger(out, "avgObjSize", bytes / documents);
  }
  out->Append("numOrphanDocs", 0);
  AppendInteger(out, "storageSize", stored / scale);
  out->Append("freeStorageSize", 0).Append("capped", collection->capped);
  if (collection->capped) {
    AppendInteger(out, "max", collection->capped_max);
    AppendInteger(out, "maxSize", collection->capped_size / scale);
  }
  AppendInteger(out, "nindexes", CountIndexes(*collection));
  out->BeginDocument("indexDetails").End().BeginArray("indexBuilds").End();
  int64_t index_bytes = 0;
  for (const auto& index : collection->indexes) {
    index_bytes += StoredBytes(engine, index->table->id);
  }
  AppendInteger(out, "totalIndexSize", index_bytes / scale);
  AppendInteger(out, "totalSize", (stored + index_bytes) / scale);
  out->BeginDocument("indexSizes");
  for (const auto& index : collection->indexes) {
    AppendInteger(out, index->name, StoredBytes(engine, index->table->id) / scale);
  }
  out->End().Append("scaleFactor", static_cast<int32_t>(scale));
}

}  // namespace quire::engine
