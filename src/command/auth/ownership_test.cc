// SPDX-License-Identifier: Apache-2.0
//
// What belongs to the user who began it: cursors, sessions, one's own account. The part of the
// matrix (privileges_test.cc) that depends on who else has done something before.
#include <atomic>
#include <thread>

#include "base/error_codes.h"
#include "command/testing/guarded.h"

namespace quire::command {
namespace {

class Ownership : public testing::Test {
 protected:
  Ownership() {
    node_.Run(R"({"insert": "orders", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})", "shop");
    node_.Run(R"({"insert": "secret", "documents": [{"_id": 1}]})", "shop");
    node_.AddUser("ann", {{"readWrite", "shop"}});
    node_.AddUser("bob", {{"readWrite", "shop"}});
    node_.AddUser("host", {{"hostManager", "admin"}});
    node_.AddUser("root", {{"root", "admin"}});
    node_.LogIn(ann_, "ann");
    node_.LogIn(bob_, "bob");
    node_.LogIn(host_, "host");
    node_.LogIn(root_, "root");
  }

  int64_t Cursor(request::Client& client, const char* command, const char* database = "shop") {
    bson::Document reply = node_.RunAs(client, command, database);
    EXPECT_EQ(GuardedNode::CodeOf(reply), 0) << bson::ToJson(reply.view());
    return GuardedNode::CodeOf(reply) == 0 ? reply["cursor"].AsDocument()["id"].AsInt64() : 0;
  }
  int More(request::Client& client, int64_t id, const char* collection = "orders") {
    return node_.CodeAs(client,
                        R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
                            R"("}, "collection": ")" + collection + R"(", "batchSize": 1})",
                        "shop");
  }
  int Kill(request::Client& client, int64_t id, const char* collection = "orders") {
    return node_.CodeAs(client,
                        std::string(R"({"killCursors": ")") + collection +
                            R"(", "cursors": [{"$numberLong": ")" + std::to_string(id) + R"("}]})",
                        "shop");
  }

  GuardedNode node_;
  request::Client ann_{"192.0.2.1:1"};
  request::Client bob_{"192.0.2.1:2"};
  request::Client host_{"192.0.2.1:3"};
  request::Client root_{"192.0.2.1:4"};
};

constexpr const char* kFind = R"({"find": "orders", "batchSize": 1})";

TEST_F(Ownership, CursorsAreReadOnByWhoOpenedThem) {
  int64_t id = Cursor(ann_, kFind);
  EXPECT_EQ(More(bob_, id), kUnauthorized);
  EXPECT_EQ(More(root_, id), kUnauthorized);
  EXPECT_EQ(More(ann_, id), 0);
}

// $$USER_ROLES in filters, pipelines and views, as the accounts are when the command begins.
TEST_F(Ownership, RolesAreThoseOfWhoAsks) {
  const auto roles = [&](request::Client& client) {
    const bson::Document reply = node_.RunAs(
        client,
        R"({"find": "orders", "filter": {"_id": 1}, "projection": {"r": "$$USER_ROLES.role"}})",
        "shop");
    EXPECT_EQ(GuardedNode::CodeOf(reply), 0) << bson::ToJson(reply.view());
    return bson::ToJson(
        reply["cursor"].AsDocument()["firstBatch"].AsArray()["0"].AsDocument()["r"]);
  };
  EXPECT_EQ(roles(ann_), R"(["readWrite"])");
  EXPECT_EQ(roles(root_), R"(["root"])");
  node_.AddUser("ann", {{"read", "shop"}});
  EXPECT_EQ(roles(ann_), R"(["read"])");
  node_.Run(R"({"create": "own", "viewOn": "orders", "pipeline": [
                {"$match": {"$expr": {"$in": ["people.x", "$$USER_ROLES._id"]}}}]})",
            "shop");
  const auto seen = [&](request::Client& client) {
    const bson::Document reply = node_.RunAs(client, R"({"count": "own"})", "shop");
    return GuardedNode::CodeOf(reply) == 0 ? reply["n"].AsInt32() : -1;
  };
  EXPECT_EQ(seen(ann_), 0);
  const bson::Document open =
      node_.Run(R"({"find": "secret", "projection": {"r": "$$USER_ROLES"}})", "shop");
  EXPECT_EQ(bson::ToJson(open["cursor"].AsDocument()["firstBatch"]), R"([{"_id":1,"r":[]}])");
}

TEST_F(Ownership, CursorsAreReadOnByThoseWhoStillMay) {
  int64_t id = Cursor(ann_, kFind);
  node_.AddUser("ann", {{"read", "other"}});
  EXPECT_EQ(More(ann_, id), kUnauthorized);
  node_.AddUser("ann", {{"read", "shop"}});
  EXPECT_EQ(More(ann_, id), 0);
}

TEST_F(Ownership, CursorsOfPipelinesNeedAllThatTheirPipelineNeeds) {
  node_.AddRole("both", R"([
    {"resource": {"db": "shop", "collection": "orders"}, "actions": ["find"]},
    {"resource": {"db": "shop", "collection": "secret"}, "actions": ["find"]}])");
  node_.AddRole("one", R"([
    {"resource": {"db": "shop", "collection": "orders"}, "actions": ["find"]}])");
  node_.AddUser("cay", {{"both", "admin"}});
  request::Client cay("192.0.2.1:5");
  node_.LogIn(cay, "cay");
  int64_t id = Cursor(cay, R"({"aggregate": "orders", "cursor": {"batchSize": 1}, "pipeline": [
      {"$lookup": {"from": "secret", "as": "s", "pipeline": []}}]})");
  EXPECT_EQ(More(cay, id), 0);
  node_.AddUser("cay", {{"one", "admin"}});
  EXPECT_EQ(More(cay, id), kUnauthorized);
}

TEST_F(Ownership, CursorsAreClosedByWhoOpenedThemOrWhoMayCloseAny) {
  int64_t id = Cursor(ann_, kFind);
  EXPECT_EQ(Kill(bob_, id), kUnauthorized);
  EXPECT_EQ(More(ann_, id), 0);
  EXPECT_EQ(Kill(ann_, id), 0);
  EXPECT_EQ(More(ann_, id), kCursorNotFound);
  id = Cursor(ann_, kFind);
  EXPECT_EQ(Kill(host_, id), 0);
  EXPECT_EQ(More(ann_, id), kCursorNotFound);
}

TEST_F(Ownership, CursorsAreKnownByTheirCollectionOnly) {
  node_.AddRole("inbox", R"([
    {"resource": {"db": "shop", "collection": "secret"}, "actions": ["find"]}])");
  node_.AddUser("dan", {{"inbox", "admin"}});
  request::Client dan("192.0.2.1:5");
  node_.LogIn(dan, "dan");
  int64_t id = Cursor(ann_, kFind);
  EXPECT_NE(More(dan, id, "secret"), 0);
  EXPECT_NE(More(ann_, id, "secret"), 0);
  EXPECT_EQ(More(ann_, id), 0);
}

constexpr const char* kBegin = R"({"insert": "orders", "documents": [{"_id": 9}],
    "lsid": {"id": {"$uuid": "00000000-0000-4000-8000-000000000001"}},
    "txnNumber": {"$numberLong": "1"}, "startTransaction": true, "autocommit": false})";
constexpr const char* kAbort = R"({"abortTransaction": 1,
    "lsid": {"id": {"$uuid": "00000000-0000-4000-8000-000000000001"}},
    "txnNumber": {"$numberLong": "1"}, "autocommit": false})";
constexpr const char* kCommit = R"({"commitTransaction": 1,
    "lsid": {"id": {"$uuid": "00000000-0000-4000-8000-000000000001"}},
    "txnNumber": {"$numberLong": "1"}, "autocommit": false})";

TEST_F(Ownership, SessionsOfTheSameIdAreDifferentForDifferentUsers) {
  ASSERT_EQ(node_.CodeAs(ann_, kBegin, "shop"), 0);
  EXPECT_EQ(node_.CodeAs(bob_, kAbort, "admin"), kNoSuchTransaction);
  EXPECT_EQ(node_.CodeAs(bob_, kCommit, "admin"), kNoSuchTransaction);
  EXPECT_EQ(node_.CodeAs(ann_, kCommit, "admin"), 0);
}

TEST_F(Ownership, NobodyEndsOthersSessions) {
  ASSERT_EQ(node_.CodeAs(ann_, kBegin, "shop"), 0);
  for (const char* command :
       {R"({"killSessions": []})", R"({"endSessions": []})",
        R"({"killSessions": [{"id": {"$uuid": "00000000-0000-4000-8000-000000000001"}}]})",
        R"({"endSessions": [{"id": {"$uuid": "00000000-0000-4000-8000-000000000001"}}]})",
        R"({"refreshSessions": [{"id": {"$uuid": "00000000-0000-4000-8000-000000000001"}}]})"}) {
    EXPECT_EQ(node_.CodeAs(bob_, command, "admin"), 0) << command;
  }
  EXPECT_EQ(node_.CodeAs(bob_, R"({"killAllSessions": []})", "admin"), kUnauthorized);
  EXPECT_EQ(node_.CodeAs(ann_, kCommit, "admin"), 0);
}

TEST_F(Ownership, WhoMayEndsAllSessions) {
  ASSERT_EQ(node_.CodeAs(ann_, kBegin, "shop"), 0);
  EXPECT_EQ(node_.CodeAs(host_, R"({"killAllSessions": []})", "admin"), 0);
  EXPECT_EQ(node_.CodeAs(ann_, kCommit, "admin"), kNoSuchTransaction);
}

TEST_F(Ownership, OnesOwnAccountIsChangedByItsOwnActions) {
  node_.AddRole("self", R"([
    {"resource": {"db": "people", "collection": ""}, "actions": ["changeOwnPassword"]}])");
  node_.AddUser("eve", {{"self", "admin"}});
  request::Client eve("192.0.2.1:5");
  node_.LogIn(eve, "eve");
  EXPECT_EQ(node_.CodeAs(ann_, R"({"updateUser": "ann", "pwd": "new"})", "people"), kUnauthorized);
  EXPECT_EQ(node_.CodeAs(eve, R"({"updateUser": "eve", "customData": {"a": 1}})", "people"),
            kUnauthorized);
  EXPECT_EQ(node_.CodeAs(eve, R"({"updateUser": "ann", "pwd": "new"})", "people"), kUnauthorized);
  EXPECT_EQ(node_.CodeAs(eve, R"({"updateUser": "eve", "roles": []})", "people"), kUnauthorized);
  EXPECT_EQ(node_.CodeAs(eve, R"({"updateUser": "eve", "pwd": "new"})", "people"), 0);
}

// Whoever changes their own account all the time keeps nothing by it that is taken away meanwhile.
TEST_F(Ownership, AChangeBringsNothingBackThatWasTakenAway) {
  node_.AddRole("own", R"([{"resource": {"db": "people", "collection": ""},
                            "actions": ["changeOwnPassword", "changeOwnCustomData"]}])");
  request::Client other("192.0.2.1:6");
  node_.LogIn(other, "root");
  for (int round = 0; round < 3; ++round) {
    node_.AddUser("gus", {{"own", "admin"}, {"readWrite", "shop"}});
    std::atomic<bool> ends = false;
    std::atomic<int> changes = 0;
    std::thread changer([&] {
      while (!ends) {
        node_.RunAs(other, R"({"updateUser": "gus", "pwd": "new"})", "people");
        ++changes;
      }
    });
    auto once_more = [&] {
      for (const int seen = changes; changes < seen + 2;) {
        std::this_thread::yield();
      }
    };
    once_more();
    EXPECT_EQ(node_.CodeAs(root_, R"({"revokeRolesFromUser": "gus",
                                      "roles": [{"role": "readWrite", "db": "shop"}]})",
                           "people"),
              0);
    once_more();
    const bson::Document gus = node_.RunAs(root_, R"({"usersInfo": "gus"})", "people");
    EXPECT_EQ(bson::ToJson(gus).find("readWrite"), std::string::npos) << bson::ToJson(gus);
    EXPECT_EQ(node_.CodeAs(root_, R"({"dropUser": "gus"})", "people"), 0);
    once_more();
    ends = true;
    changer.join();
    const bson::Document gone = node_.RunAs(root_, R"({"usersInfo": "gus"})", "people");
    EXPECT_TRUE(gone["users"].AsArray().empty()) << bson::ToJson(gone);
  }
}

TEST_F(Ownership, ListsShowWhatOneMayUse) {
  node_.AddRole("one", R"([
    {"resource": {"db": "shop", "collection": "orders"}, "actions": ["find"]}])");
  node_.AddUser("fay", {{"one", "admin"}});
  request::Client fay("192.0.2.1:5");
  node_.LogIn(fay, "fay");
  bson::Document reply = node_.RunAs(
      fay, R"({"listCollections": 1, "nameOnly": true, "authorizedCollections": true})", "shop");
  std::string shown = bson::ToJson(reply.view());
  EXPECT_NE(shown.find("orders"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("secret"), std::string::npos) << shown;
  node_.Run(R"({"insert": "x", "documents": [{"_id": 1}]})", "elsewhere");
  reply = node_.RunAs(fay, R"({"listDatabases": 1, "nameOnly": true})", "admin");
  shown = bson::ToJson(reply.view());
  EXPECT_NE(shown.find("shop"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("elsewhere"), std::string::npos) << shown;
}

TEST_F(Ownership, OwnOperationsAreShownAndOthersAreNot) {
  Cursor(ann_, kFind);
  const char* idle =
      R"({"aggregate": 1, "pipeline": [{"$currentOp": {"idleCursors": true}}], "cursor": {}})";
  bson::Document of_bob = node_.RunAs(bob_, idle, "admin");
  EXPECT_EQ(bson::ToJson(of_bob.view()).find("idleCursor\""), std::string::npos)
      << bson::ToJson(of_bob.view());
  bson::Document of_ann = node_.RunAs(ann_, idle, "admin");
  EXPECT_NE(bson::ToJson(of_ann.view()).find("idleCursor\""), std::string::npos)
      << bson::ToJson(of_ann.view());
}

}  // namespace
}  // namespace quire::command
