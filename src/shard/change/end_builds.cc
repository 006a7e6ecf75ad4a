// SPDX-License-Identifier: Apache-2.0
#include "shard/change/end_builds.h"

#include <chrono>
#include <future>
#include <vector>

#include "quire/doc.h"

namespace quire::shard {

namespace {
constexpr std::chrono::milliseconds kAnswerTime{2000};
}  // namespace

void EndBuildsHere(Context& context, std::string_view id) {
  const store::Catalog& catalog = context.engine.catalog();
  const std::string_view name = NameOfId(id);
  store::Catalog::AbortBuilds(
      id.starts_with("d:") ? catalog.snapshot()->InDatabase(name) : std::vector{catalog.Find(name)},
      "collection dropped");
}

void EndBuilds(Context& context, const std::string& id) {
  EndBuildsHere(context, id);
  const auto shards = context.store.ReadShards();
  if (!shards.ok()) {
    return;
  }
  const bson::Document command = Doc("_shardsvrEndBuilds", id, "$db", "admin");
  std::vector<std::future<void>> calls;
  for (const placement::ShardRecord& shard : *shards) {
    if (shard.name != context.shard) {
      calls.push_back(std::async(std::launch::async, [&context, &shard, &command] {
        (void)context.peers.Call(shard, command, kAnswerTime);
      }));
    }
  }
  for (std::future<void>& call : calls) {
    call.wait();
  }
}

}  // namespace quire::shard
