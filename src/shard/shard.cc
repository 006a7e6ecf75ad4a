// SPDX-License-Identifier: Apache-2.0
#include "shard/shard.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/try.h"
#include "engine/replication.h"
#include "placement/version_fields.h"
#include "request/fields.h"
#include "request/reply.h"
#include "shard/change/answers.h"
#include "shard/change/chunk_commands.h"
#include "shard/change/coordinate.h"
#include "shard/change/end_builds.h"
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
constexpr std::chrono::milliseconds kAskTimeout{5000};
constexpr std::chrono::milliseconds kTestedTakeOverAfter{1000};
constexpr std::string_view kTakeOverSoon = run::FailPoints::kTakeOverSoon;
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
          .left_open =
              [this](const std::string& id) {
                MutexLock lock(mutex_);
                left_open_.insert(id);
              },
          .stopping = stopping_,
          .fail_points = fail_points_};
}

engine::Sharding::Admission Shard::Admit(std::span<const engine::NamespaceVersion> names,
                                         bool writes, bool direct) {
  std::vector<NameTable::Unknown> unknown;
  Admission admission = names_.Admit(names, writes, direct, &unknown);
  if (admission.waits && !unknown.empty()) {
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
      const Status adopted = AdoptOne(one);
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

Status Shard::AdoptOne(const NameTable::Unknown& unknown) {
  if (!log_.writable()) {
    return AskPrimaryToAdopt(unknown);
  }
  Context context = MakeContext();
  return Adopt(context, unknown.id, unknown.version);
}

// Of another thread's answer, which may come late or never.
template <typename T>
Status Shard::Await(const std::future<T>& answer) const {
  constexpr std::chrono::milliseconds kLook{50};
  const auto until = std::chrono::steady_clock::now() + kAskTimeout;
  while (answer.wait_for(kLook) != std::future_status::ready) {
    if (stopping_.load()) {
      return {kInterruptedAtShutdown, "The server is shutting down"};
    }
    if (std::chrono::steady_clock::now() >= until) {
      return {kExceededTimeLimit, "the primary's answer, or its log, does not come"};
    }
  }
  return Status::Ok();
}

Status Shard::AskPrimaryToAdopt(const NameTable::Unknown& unknown) {
  bson::Builder command;
  command.Append("_shardsvrAdopt", unknown.id);
  placement::AppendVersion("version", unknown.version, &command);
  command.Append("$db", "admin");
  auto answer = std::make_shared<std::promise<Result<bson::Document>>>();
  std::future<Result<bson::Document>> reply = answer->get_future();
  engine_.replication->AskPrimary(
      command.Finish(), kAskTimeout,
      [answer](Result<bson::Document> given) { answer->set_value(std::move(given)); });
  RETURN_IF_ERROR(Await(reply));
  ASSIGN_OR_RETURN(const bson::Document adopted, reply.get());
  RETURN_IF_ERROR(request::StatusOf(adopted));
  const bson::Value refuted = adopted["refuted"];
  if (refuted.type() == bson::Type::kBool && refuted.AsBool()) {
    names_.Refute(unknown.id, unknown.version);
    return Status::Ok();
  }
  const bson::Value time = adopted["operationTime"];
  return time.type() == bson::Type::kTimestamp ? AwaitLog(time.AsTimestamp()) : Status::Ok();
}

Status Shard::AwaitLog(bson::Timestamp time) {
  auto reached = std::make_shared<std::promise<Status>>();
  std::future<Status> answer = reached->get_future();
  const auto pending = engine_.replication->AwaitTime(
      store::PackTime(time), false,
      [reached](Status status) { reached->set_value(std::move(status)); });
  RETURN_IF_ERROR(Await(answer));
  return answer.get();
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
  TakeOver take_over;
  RoutersSeen routers;
  while (true) {
    std::set<std::string> open;
    {
      MutexLock lock(mutex_);
      if (ends_.wait_for(lock.native(), kLookEvery, [this] { return stopping_.load(); })) {
        return;
      }
      open.swap(left_open_);
    }
    if (!joined() || !log_.writable()) {
      take_over = TakeOver();
      routers = RoutersSeen();
      continue;
    }
    Context context = MakeContext();
    DropLeftOuts(context, &routers);
    const bool soon = fail_points_ != nullptr && fail_points_->Holds(kTakeOverSoon);
    open.merge(take_over.Look(context, TakeOver::Clock::now(),
                              soon ? kTestedTakeOverAfter : kTakeOverAfter));
    for (const std::string& id : open) {
      takeovers_.Do([this, id] { GoOn(id); });
    }
  }
}

void Shard::GoOn(const std::string& id) {
  Context context = MakeContext();
  const Status resumed = ResumeOne(context, reservations_, id);
  if (resumed.ok()) {
    return;
  }
  log::Warning("SHARDING", "A change that was left open is not finished",
               {{"name", id}, {"error", resumed.message()}});
  if (resumed.code() == kHostUnreachable) {
    context.left_open(id);
  }
}

struct Shard::Internal {
  std::string_view name;
  Crew Shard::*crew;  // whose threads run it; null: the calling one
  Result<bson::Document> (Shard::*run)(bson::View command);
  bool before_joining = false;  // also on a node that is no shard yet
};

const Shard::Internal* Shard::FindInternal(std::string_view name) {
  static constexpr Internal kRows[] = {
      {"_shardsvrCoordinate", &Shard::coordinators_, &Shard::RunCoordinated},
      {"_shardsvrStep", &Shard::steps_, &Shard::RunStep},
      {"_shardsvrTakeAnswers", &Shard::answers_, &Shard::RunTakeAnswers},
      {"_shardsvrMedian", &Shard::steps_, &Shard::RunMedian},
      {"_shardsvrAdopt", &Shard::adoptions_, &Shard::RunAdopt},
      {"_shardsvrNoteShard", &Shard::steps_, &Shard::NoteShard},
      {"_shardsvrJoinCluster", &Shard::steps_, &Shard::Join, true},
      {"_shardsvrEndBuilds", nullptr, &Shard::RunEndBuilds},
      // Who is no primary refuses it before it gets here.
      {"_shardsvrIsPrimary", nullptr, &Shard::RunNothing, true},
  };
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Internal& one) { return one.name == name; });
  return row == std::end(kRows) ? nullptr : row;
}

void Shard::Handle(bson::Document command, Answer answer) {
  const Internal* row = FindInternal(command.view().front().name());
  if (row == nullptr) {
    answer(Status(kCommandNotFound,
                  "no command of shards: " + std::string(command.view().front().name())));
    return;
  }
  if (row->crew == nullptr) {
    answer(Run(*row, command.view()));
    return;
  }
  (this->*row->crew).Do([this, row, command = std::move(command), answer = std::move(answer)] {
    answer(Run(*row, command.view()));
  });
}

Result<bson::Document> Shard::Run(const Internal& row, bson::View command) {
  if (!row.before_joining && !joined()) {
    return Status(kShardingStateNotInitialized, "the node is no shard of a cluster");
  }
  return (this->*row.run)(command);
}

Result<bson::Document> Shard::RunCoordinated(bson::View command) {
  Context context = MakeContext();
  return Coordinate(context, reservations_, command);
}

Result<bson::Document> Shard::RunStep(bson::View command) {
  Context context = MakeContext();
  ASSIGN_OR_RETURN(const StepRequest step, DecodeStep(command));
  return TakeStep(context, step);
}

Result<bson::Document> Shard::RunTakeAnswers(bson::View command) {
  Context context = MakeContext();
  return TakeAnswers(context, command);
}

Result<bson::Document> Shard::RunMedian(bson::View command) {
  Context context = MakeContext();
  return FindMedian(context, command);
}

// What a secondary was asked about: {refuted} when the store does not say so.
Result<bson::Document> Shard::RunAdopt(bson::View command) {
  const bson::Value id = command["_shardsvrAdopt"];
  const auto version = placement::ReadShardVersion(command["version"]);
  if (!id.is_string() || !version) {
    return Status(kBadValue, "_shardsvrAdopt takes a name and a version");
  }
  const std::string name(id.AsString());
  Context context = MakeContext();
  RETURN_IF_ERROR(Adopt(context, name, *version));
  changed.Ring();
  const bool refuted = JudgeVersion(names_.Get(name).known, *version) == Verdict::kUnknown;
  return bson::Builder().Append("refuted", refuted).Finish();
}

Result<bson::Document> Shard::RunEndBuilds(bson::View command) {
  const bson::Value id = command["_shardsvrEndBuilds"];
  if (!id.is_string()) {
    return Status(kBadValue, "_shardsvrEndBuilds takes a name");
  }
  Context context = MakeContext();
  EndBuildsHere(context, id.AsString());
  return bson::Document();
}

Result<bson::Document> Shard::RunNothing(bson::View) { return bson::Document(); }

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
