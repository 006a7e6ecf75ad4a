// SPDX-License-Identifier: Apache-2.0
//
// Who may do what through a router. Shards take a router for a member that may do everything: what
// depends on who asks has to be decided in the router, or by what it says of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "auth/scram.h"
#include "command/auth/login.h"
#include "command/own_documents.h"
#include "router/accounts.h"
#include "router/core.h"
#include "router/rows.h"
#include "router/testing/cluster.h"

namespace quire::router {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kEndless =
    R"({"find": "c", "filter": {"$where": "for (;;) {}"}, "maxTimeMS": 30000})";

class AccessTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new Cluster("a0+/shared");
    EXPECT_EQ(CodeOf(RunAs(Stranger(), R"({"createUser": "boss", "pwd": "x", "roles": ["root"]})",
                           "admin")),
              0);
    AddUser("ann", R"([{"role": "readWrite", "db": "db"}])");
    AddUser("bob", R"([{"role": "read", "db": "other"}])");
    AddUser("nobody", "[]");
    for (std::string_view database : {"db", "other", "third"}) {
      for (std::string_view collection : {"c", "d"}) {
        EXPECT_EQ(CodeOf(As("boss",
                            R"({"insert": ")" + std::string(collection) +
                                R"(", "documents": [{"_id": 1}]})",
                            database)),
                  0);
      }
    }
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }

  static request::Client& Stranger() {
    thread_local request::Client client;
    return client;
  }
  static bson::Document RunAs(request::Client& client, std::string_view json,
                              std::string_view database) {
    return RunOn(cluster_->router(), client, json, database);
  }
  static void LogIn(request::Client& client, std::string_view user) {
    auto login = command::LoadLogin(cluster_->router(), client, user, "admin");
    ASSERT_TRUE(login.ok() && *login != nullptr) << user;
    command::SetLogin(client, *login);
  }
  static bson::Document As(std::string_view user, std::string_view json,
                           std::string_view database = "admin") {
    request::Client client;
    LogIn(client, user);
    return RunAs(client, json, database);
  }
  static int CodeOf(const bson::Document& reply) {
    return reply["ok"].is_number() && reply["ok"].AsDouble() == 1 ? 0 : reply["code"].AsInt32();
  }
  static void AddUser(const std::string& name, const std::string& roles) {
    EXPECT_EQ(CodeOf(As("boss", R"({"createUser": ")" + name + R"(", "pwd": "x", "roles": )" +
                                    roles + "}")),
              0);
  }
  // An operation of ann's that runs on a shard until it is killed.
  struct Running {
    request::Client client;
    bson::Document reply;
    std::thread thread;
  };
  static std::unique_ptr<Running> StartEndless() {
    auto running = std::make_unique<Running>();
    LogIn(running->client, "ann");
    running->thread =
        std::thread([own = running.get()] { own->reply = RunAs(own->client, kEndless, "db"); });
    return running;
  }
  // The id of the endless operation as `user` sees it; empty: not at all.
  static std::string FindEndless(std::string_view user, std::string_view command) {
    const bson::Document reply = As(user, command);
    const bson::Value list =
        reply["inprog"].is_array() ? reply["inprog"] : reply["cursor"].AsDocument()["firstBatch"];
    for (const bson::Element& e : list.AsArray()) {
      const bson::View op = e.value().AsDocument();
      if (bson::ToJson(op).find("for (;;)") != std::string::npos && op["opid"].is_string()) {
        return std::string(op["opid"].AsString());
      }
    }
    return "";
  }
  static std::string AwaitEndless() {
    for (int i = 0; i < 1000; ++i) {
      std::string id = FindEndless("boss", R"({"currentOp": 1})");
      if (!id.empty()) {
        return id;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return "";
  }

  static Cluster* cluster_;
};
Cluster* AccessTest::cluster_ = nullptr;

TEST_F(AccessTest, OperationsOnShardsAreSeenAndEndedByWhoRunsThem) {
  constexpr std::string_view kOwn = R"({"currentOp": 1, "$ownOps": true})";
  constexpr std::string_view kStage =
      R"({"aggregate": 1, "pipeline": [{"$currentOp": {"allUsers": false}}], "cursor": {}})";
  const std::unique_ptr<Running> running = StartEndless();
  const std::string id = AwaitEndless();
  ASSERT_FALSE(id.empty());
  EXPECT_EQ(FindEndless("bob", kOwn), "");
  EXPECT_EQ(FindEndless("bob", kStage), "");
  EXPECT_EQ(FindEndless("ann", kOwn), id);
  const std::string seen = bson::ToJson(As("boss", R"({"currentOp": 1, "ns": "db.c"})"));
  EXPECT_THAT(seen, HasSubstr(R"("effectiveUsers":[{"user":"ann","db":"admin"}])"));
  EXPECT_THAT(seen, HasSubstr(R"("runBy":[{"user":"__system","db":"local"}])"));
  const std::string kill = R"({"killOp": 1, "op": ")" + id + R"("})";
  EXPECT_EQ(CodeOf(As("bob", kill)), kUnauthorized);
  EXPECT_EQ(CodeOf(As("boss", kill)), 0);
  running->thread.join();
  EXPECT_EQ(CodeOf(running->reply), kInterrupted);
}

TEST_F(AccessTest, DatabasesAreListedForWhoMayUseThem) {
  auto names = [](std::string_view user, std::string_view command) {
    const bson::Document reply = As(user, command);
    return bson::ToJson(reply["databases"]);
  };
  constexpr std::string_view kList = R"({"listDatabases": 1, "nameOnly": true})";
  EXPECT_EQ(names("bob", kList), R"([{"name":"other"}])");
  EXPECT_EQ(names("ann", kList), R"([{"name":"db"}])");
  EXPECT_EQ(names("nobody", kList), "[]");
  EXPECT_THAT(names("boss", kList), HasSubstr(R"({"name":"third"})"));
  EXPECT_EQ(CodeOf(As("bob", R"({"listDatabases": 1, "authorizedDatabases": false})")),
            kUnauthorized);
}

TEST_F(AccessTest, CollectionsAreListedForWhoMayUseThem) {
  EXPECT_EQ(CodeOf(As("boss", R"({"createRole": "one", "roles": [], "privileges": [
                          {"resource": {"db": "third", "collection": "d"}, "actions": ["find"]}]})")),
            0);
  AddUser("reader", R"(["one"])");
  constexpr std::string_view kList =
      R"({"listCollections": 1, "nameOnly": true, "authorizedCollections": true})";
  const std::string seen = bson::ToJson(As("reader", kList, "third"));
  EXPECT_THAT(seen, HasSubstr(R"("name":"d")"));
  EXPECT_THAT(seen, Not(HasSubstr(R"("name":"c")")));
  EXPECT_EQ(CodeOf(As("reader", R"({"listCollections": 1})", "third")), kUnauthorized);
  EXPECT_EQ(CodeOf(As("nobody", kList, "third")), kUnauthorized);
}

TEST_F(AccessTest, SessionsOnShardsEndWithThoseOfTheirOwner) {
  const std::string id =
      R"({"id": {"$binary": {"base64": "MDEyMzQ1Njc4OWFiY2RlZg==", "subType": "04"}}})";
  const std::string key = request::SessionKey("0123456789abcdef", auth::UserDigest("ann", "admin"));
  auto known = [&key] {
    return cluster_->s0.engine->sessions().Find(key) != nullptr ||
           cluster_->s1.engine->sessions().Find(key) != nullptr;
  };
  request::Client ann;
  LogIn(ann, "ann");
  EXPECT_EQ(CodeOf(RunAs(ann, R"({"find": "c", "lsid": )" + id + "}", "db")), 0);
  EXPECT_TRUE(known());
  EXPECT_EQ(CodeOf(As("bob", R"({"killSessions": []})")), 0);
  EXPECT_EQ(CodeOf(As("bob", R"({"endSessions": [)" + id + "]}")), 0);
  EXPECT_TRUE(known());
  EXPECT_EQ(CodeOf(As("ann", R"({"endSessions": [)" + id + "]}")), 0);
  EXPECT_FALSE(known());
}

TEST_F(AccessTest, CursorsBelongToWhoOpenedThem) {
  EXPECT_EQ(CodeOf(As("boss", R"({"insert": "c", "documents": [{}, {}, {}]})", "db")), 0);
  request::Client ann;
  LogIn(ann, "ann");
  const bson::Document reply = RunAs(ann, R"({"find": "c", "batchSize": 1})", "db");
  const std::string cursor = std::to_string(reply["cursor"].AsDocument()["id"].AsInt64());
  const std::string more =
      R"({"getMore": {"$numberLong": ")" + cursor + R"("}, "collection": "c"})";
  EXPECT_EQ(CodeOf(As("bob", more, "db")), kUnauthorized);
  EXPECT_EQ(CodeOf(RunAs(ann, more, "db")), 0);
}

// What a user may do could have been taken away long ago.
TEST_F(AccessTest, NobodyLogsInByOldAccounts) {
  const auto log_in = [] {
    request::Client client;
    return CodeOf(RunAs(client,
                        R"({"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload":
                            "biwsbj1ib3NzLHI9bm9uY2U="})",
                        "admin"));
  };
  request::Client ann;
  LogIn(ann, "ann");
  EXPECT_EQ(log_in(), 0);
  Accounts& accounts = *cluster_->router().core().accounts;
  const int64_t before = accounts.fresh_for_millis.exchange(-1);
  EXPECT_EQ(log_in(), kHostUnreachable);
  EXPECT_EQ(CodeOf(RunAs(ann, R"({"find": "c"})", "db")), 0) << "who is logged in stays";
  accounts.fresh_for_millis = before;
  EXPECT_EQ(log_in(), 0);
}

TEST_F(AccessTest, ShardsKnowTheRolesOfWhoAsks) {
  AddUser("cay", R"([{"role": "read", "db": "db"}, {"role": "read", "db": "other"}])");
  constexpr std::string_view kMine = R"({"$setIsSubset": [["other.read"], "$$USER_ROLES._id"]})";
  const auto found = [&](std::string_view user, const std::string& command) {
    const bson::Document reply = As(user, command, "db");
    EXPECT_EQ(CodeOf(reply), 0) << bson::ToJson(reply);
    return !reply["cursor"].AsDocument()["firstBatch"].AsArray().empty();
  };
  const std::string find = R"({"find": "c", "filter": {"$expr": )" + std::string(kMine) + "}}";
  const std::string aggregate =
      R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {"$expr": )" +
      std::string(kMine) + "}}]}";
  EXPECT_TRUE(found("cay", find));
  EXPECT_TRUE(found("cay", aggregate));
  EXPECT_FALSE(found("ann", find));
  EXPECT_FALSE(found("ann", aggregate));
}

// The name of a user is believed of members alone.
TEST_F(AccessTest, NobodyActsForOthers) {
  constexpr std::string_view kForAnn =
      R"({"ping": 1, "$audit": {"$impersonatedUser": {"user": "ann", "db": "admin"}}})";
  EXPECT_EQ(CodeOf(As("bob", kForAnn)), kUnauthorized);
  EXPECT_EQ(CodeOf(As("boss", kForAnn)), kUnauthorized);
  request::Client stranger;
  EXPECT_EQ(CodeOf(RunAs(stranger, kForAnn, "admin")), kUnauthorized);
}

// Neither a stranger nor a user without roles gets anything done by a command that says nothing
// else of who may run it, on a router or on a shard.
TEST_F(AccessTest, EveryRowStatesWhoMayRunIt) {
  using Scope = command::Access::Scope;
  std::vector<const command::Row*> rows = Rows();
  for (const command::Row& row : command::ShardRows()) {
    rows.push_back(&row);
  }
  for (const command::Row* row : rows) {
    const std::string name(row->info.name);
    const std::string command = "{\"" + name + "\": 1}";
    EXPECT_NE(row->access.scope, Scope::kUnstated) << name;
    const bool on_shard = name.starts_with("_shardsvr");
    if (on_shard) {
      EXPECT_EQ(row->access.action, auth::Action::internal) << name;
    }
    if (row->access.scope == Scope::kAnyone || row->info.Is(request::kTestOnly)) {
      continue;
    }
    request::Handler& handler =
        on_shard ? static_cast<request::Handler&>(*cluster_->s0.commands) : cluster_->router();
    request::Client stranger("10.0.0.1:5", "10.0.0.9:27017", "10.0.0.1");
    EXPECT_NE(CodeOf(RunOn(handler, stranger, command, "admin")), 0) << name;
    if (row->access.scope != Scope::kLoggedIn && row->access.scope != Scope::kStated && !on_shard) {
      EXPECT_NE(CodeOf(As("nobody", command)), 0) << name;
    }
  }
}

// Nor is any run on what is no name of a database.
TEST_F(AccessTest, EveryRowRefusesWhatIsNoNameOfADatabase) {
  const std::string_view names[] = {
      "",          "a.b", "admin.system",
      {"a\0b", 3}, "x$",  "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"};
  for (const command::Row* row : Rows()) {
    const std::string command = "{\"" + std::string(row->info.name) + "\": 1}";
    for (std::string_view name : names) {
      request::Client stranger("10.0.0.1:5", "10.0.0.9:27017", "10.0.0.1");
      EXPECT_EQ(CodeOf(RunOn(cluster_->router(), stranger, command, name)),
                row->info.Is(request::kAnyDatabaseName) ? kUnauthorized : kInvalidNamespace)
          << command << " on " << name;
      EXPECT_EQ(CodeOf(As("boss", command, name)), kInvalidNamespace) << command << " on " << name;
    }
  }
}

// However much room accounts take: whoever makes users of one database takes none of another away.
TEST_F(AccessTest, LargeAccountsHideNobody) {
  AddUser("maker", R"([{"role": "userAdmin", "db": "aaa"}])");
  std::string addresses = R"("10.0.0.1")";
  for (int i = 0; i < 300'000; ++i) {
    addresses += R"(, "10.0.0.1")";
  }
  for (std::string_view name : {"a", "b", "c"}) {
    EXPECT_EQ(CodeOf(As("maker",
                        R"({"createUser": ")" + std::string(name) +
                            R"(", "pwd": "x", "roles": [], "authenticationRestrictions": [
                            {"clientSource": [)" +
                            addresses + "]}]}",
                        "aaa")),
              0);
  }
  EXPECT_EQ(CodeOf(As("ann", R"({"find": "c"})", "db")), 0);
  EXPECT_EQ(CodeOf(As("boss", R"({"dropAllUsersFromDatabase": 1})", "aaa")), 0);
}

// What a view shows is stated whole: the router does not know what it has shown so far.
TEST_F(AccessTest, HalfAViewIsNotChanged) {
  EXPECT_EQ(CodeOf(As("boss", R"({"createRole": "changer", "roles": [], "privileges": [
      {"resource": {"db": "third", "collection": "v"}, "actions": ["find", "collMod"]},
      {"resource": {"db": "third", "collection": "c"}, "actions": ["find", "insert"]}]})")),
            0);
  AddUser("cid", R"([{"role": "changer", "db": "admin"}])");
  EXPECT_EQ(CodeOf(As("cid", R"({"collMod": "v", "viewOn": "c"})", "third")), kInvalidOptions);
  EXPECT_EQ(CodeOf(As("cid", R"({"collMod": "v", "pipeline": []})", "third")), kInvalidOptions);
  EXPECT_EQ(CodeOf(As("cid", R"({"collMod": "v", "viewOn": "d", "pipeline": []})", "third")),
            kUnauthorized);
}

// The router has the rows of config itself, and no collections of others to put them into.
TEST_F(AccessTest, WhatConfigIsReadIntoLiesOnAShard) {
  for (const char* target :
       {R"("$documents": [{"_id": 7}]}, {"$out": {"db": "db", "coll": "made"}})",
        R"("$documents": [{"_id": 8}]}, {"$merge": {"into": {"db": "db", "coll": "made"}}})"}) {
    const std::string command =
        R"({"aggregate": 1, "cursor": {}, "pipeline": [{)" + std::string(target) + "]}";
    EXPECT_EQ(CodeOf(As("ann", command, "config")), 0) << command;
    EXPECT_EQ(CodeOf(As("bob", command, "config")), kUnauthorized) << command;
  }
  EXPECT_EQ(CodeOf(As("boss", R"({"aggregate": "shards", "cursor": {}, "pipeline": [
      {"$project": {"_id": 1}}, {"$merge": {"into": {"db": "db", "coll": "made"}}}]})",
                      "config")),
            0);
  const std::string found =
      bson::ToJson(As("ann", R"({"find": "made", "sort": {"_id": 1}})", "db"));
  EXPECT_THAT(found, HasSubstr(R"([{"_id":7},{"_id":8},{"_id":")")) << found;
  EXPECT_EQ(CodeOf(As("ann", R"({"mapReduce": "shards", "map": "function() {}",
      "reduce": "function() {}", "out": {"replace": "made", "db": "db"}})",
                      "config")),
            kUnauthorized);
  EXPECT_EQ(CodeOf(As("boss", R"({"mapReduce": "shards", "map": "function() {}",
      "reduce": "function() {}", "out": {"replace": "made", "db": "db"}})",
                      "config")),
            kCommandNotSupported);
}

// As long as there are users, nobody on the same machine may make a first one: also while what the
// router knows of them is replaced.
TEST_F(AccessTest, UsersAreThereWhileTheyAreReadAgain) {
  std::atomic<bool> done = false;
  std::atomic<int> gaps = 0;
  std::thread watcher([&] {
    while (!done) {
      auto users = command::LoadOwnAll(cluster_->router().engine(), "admin.system.users", {}, {});
      gaps += users.ok() && users->empty() ? 1 : 0;
    }
  });
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(CodeOf(As("boss", R"({"updateUser": "nobody", "customData": {"n": )" +
                                    std::to_string(i) + "}}")),
              0);
  }
  done = true;
  watcher.join();
  EXPECT_EQ(gaps, 0);
  EXPECT_EQ(CodeOf(As("boss", R"({"dropUser": "nobody"})")), 0);
  AddUser("nobody", "[]");
}

}  // namespace
}  // namespace quire::router
