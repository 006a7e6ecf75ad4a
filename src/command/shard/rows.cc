// SPDX-License-Identifier: Apache-2.0
//
// The commands that routers and other shards send. What they mean is the sharding's business.
#include <memory>
#include <optional>
#include <utility>

#include "base/error_codes.h"
#include "base/mutex.h"
#include "command/authorise.h"
#include "command/shard/shard_commands.h"
#include "request/route.h"
#include "run/condition.h"

namespace quire::command {

namespace {

// What comes from another thread.
struct Awaited {
  run::Answer answer;
  Mutex mutex;
  bson::Document reply QUIRE_GUARDED_BY(mutex);
};

Status RunInternal(Invocation& i) {
  engine::Sharding* sharding = static_cast<ShardCommands&>(i.commands).sharding();
  if (sharding == nullptr) {
    return {kShardingStateNotInitialized, "the node is no member of a replica set"};
  }
  auto awaited = std::make_shared<Awaited>();
  sharding->Handle(bson::Document(i.body()), [awaited](Result<bson::Document> reply) {
    const Status status = reply.status();
    if (status.ok()) {
      MutexLock lock(awaited->mutex);
      awaited->reply = *std::move(reply);
    }
    awaited->answer.Give(status);
  });
  request::Call& call = i.call;
  run::AwaitAnswer(std::shared_ptr<run::Answer>(awaited, &awaited->answer), nullptr, call,
                   [awaited, &call](Status status) {
                     if (status.ok()) {
                       MutexLock lock(awaited->mutex);
                       call.reply.AppendFields(awaited->reply);
                     }
                     return status;
                   });
  return Status::Ok();
}

constexpr Row Internal(std::string_view name, std::string_view help) {
  return {{name, "", request::kAdminOnly | request::kOnPrimary | request::kNoFailPoint, help},
          RunInternal,
          OnCluster(Action::internal)};
}

}  // namespace

std::span<const Row> ShardRows() {
  static constexpr Row kRows[] = {
      Internal("_shardsvrCoordinate", "a change of a collection, from a router"),
      Internal("_shardsvrStep", "a step of such a change, from its coordinator"),
      Internal("_shardsvrMedian", "the key in the middle of a range"),
      Internal("_shardsvrJoinCluster", "makes the set a shard of a cluster"),
      Internal("_shardsvrNoteShard", "tells the log of another shard"),
  };
  return kRows;
}

}  // namespace quire::command
