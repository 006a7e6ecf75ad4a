// SPDX-License-Identifier: Apache-2.0
//
// Expiring documents by their TTL indexes.
#include "base/op_context.h"
#include "bson/number.h"
#include "engine/engine.h"
#include "engine/write/modify.h"

namespace quire::engine {

namespace {

// Deletes what one index has expired: {field: {$lte: now - seconds}}; only dates compare with a
// date, and of an array of dates one is enough.
int64_t ExpireIndex(Engine& engine, const store::CollectionInfo& collection,
                    const store::IndexInfo& index, int64_t seconds) {
  int64_t now = std::chrono::duration_cast<std::chrono::milliseconds>(
                    std::chrono::system_clock::now().time_since_epoch())
                    .count();
  bson::Builder filter;
  filter.BeginDocument(index.key_pattern.view().front().name())
      .Append("$gte", bson::Date{INT64_MIN})
      .Append("$lte", bson::Date{now - seconds * 1000})
      .End();
  if (bson::Value partial = index.spec["partialFilterExpression"]; partial.is_document()) {
    filter.BeginArray("$and").Push(partial).End();
  }
  bson::Document query = filter.Finish();
  OpContext op;
  Operation operation{engine, op};
  ModifySpec spec;
  spec.query.filter_spec = query;
  spec.query.hint = bson::Value(std::string_view(index.name));
  spec.query.hint_hidden = true;
  spec.multi = true;
  request::OpSummary summary;
  Result<ModifyResult> done = Modify(operation, collection.ns(), spec, 0, {}, &summary);
  return done.ok() ? done->n : 0;
}

}  // namespace

void Engine::RunTtlPass() {
  for (const store::CollectionPtr& collection : catalog_->snapshot()->All()) {
    if (bson::Value seconds = collection->options["expireAfterSeconds"];
        collection->clustered && seconds.is_number()) {
      metrics.ttl_deleted += ExpireIndex(*this, *collection, *collection->indexes.front(),
                                         bson::ClampedInt64(seconds));
    }
    for (const auto& index : collection->indexes) {
      if (index->expire_after_seconds && !collection->capped) {
        metrics.ttl_deleted +=
            ExpireIndex(*this, *collection, *index, *index->expire_after_seconds);
      }
    }
  }
  metrics.ttl_passes++;
}

}  // namespace quire::engine
