// SPDX-License-Identifier: Apache-2.0
#include <thread>
#include <vector>

#include "base/error_codes.h"
#include "command/testing/harness.h"

namespace quire::command {
namespace {

// A client's session: adds its fields to commands given as JSON without their last brace.
class Session {
 public:
  Session(Node* node, char id) : node_(*node), id_(id) {}

  void Start() {
    ++number_;
    first_ = true;
  }
  bson::Document Run(std::string_view json, std::string_view database = "test") {
    bson::Document reply = node_.RunAs(client_, Fields(json), database);
    first_ = false;
    return reply;
  }
  int Code(std::string_view json, std::string_view database = "test") {
    bson::Document reply = Run(json, database);
    return reply["ok"].AsDouble() == 1 ? 0 : reply["code"].AsInt32();
  }
  int Commit() { return Code(R"({"commitTransaction": 1)", "admin"); }
  int Abort() { return Code(R"({"abortTransaction": 1)", "admin"); }
  std::string Lsid() const {
    return std::string(R"({"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAA)") + id_ +
           R"(A==", "subType": "04"}}})";
  }

 private:
  std::string Fields(std::string_view json) const {
    return std::string(json) + R"(, "lsid": )" + Lsid() + R"(, "txnNumber": {"$numberLong": ")" +
           std::to_string(number_) + R"("}, "autocommit": false)" +
           (first_ ? R"(, "startTransaction": true})" : "}");
  }

  Node& node_;
  request::Client client_;
  char id_;
  int number_ = 0;
  bool first_ = false;
};

TEST(Transaction, ACollectionItCreatesIsThereOnceItCommits) {
  Node node;
  Session session(&node, 'A');
  session.Start();
  ASSERT_EQ(session.Code(R"({"insert": "made", "documents": [{"_id": 1}])"), 0);
  EXPECT_EQ(
      session.Code(R"({"update": "made", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}])"),
      0);
  bson::Document seen = session.Run(R"({"find": "made")");
  EXPECT_EQ(bson::ToJson(seen["cursor"].AsDocument()["firstBatch"]), R"([{"_id":1,"a":1}])");
  EXPECT_EQ(node.Batch(R"({"find": "made"})"), "[]");
  EXPECT_EQ(node.Batch(R"({"listCollections": 1, "nameOnly": true})"), "[]");
  ASSERT_EQ(session.Commit(), 0);
  EXPECT_EQ(node.Batch(R"({"find": "made"})"), R"([{"_id":1,"a":1}])");
  EXPECT_EQ(node.Json(R"({"count": "made"})"), R"({"n":1,"ok":1.0})");
}

TEST(Transaction, ACollectionItCreatesIsGoneWhenItAborts) {
  Node node;
  Session session(&node, 'A');
  session.Start();
  ASSERT_EQ(session.Code(R"({"create": "made", "validator": {"a": 1})"), 0);
  ASSERT_EQ(session.Code(R"({"insert": "made", "documents": [{"a": 1}])"), 0);
  ASSERT_EQ(session.Abort(), 0);
  EXPECT_EQ(node.Batch(R"({"listCollections": 1, "nameOnly": true})"), "[]");
  // The name is free again.
  EXPECT_EQ(node.Code(R"({"insert": "made", "documents": [{"_id": 1}]})"), 0);
}

TEST(Transaction, RefusesCollectionsChangedSinceItsStart) {
  for (const char* change : {R"({"drop": "c"})", R"({"collMod": "c", "validationLevel": "off"})",
                             R"({"create": "c"})"}) {
    Node node;
    ASSERT_EQ(node.Code(R"({"insert": "other", "documents": [{}]})"), 0);
    if (std::string_view(change).find("create") == std::string_view::npos) {
      ASSERT_EQ(node.Code(R"({"insert": "c", "documents": [{}]})"), 0);
    }
    Session session(&node, 'A');
    session.Start();
    ASSERT_EQ(session.Code(R"({"find": "other")"), 0);
    ASSERT_EQ(node.Code(change), 0);
    const bson::Document reply = session.Run(R"({"find": "c")");
    EXPECT_EQ(reply["code"].AsInt32(), kSnapshotUnavailable) << change;
    EXPECT_EQ(bson::ToJson(reply["errorLabels"]), R"(["TransientTransactionError"])") << change;
  }
}

TEST(Transaction, KeepsOffTheProfileAndTheViews) {
  Node node;
  Session session(&node, 'A');
  session.Start();
  EXPECT_EQ(session.Code(R"({"find": "system.profile")"), 263);
  session.Start();
  EXPECT_EQ(session.Code(R"({"find": "system.views")"), 263);
}

TEST(Transaction, CurrentOpShowsItWhileItIsIdle) {
  Node node;
  Session session(&node, 'A');
  session.Start();
  ASSERT_EQ(session.Code(R"({"find": "c")"), 0);
  const std::string idle = R"({"currentOp": 1, "type": "idleSession"})";
  bson::Document open = node.Run(idle, "admin");
  ASSERT_EQ(open["inprog"].AsArray().Count(), 1);
  bson::View shown = open["inprog"].AsArray().front().value().AsDocument();
  EXPECT_TRUE(shown["transaction"].AsDocument()["parameters"].AsDocument().Has("txnNumber"));
  session.Abort();
  bson::Document ended = node.Run(idle, "admin");
  EXPECT_TRUE(ended["inprog"].AsArray().empty());
}

TEST(Transaction, CreatesOnlyWhatIsNotThere) {
  Node node;
  node.Run(R"({"create": "old"})");
  EXPECT_EQ(node.Code(R"({"create": "old"})"), 0);
  Session session(&node, 'A');
  session.Start();
  EXPECT_EQ(session.Code(R"({"create": "old")"), 48);
  EXPECT_EQ(session.Commit(), 251);
  session.Start();
  ASSERT_EQ(session.Code(R"({"create": "made")"), 0);
  EXPECT_EQ(session.Code(R"({"create": "made")"), 48);
}

TEST(Transaction, IndexesAreMadeOnWhatItCreatedOnly) {
  Node node;
  node.Run(R"({"insert": "old", "documents": [{"_id": 1}]})");
  constexpr std::string_view kIndex =
      R"("indexes": [{"key": {"a": 1}, "name": "a_1", "unique": true}])";
  Session session(&node, 'A');
  session.Start();
  EXPECT_EQ(session.Code(R"({"createIndexes": "old", )" + std::string(kIndex)), 263);
  session.Start();
  ASSERT_EQ(session.Code(R"({"createIndexes": "made", )" + std::string(kIndex)), 0);
  ASSERT_EQ(session.Code(R"({"insert": "made", "documents": [{"_id": 1, "a": 1}])"), 0);
  ASSERT_EQ(session.Commit(), 0);
  bson::Document refused = node.Run(R"({"insert": "made", "documents": [{"_id": 2, "a": 1}]})");
  EXPECT_EQ(refused["n"].AsInt32(), 0);
}

TEST(Transaction, TwoCannotCreateTheSame) {
  Node node;
  Session one(&node, 'A');
  Session other(&node, 'B');
  one.Start();
  other.Start();
  ASSERT_EQ(one.Code(R"({"insert": "made", "documents": [{"_id": 1}])"), 0);
  bson::Document refused = other.Run(R"({"insert": "made", "documents": [{"_id": 2}])");
  EXPECT_EQ(refused["code"].AsInt32(), 112);
  EXPECT_EQ(bson::ToJson(refused["errorLabels"]), R"(["TransientTransactionError"])");
  EXPECT_EQ(one.Commit(), 0);
}

TEST(Transaction, WhoCreatesItSecondMayTryAgain) {
  Node node;
  auto create_all = [&](char id) {
    Session session(&node, id);
    for (int i = 0; i < 300; ++i) {
      const std::string insert =
          R"({"insert": "made)" + std::to_string(i) + R"(", "documents": [{}])";
      for (bool done = false; !done;) {
        session.Start();
        bson::Document reply = session.Run(insert);
        done = reply["ok"].AsDouble() == 1 && session.Commit() == 0;
        if (!done) {
          ASSERT_EQ(bson::ToJson(reply["errorLabels"]), R"(["TransientTransactionError"])")
              << bson::ToJson(reply);
        }
      }
    }
  };
  std::vector<std::thread> clients;
  for (char id : {'A', 'B', 'C'}) {
    clients.emplace_back(create_all, id);
  }
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_EQ(node.Json(R"({"count": "made299"})"), R"({"n":3,"ok":1.0})");
}

TEST(Transaction, ACommitIsAnsweredAgainByTheStore) {
  Node node;
  Session session(&node, 'A');
  session.Start();
  ASSERT_EQ(session.Code(R"({"insert": "c", "documents": [{"_id": 1}])"), 0);
  ASSERT_EQ(session.Commit(), 0);
  EXPECT_EQ(session.Commit(), 0);
  ASSERT_EQ(node.Code(R"({"endSessions": [)" + session.Lsid() + "]}"), 0);
  EXPECT_EQ(session.Commit(), 0);
  EXPECT_EQ(session.Abort(), 256);
}

TEST(Transaction, RefusesWhatItCannotIsolate) {
  struct Case {
    std::string_view command;
    int code;
  };
  constexpr Case kCases[] = {
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$collStats": {"count": {}}}])", 263},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$out": "d"}])", 263},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$merge": "d"}])", 263},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$indexStats": {}}])", 263},
      {R"({"killCursors": "c", "cursors": [{"$numberLong": "1"}])", 263},
      {R"({"count": "c")", 263},
      {R"({"getParameter": 1, "logLevel": 1)", 263},  // before it is for admin alone
      {R"({"create": "v", "viewOn": "c", "pipeline": [])", 263},
      {R"({"drop": "c")", 263},
  };
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  Session session(&node, 'A');
  for (const Case& c : kCases) {
    session.Start();
    EXPECT_EQ(session.Code(c.command), c.code) << c.command;
  }
}

TEST(Transaction, HundredThousandDocuments) {
  Node node;
  Session session(&node, 'A');
  session.Start();
  constexpr int kBatches = 100;
  constexpr int kBatch = 1000;
  for (int batch = 0; batch < kBatches; ++batch) {
    std::string insert = R"({"insert": "c", "documents": [)";
    for (int i = 0; i < kBatch; ++i) {
      insert +=
          (i == 0 ? R"({"_id": )" : R"(, {"_id": )") + std::to_string(batch * kBatch + i) + "}";
    }
    ASSERT_EQ(session.Code(insert + "]"), 0);
  }
  ASSERT_EQ(session.Commit(), 0);
  EXPECT_EQ(node.Json(R"({"count": "c"})"), R"({"n":100000,"ok":1.0})");
}

TEST(Sessions, AreNotMoreThanTheirLimit) {
  Node node;
  node.engine().sessions().SetMost(2);
  EXPECT_EQ(node.Code(R"({"startSession": 1})"), 0);
  bson::Document second = node.Run(R"({"startSession": 1})");
  EXPECT_EQ(node.Code(R"({"startSession": 1})"), 261);
  const std::string known = bson::ToJson(second["id"]);
  EXPECT_EQ(node.Code(R"({"ping": 1, "lsid": )" + known + "}"), 0);
  EXPECT_EQ(node.Code(R"({"ping": 1, "lsid": {"id":
      {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}}})"),
            261);
  EXPECT_EQ(node.Code(R"({"endSessions": [)" + known + "]}"), 0);
  EXPECT_EQ(node.Code(R"({"startSession": 1})"), 0);
}

}  // namespace
}  // namespace quire::command
