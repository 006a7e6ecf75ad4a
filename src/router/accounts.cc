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
constexpr std::chrono::seconds kTimeout{5};

int64_t MillisNow() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Makes `documents` those of the collection. At no time is one missing that was there and stays:
// without users, whoever is on the same machine may make the first one.
Status Replace(engine::Engine& engine, const std::string& ns,
               const std::vector<bson::Document>& documents) {
  bson::Builder gone;
  gone.BeginDocument("_id").BeginArray("$nin");
  for (const bson::Document& account : documents) {
    RETURN_IF_ERROR(command::SaveOwn(engine, ns, account));
    gone.Push(account["_id"]);
  }
  gone.End().End();
  const bson::Document filter = gone.Finish();
  return command::RemoveOwn(engine, ns, filter).status();
}

// The reply to a command that worked.
Result<bson::Document> Ask(Lanes& lanes, const std::string& host, bson::Document command) {
  std::promise<Result<bson::Document>> promise;
  auto answer = promise.get_future();
  lanes.Send(host, std::move(command), std::chrono::steady_clock::now() + kTimeout,
             [&promise](Result<bson::Document> reply) { promise.set_value(std::move(reply)); });
  Result<bson::Document> reply = answer.get();
  RETURN_IF_ERROR(reply.ok() ? request::StatusOf(*reply) : reply.status());
  return reply;
}

// All accounts, however much room they take, without what users are said to be.
Result<std::vector<bson::Document>> ReadAll(Lanes& lanes, const std::string& host,
                                            const std::string& collection) {
  std::vector<bson::Document> all;
  bson::Document command = Doc("find", collection, "projection", Doc("customData", 0), "batchSize",
                               100'000, "sort", Doc("_id", 1), "$db", "admin");
  while (true) {
    ASSIGN_OR_RETURN(const bson::Document reply, Ask(lanes, host, std::move(command)));
    ASSIGN_OR_RETURN(const auto cursor, request::CursorReply::Read(reply));
    for (const bson::Element& account : cursor.batch) {
      all.emplace_back(account.value().AsDocument());
    }
    if (cursor.id == 0) {
      return all;
    }
    command = Doc("getMore", cursor.id, "collection", collection, "$db", "admin");
  }
}

std::string BytesOf(const std::vector<bson::Document>& documents) {
  std::string bytes;
  for (const bson::Document& document : documents) {
    bytes += document.bytes();
  }
  return bytes;
}

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
    TouchCursors();
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
  const bson::Document beat = Doc(
      "_id", host, "advisoryHostFQDNs", List(), "created", date - up, "mongoVersion", kMongoVersion,
      "ping", date, "up", static_cast<int64_t>(up.count()), "waiting", true, "boot", core_.boot);
  const std::string key = core_.catalog->Key("routers/" + host);
  core_.catalog->Run([key, beat](coord::Store& store) -> Result<bson::Document> {
    coord::Transaction transaction;
    transaction.writes = {coord::Put(key, bson::ToCanonicalJson(beat))};
    RETURN_IF_ERROR(
        store.Transact(transaction, std::chrono::steady_clock::now() + kTimeout).status());
    return bson::Document();
  });
}

bool Accounts::fresh() const {
  return MillisNow() - read_at_millis_.load() <= fresh_for_millis.load();
}

// What clients read slowly does not expire on the shards.
void Accounts::TouchCursors() {
  constexpr std::chrono::seconds kTouchEvery{60};
  const auto now = std::chrono::steady_clock::now();
  if (now - last_touch_ >= kTouchEvery) {
    last_touch_ = now;
    core_.cursors.Touch(core_.lanes());
  }
}

bool Accounts::Read() {
  if (core_.catalog->loaded() && !core_.catalog->Cluster()) {
    known_ = true;
    read_at_millis_ = MillisNow();
    return false;
  }
  const bool users = Mirror("admin.system.users", "system.users");
  const bool read = Mirror("admin.system.roles", "system.roles") && users;
  known_ = known_ || read;
  if (read) {
    read_at_millis_ = MillisNow();
  }
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
  const auto accounts = ReadAll(core_.lanes(), *host, collection);
  if (!accounts.ok()) {
    return false;
  }
  std::string& digest = collection == "system.users" ? digest_users_ : digest_roles_;
  std::string bytes = BytesOf(*accounts);
  if (digest == bytes) {
    return true;
  }
  digest.clear();
  const Status replaced = Replace(core_.engine(), ns, *accounts);
  core_.commands.accounts_version.fetch_add(1);
  if (!replaced.ok()) {
    log::Error("ACCESS", "Accounts could not be taken over", {{"error", replaced.message()}});
    return false;
  }
  digest = std::move(bytes);
  return true;
}

}  // namespace quire::router
