// SPDX-License-Identifier: Apache-2.0
#include "serve/replica.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>
#include <vector>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"
#include "engine/replica/replica_data.h"
#include "peer/pool.h"
#include "repl/copy/folder_copy.h"
#include "repl/member/member.h"
#include "run/fail_point.h"
#include "serve/peers.h"
#include "shard/shard.h"

namespace quire::apps {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The addresses that mean this process, the one others know first.
std::vector<std::string> OwnHosts(const command::ServerInfo& info) {
  const std::string port = ":" + std::to_string(info.port);
  std::vector<std::string> hosts = {info.host};
  char machine[256] = {};
  gethostname(machine, sizeof machine - 1);
  for (const std::string& name : {std::string("localhost"), std::string("127.0.0.1"),
                                  std::string("[::1]"), std::string(machine)}) {
    if (!name.empty() && std::find(hosts.begin(), hosts.end(), name + port) == hosts.end()) {
      hosts.push_back(name + port);
    }
  }
  return hosts;
}

class MemberReplica final : public Replica {
 public:
  MemberReplica(std::unique_ptr<repl::Member> member, engine::Engine* engine,
                command::ShardCommands* commands)
      : engine_(*engine), commands_(*commands), member_(std::move(member)) {
    engine_.replication = member_.get();
    commands_.ConfigurationChanged();  // it may have been told of before
  }
  ~MemberReplica() override {
    commands_.SetSharding(nullptr);
    shard_.reset();
    engine_.replication = nullptr;
    member_.reset();
  }

  // From here on the member is a shard, if its log says so.
  Status StartShard(std::unique_ptr<coord::Store> store, peer::PoolOptions peers,
                    shard::ShardOptions options) {
    command::ShardCommands* commands = &commands_;
    ASSIGN_OR_RETURN(shard_,
                     shard::Shard::Start(
                         engine_, std::move(store), std::move(peers),
                         [commands](std::string_view database, const bson::Document& command,
                                    const bson::Value& uuid) {
                           return commands->RunOwn(database, command, uuid);
                         },
                         std::move(options)));
    commands_.SetSharding(shard_.get());
    return Status::Ok();
  }

  void HandOver() override {
    constexpr seconds kStayDown{60};
    constexpr seconds kCatchUp{5};
    if (!member_->status()->writable) {
      return;
    }
    auto answered = std::make_shared<std::promise<Status>>();
    auto answer = answered->get_future();
    member_->StepDown(kStayDown, kCatchUp, false,
                      [answered](Status status) { answered->set_value(std::move(status)); });
    if (answer.wait_for(kCatchUp + seconds(1)) != std::future_status::ready) {
      log::Warning("REPL", "No other member has taken over in time");
    } else if (const Status status = answer.get(); !status.ok()) {
      log::Warning("REPL", "No other member takes over", {{"error", status.message()}});
    }
  }

 private:
  engine::Engine& engine_;
  command::ShardCommands& commands_;
  std::unique_ptr<repl::Member> member_;
  std::unique_ptr<shard::Shard> shard_;
};

}  // namespace

Status Replica::PrepareFolder(const Settings& settings) {
  return repl::FinishInitialSync(settings.dbpath).status();
}

Result<std::unique_ptr<Replica>> Replica::Start(const Settings& settings, engine::Engine* engine,
                                                command::ShardCommands* commands,
                                                std::function<void()> start_again,
                                                std::function<void()> end) {
  if (commands->require_api_version) {
    return Status(kIllegalOperation, "--setParameter requireApiVersion=true is not for members");
  }
  ASSIGN_OR_RETURN(std::unique_ptr<coord::Store> store, OpenCoordination(settings));
  ASSIGN_OR_RETURN(peer::PoolOptions peers, PeerOptions(settings, *commands));
  repl::MemberOptions options;
  options.set_name = settings.repl_set;
  options.cluster = settings.cluster_name;
  options.hosts = OwnHosts(commands->info());
  options.dbpath = settings.dbpath;
  options.stepped_down = [commands] {
    commands->RoleChanged();
    if (engine::Sharding* sharding = commands->sharding()) {
      sharding->RoleChanged();
    }
  };
  engine->on_replicated = [commands, before = engine->on_replicated](std::string_view ns) {
    if (before) {
      before(ns);
    }
    if (engine::Sharding* sharding = commands->sharding()) {
      sharding->Replicated(ns);
    }
  };
  options.loses_log = [&points = commands->fail_points()] {
    return points.Holds(run::FailPoints::kLoseLog);
  };
  options.applies_nothing = [&points = commands->fail_points()] {
    return points.Holds(run::FailPoints::kApplyNothing);
  };
  options.configured = [commands](const bson::Document&) { commands->ConfigurationChanged(); };
  ASSIGN_OR_RETURN(std::unique_ptr<coord::Store> placement, OpenCoordination(settings));
  peer::PoolOptions shards = peers;
  options.start_again = std::move(start_again);
  options.failed = [end = std::move(end)](const Status& why) {
    log::Error("REPL", "The member cannot go on", {{"error", why.message()}});
    end();
  };
  ASSIGN_OR_RETURN(
      std::unique_ptr<repl::Member> member,
      repl::Member::Start(*engine, engine::MakeReplicaData(engine, settings.dbpath + "/rollback"),
                          std::move(store), std::move(peers), std::move(options)));
  auto replica = std::make_unique<MemberReplica>(std::move(member), engine, commands);
  RETURN_IF_ERROR(replica->StartShard(std::move(placement), std::move(shards),
                                      {.set_name = settings.repl_set,
                                       .cluster = settings.cluster_name,
                                       .fail_points = &commands->fail_points()}));
  return std::unique_ptr<Replica>(std::move(replica));
}

}  // namespace quire::apps
