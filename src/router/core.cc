// SPDX-License-Identifier: Apache-2.0
#include "router/core.h"

#include <algorithm>

#include "store/log/logical_clock.h"

namespace quire::router {

const command::Row& Core::RowOf(const request::Call& call) const {
  return **std::find_if(commands.rows().begin(), commands.rows().end(),
                        [&](const command::Row* row) { return &row->info == &call.command; });
}

void Core::AppendClusterTime(bson::Builder* command) {
  static constexpr char kNoHash[20] = {};
  command->BeginDocument("$clusterTime")
      .Append("clusterTime", engine().clock().Now())
      .BeginDocument("signature")
      .Append("hash", bson::Value::Binary({kNoHash, sizeof kNoHash}, 0))
      .Append("keyId", int64_t{0})
      .End()
      .End();
}

void Core::NoteReply(bson::View reply) {
  if (const bson::Value gossip = reply["$clusterTime"]; gossip.is_document()) {
    const bson::Value time = gossip.AsDocument()["clusterTime"];
    if (time.type() == bson::Type::kTimestamp) {
      engine().clock().Advance(time.AsTimestamp());
    }
  }
  if (const bson::Value time = reply["operationTime"]; time.type() == bson::Type::kTimestamp) {
    const uint64_t at = store::PackTime(time.AsTimestamp());
    uint64_t known = seen_.load(std::memory_order_relaxed);
    while (known < at && !seen_.compare_exchange_weak(known, at)) {
    }
  }
}

bson::Timestamp Core::seen() const { return store::UnpackTime(seen_.load()); }

}  // namespace quire::router
