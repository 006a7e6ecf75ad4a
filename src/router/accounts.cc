// SPDX-License-Identifier: Apache-2.0
#include "router/accounts.h"

#include <atomic>
#include <future>

#include "base/log.h"
#include "base/thread.h"
#include "base/try.h"
#include "base/version.h"
#include "command/own_documents.h"
#include "quire/doc.h"
#include "request/cursor_reply.h"
#include "request/reply.h"
#include "router/core.h"

namespace quire::router {

namespace {

constexpr std::chrono::seconds kInterval{5};
constexpr std::chrono::seconds kPatience{5};

}  // namespace

class Accounts::Reading final : public Wait {
 public:
  bool ready() override { return done_; }
  void End() {
    done_ = true;
    rung.Ring();
  }

 private:
  std::atomic<bool> done_ = false;
};

Result<std::unique_ptr<Accounts>> Accounts::Start(Core* core) {
  std::unique_ptr<Accounts> accounts(new Accounts(core));
  ASSIGN_OR_RETURN(accounts->thread_, StartThread([own = accounts.get()] { own->Run(); }));
  return accounts;
}

Accounts::~Accounts() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::shared_ptr<Wait> Accounts::ReadAgain() {
  auto reading = std::make_shared<Reading>();
  {
    MutexLock lock(mutex_);
    wanted_.push_back(reading);
  }
  wake_.notify_all();
  return reading;
}

void Accounts::Run() {
  bool read = false;
  while (true) {
    std::vector<std::shared_ptr<Reading>> wanted;
    {
      MutexLock lock(mutex_);
      const auto interval =
          read ? std::chrono::milliseconds(kInterval) : std::chrono::milliseconds(100);
      wake_.wait_for(lock.native(), interval,
                     [this]() QUIRE_REQUIRES(mutex_) { return stopping_ || !wanted_.empty(); });
      if (stopping_) {
        break;
      }
      std::swap(wanted, wanted_);
    }
    read = Read();
    BeatHeart();
    for (const auto& reading : wanted) {
      reading->End();
    }
  }
  MutexLock lock(mutex_);
  for (const auto& reading : wanted_) {
    reading->End();
  }
}

void Accounts::BeatHeart() {
  constexpr std::chrono::seconds kBeat{30};
  const auto now = std::chrono::steady_clock::now();
  if (!core_.catalog->Cluster() ||
      (last_beat_ != std::chrono::steady_clock::time_point() && now < last_beat_ + kBeat)) {
    return;
  }
  last_beat_ = now;
  const std::string& host = core_.commands.info().host;
  const auto up = std::chrono::duration_cast<std::chrono::seconds>(now - started_);
  const bson::Date date = bson::Date::Now();
  const bson::Document beat =
      Doc("_id", host, "advisoryHostFQDNs", List(), "created", date - up, "mongoVersion",
          kMongoVersion, "ping", date, "up", static_cast<int64_t>(up.count()), "waiting", true);
  const std::string key = core_.catalog->Key("routers/" + host);
  core_.catalog->Run([key, beat](coord::Store& store) -> Result<bson::Document> {
    coord::Transaction transaction;
    transaction.writes = {coord::Put(key, bson::ToCanonicalJson(beat))};
    RETURN_IF_ERROR(
        store.Transact(transaction, std::chrono::steady_clock::now() + kPatience).status());
    return bson::Document();
  });
}

bool Accounts::Read() {
  if (core_.catalog->loaded() && !core_.catalog->Cluster()) {
    known_ = true;
    return false;
  }
  const bool users = Mirror("admin.system.users", "system.users");
  const bool read = Mirror("admin.system.roles", "system.roles") && users;
  known_ = known_ || read;
  return read;
}

bool Accounts::Mirror(const std::string& ns, const std::string& collection) {
  const std::optional<ClusterRecord> cluster = core_.catalog->Cluster();
  if (!cluster) {
    return false;
  }
  const auto host = core_.remote->members.Pick(cluster->admin_shard, ReadPreference());
  if (!host) {
    return false;
  }
  std::promise<Result<bson::Document>> promise;
  auto answer = promise.get_future();
  core_.lanes().Send(
      *host,
      Doc("find", collection, "batchSize", 100'000, "singleBatch", true, "sort", Doc("_id", 1),
          "$db", "admin"),
      std::chrono::steady_clock::now() + kPatience,
      [&promise](Result<bson::Document> reply) { promise.set_value(std::move(reply)); });
  const Result<bson::Document> reply = answer.get();
  if (!reply.ok() || !request::StatusOf(*reply).ok()) {
    return false;
  }
  auto cursor = request::CursorReply::Read(*reply);
  if (!cursor.ok()) {
    return false;
  }
  std::string& digest = collection == "system.users" ? digest_users_ : digest_roles_;
  if (digest == cursor->batch.bytes()) {
    return true;
  }
  engine::Engine& engine = core_.engine();
  if (auto removed = command::RemoveOwn(engine, ns, bson::View()); !removed.ok()) {
    return false;
  }
  for (const bson::Element& document : cursor->batch) {
    if (Status added = command::AddOwn(engine, ns, document.value().AsDocument()); !added.ok()) {
      log::Error("ACCESS", "An account could not be taken over", {{"error", added.message()}});
      return false;
    }
  }
  digest = cursor->batch.bytes();
  core_.commands.accounts_version.fetch_add(1);
  return true;
}

}  // namespace quire::router
