// SPDX-License-Identifier: Apache-2.0
#include "shard/shard.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/try.h"
#include "engine/replication.h"
#include "request/fields.h"
#include "shard/change/answers.h"
#include "shard/change/chunk_commands.h"
#include "shard/change/coordinate.h"
#include "shard/change/left_outs.h"
#include "shard/change/participant.h"
#include "shard/change/take_over.h"
#include "store/log/note.h"

namespace quire::shard {

namespace {
constexpr std::string_view kClusterId = "cluster";  // of the document that says whose shard it is
constexpr std::chrono::milliseconds kRetry{1000};
constexpr std::chrono::milliseconds kLookEvery{5000};
constexpr std::chrono::milliseconds kTakeOverAfter{30'000};
}  // namespace

Shard::Shard(engine::Engine& engine, std::unique_ptr<coord::Store> store,
             std::unique_ptr<ShardPeers> peers, LocalRunner local, const ShardOptions& options)
    : engine_(engine),
      log_(&engine, &stopping_),
      store_(std::move(store), options.cluster, "asked/" + options.set_name),
      peers_(std::move(peers)),
      local_(std::move(local)),
      leader_key_("sets/" + options.set_name + "/leader"),
      fail_points_(options.fail_points) {
  // What this shard logs after another has done its part has a later time than that.
  peers_->heard = [&engine](bson::View reply) {
    const bson::Value gossip = reply["$clusterTime"];
    if (gossip.is_document() &&
        gossip.AsDocument()["clusterTime"].type() == bson::Type::kTimestamp) {
      engine.clock().Advance(gossip.AsDocument()["clusterTime"].AsTimestamp());
    }
  };
}

Result<std::unique_ptr<Shard>> Shard::Start(engine::Engine& engine,
                                            std::unique_ptr<coord::Store> store,
                                            peer::PoolOptions peers, LocalRunner local,
                                            ShardOptions options) {
  ASSIGN_OR_RETURN(auto shard_peers, ShardPeers::Start(std::move(peers)));
  std::unique_ptr<Shard> shard(
      new Shard(engine, std::move(store), std::move(shard_peers), std::move(local), options));
  RETURN_IF_ERROR(shard->Load());
  shard->Watch();
  ASSIGN_OR_RETURN(shard->around_, StartThread([own = shard.get()] { own->LookAround(); }));
  return shard;
}

Shard::~Shard() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  ends_.notify_all();
  peers_->Stop();
  if (around_.joinable()) {
    around_.join();
  }
  takeovers_.Stop();
  adoptions_.Stop();
  coordinators_.Stop();
  steps_.Stop();
  answers_.Stop();
}

// What the log says.
Status Shard::Load() {
  ASSIGN_OR_RETURN(const auto documents, log_.ReadAll());
  std::vector<NameRecord> records;
  std::string name;
  bson::ObjectId cluster;
  for (const bson::Document& document : documents) {
    const bson::Value id = document["_id"];
    if (id.is_string() && id.AsString() == kClusterId) {
      name = std::string(document["shard"].AsString());
      cluster = document["clusterId"].AsObjectId();
      continue;
    }
    ASSIGN_OR_RETURN(NameRecord record, DecodeName(document));
    records.push_back(std::move(record));
  }
  names_.Reset(std::move(records));
  names_.SetShard(name);
  NameDocuments();
  {
    MutexLock lock(mutex_);
    shard_ = name;
    cluster_id_ = cluster;
  }
  joined_.store(!name.empty(), std::memory_order_release);
  changed.Ring();
  return Status::Ok();
}

// Tells the log's writers what names the documents of sharded collections.
void Shard::NameDocuments() {
  for (const NameRecord& record : names_.All()) {
    NameDocumentsOf(engine_, record);
  }
}

std::string Shard::name() const {
  MutexLock lock(mutex_);
  return shard_;
}

Context Shard::MakeContext() {
  MutexLock lock(mutex_);
  return {.engine = engine_,
          .log = log_,
          .names = names_,
          .store = store_,
          .peers = *peers_,
          .local = local_,
          .shard = shard_,
          .leader_key = leader_key_,
          .changed = [this] { changed.Ring(); },
          .stopping = stopping_,
          .fail_points = fail_points_};
}

engine::Sharding::Admission Shard::Admit(std::span<const engine::NamespaceVersion> names,
                                         bool writes, bool direct) {
  std::vector<NameTable::Unknown> unknown;
  Admission admission = names_.Admit(names, writes, direct, &unknown);
  if (admission.waits && !unknown.empty() && log_.writable()) {
    AdoptLater(std::move(unknown));
  }
  return admission;
}

void Shard::AdoptLater(std::vector<NameTable::Unknown> unknown) {
  for (NameTable::Unknown& one : unknown) {
    {
      MutexLock lock(mutex_);
      if (!adopting_.insert(one.id).second) {
        continue;
      }
    }
    adoptions_.Do([this, one = std::move(one)] {
      Context context = MakeContext();
      const Status adopted = Adopt(context, one.id, one.version);
      {
        MutexLock lock(mutex_);
        adopting_.erase(one.id);
      }
      if (!adopted.ok()) {
        log::Warning("SHARDING", "Placement is not known yet",
                     {{"name", one.id}, {"error", adopted.message()}});
        // Whoever waits asks again.
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
      changed.Ring();
    });
  }
}

std::shared_ptr<const engine::OwnedPlacement> Shard::PlacementOf(std::string_view ns) const {
  return names_.PlacementOf(ns);
}

void Shard::Replicated(std::string_view ns) {
  if (ns != kNamespace) {
    return;
  }
  if (const Status loaded = Load(); !loaded.ok()) {
    log::Error("SHARDING", "The shard's state cannot be read", {{"error", loaded.message()}});
  }
}

void Shard::RoleChanged() { changed.Ring(); }

// Whoever becomes primary goes on with what the one before has left.
void Shard::Watch() {
  engine::Replication* replication = engine_.replication;
  if (replication == nullptr) {
    return;
  }
  {
    auto listener = replication->changed.Listen([this] { adoptions_.Do([this] { Watch(); }); });
    MutexLock lock(mutex_);
    role_.swap(listener);
  }
  if (!log_.writable() || !joined()) {
    return;
  }
  NameDocuments();  // collections may have come since they were placed
  const uint64_t epoch = log_.epoch();
  {
    MutexLock lock(mutex_);
    if (resumed_epoch_ == epoch) {
      return;
    }
    resumed_epoch_ = epoch;
  }
  coordinators_.Do([this, epoch] { ResumeLeft(epoch); });
}

// Until it is done, or somebody else's business.
void Shard::ResumeLeft(uint64_t epoch) {
  while (!stopping_.load() && log_.writable() && log_.epoch() == epoch) {
    Context context = MakeContext();
    const Status resumed = ResumeAll(context, reservations_);
    if (resumed.ok()) {
      return;
    }
    log::Warning("SHARDING", "Changes that were left open are tried again",
                 {{"error", resumed.message()}});
    MutexLock lock(mutex_);
    ends_.wait_for(lock.native(), kRetry, [this] { return stopping_.load(); });
  }
}

void Shard::LookAround() {
  TakeOver take_over(kTakeOverAfter);
  RoutersSeen routers;
  while (true) {
    {
      MutexLock lock(mutex_);
      if (ends_.wait_for(lock.native(), kLookEvery, [this] { return stopping_.load(); })) {
        return;
      }
    }
    if (!joined() || !log_.writable()) {
      take_over = TakeOver(kTakeOverAfter);
      routers = RoutersSeen();
      continue;
    }
    Context context = MakeContext();
    DropLeftOuts(context, &routers);
    for (const std::string& id : take_over.Look(context, TakeOver::Clock::now())) {
      takeovers_.Do([this, id] {
        Context own = MakeContext();
        if (const Status resumed = ResumeOne(own, reservations_, id); !resumed.ok()) {
          log::Warning("SHARDING", "A change that was taken over is not finished",
                       {{"name", id}, {"error", resumed.message()}});
        }
      });
    }
  }
}

void Shard::Handle(bson::Document command, Answer answer) {
  if (command.view().front().name() == "_shardsvrIsPrimary") {  // others do not get here
    answer(bson::Document());
    return;
  }
  const std::string_view name = command.view().front().name();
  Crew& crew = name == "_shardsvrCoordinate"    ? coordinators_
               : name == "_shardsvrTakeAnswers" ? answers_
                                                : steps_;
  crew.Do([this, command = std::move(command), answer = std::move(answer)] {
    answer(Run(command.view()));
  });
}

Result<bson::Document> Shard::Run(bson::View command) {
  const std::string_view name = command.front().name();
  if (name == "_shardsvrJoinCluster") {
    return Join(command);
  }
  if (!joined()) {
    return Status(kShardingStateNotInitialized, "the node is no shard of a cluster");
  }
  if (name == "_shardsvrNoteShard") {
    return NoteShard(command);
  }
  Context context = MakeContext();
  if (name == "_shardsvrStep") {
    // Its coordinator, the database's primary shard, tells change streams of it.
    const store::NoEventScope silent;
    ASSIGN_OR_RETURN(const StepRequest step, DecodeStep(command));
    return TakeStep(context, step);
  }
  if (name == "_shardsvrTakeAnswers") {
    return TakeAnswers(context, command);
  }
  if (name == "_shardsvrMedian") {
    return FindMedian(context, command);
  }
  return Coordinate(context, reservations_, command);
}

Result<bson::Document> Shard::Join(bson::View command) {
  const bson::Value name = command["_shardsvrJoinCluster"];
  const bson::Value id = command["clusterId"];
  if (!name.is_string() || name.AsString().empty() || id.type() != bson::Type::kObjectId) {
    return Status(kBadValue, "_shardsvrJoinCluster takes the shard's name and a clusterId");
  }
  // There is no cluster yet: who has joined before goes on with what was begun then.
  const bool first = request::Truthy(command["first"]);
  bool known = false;
  {
    MutexLock lock(mutex_);
    known = !shard_.empty();
    if (known && (shard_ != name.AsString() || (!first && cluster_id_ != id.AsObjectId()))) {
      return Status(kIllegalOperation, "the set belongs to a cluster as shard " + shard_);
    }
  }
  if (!known) {
    bson::Builder document;
    document.Append("_id", kClusterId).Append("clusterId", id).Append("shard", name);
    const bson::Document saved = document.Finish();
    RETURN_IF_ERROR(log_.Save(saved));
    RETURN_IF_ERROR(Load());
  }
  bson::Builder reply;
  reply.BeginArray("databases");
  for (const std::string& database : engine_.catalog().snapshot()->Databases()) {
    if (database != "admin" && database != "config" && database != "local") {
      reply.Push(database);
    }
  }
  const auto users = engine_.catalog().Find("admin.system.users");
  reply.End().Append("hasUsers", users != nullptr && users->state != nullptr &&
                                     users->state->documents.load() > 0);
  MutexLock lock(mutex_);
  reply.Append("clusterId", cluster_id_);
  return reply.Finish();
}

Result<bson::Document> Shard::NoteShard(bson::View command) {
  const bson::Value name = command["_shardsvrNoteShard"];
  if (!name.is_string()) {
    return Status(kBadValue, "_shardsvrNoteShard takes the name of a shard");
  }
  bson::Builder note;
  note.Append("msg", store::kShardJoins).Append("shard", name);
  const bson::Document noted = note.Finish();
  RETURN_IF_ERROR(log_.Note(noted).status());
  return bson::Document();
}

}  // namespace quire::shard
