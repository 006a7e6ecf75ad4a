// SPDX-License-Identifier: Apache-2.0
//
// Requests of a router whose knowledge of a collection is old, and what requests say that they
// know.
#include <gtest/gtest.h>

#include "base/error_codes.h"
#include "base/memory_charge.h"
#include "router/core.h"
#include "router/router.h"
#include "router/testing/cluster.h"

namespace quire::router {
namespace {

class OutdatedTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = new Cluster; }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  static Cluster* cluster_;

  int Code(std::string_view json) { return cluster_->Code(json); }
  std::string Batch(std::string_view json) { return cluster_->Batch(json); }
  int64_t CountOn(TestShard& shard, const std::string& name) {
    const bson::Document reply = cluster_->RunOnShard(shard, "{\"count\": \"" + name + "\"}");
    return reply["n"].is_number() ? reply["n"].AsInt32() : -1;
  }
  // The router takes the collection for one that is not sharded, and it is: what is below 0 lies on
  // s0, the rest on s1.
  void Outdate(const std::string& name) {
    ASSERT_EQ(Code("{\"count\": \"" + name + "\"}"), 0);
    cluster_->Place(name, true);
  }
  // Those of s0, without what is nobody's business.
  std::string Temporaries() {
    const bson::Document reply = cluster_->RunOnShard(
        cluster_->s0, R"({"listCollections": 1, "nameOnly": true, "filter": {"name": {
                          "$regularExpression": {"pattern": "^tmp", "options": ""}}}})");
    return bson::ToJson(reply["cursor"].AsDocument()["firstBatch"]);
  }
};
Cluster* OutdatedTest::cluster_ = nullptr;

TEST_F(OutdatedTest, WritesGoWhereTheyBelong) {
  ASSERT_EQ(cluster_->Code(R"({"enableSharding": "db", "primaryShard": "s0"})", "admin"), 0);
  Outdate("inserted");
  EXPECT_EQ(Code(R"({"insert": "inserted", "documents": [{"x": -1}, {"x": 1}, {"x": 2}]})"), 0);
  EXPECT_EQ(CountOn(cluster_->s0, "inserted"), 1);
  EXPECT_EQ(CountOn(cluster_->s1, "inserted"), 2);
  Outdate("upserted");
  EXPECT_EQ(Code(R"({"update": "upserted", "updates": [
                     {"q": {"x": 5}, "u": {"$set": {"a": 1}}, "upsert": true}]})"),
            0);
  EXPECT_EQ(CountOn(cluster_->s1, "upserted"), 1);
  Outdate("modified");
  EXPECT_EQ(Code(R"({"findAndModify": "modified", "query": {"x": 5}, "update": {"$set": {"a": 1}},
                     "upsert": true})"),
            0);
  EXPECT_EQ(CountOn(cluster_->s1, "modified"), 1);
  Outdate("bulk");
  const bson::Document bulk = cluster_->Run(R"({"bulkWrite": 1, "nsInfo": [{"ns": "db.bulk"}],
      "ops": [{"insert": 0, "document": {"x": -1}}, {"insert": 0, "document": {"x": 1}}]})",
                                            "admin");
  EXPECT_EQ(bulk["nInserted"].AsInt32(), 2);
  EXPECT_EQ(CountOn(cluster_->s1, "bulk"), 1);
}

// An insert into it in a transaction of that number.
std::string InTransaction(const std::string& name, int x, int number, bool starts) {
  return "{\"insert\": \"" + name + "\", \"documents\": [{\"x\": " + std::to_string(x) + "}], " +
         (starts ? "\"startTransaction\": true, " : "") +
         R"("lsid": {"id": {"$uuid": "00000000-0000-4000-8000-000000000001"}},
            "autocommit": false, "txnNumber": {"$numberLong": ")" +
         std::to_string(number) + "\"}}";
}
constexpr std::string_view kCommit =
    R"({"commitTransaction": 1, "autocommit": false, "txnNumber": {"$numberLong": "1"},
        "lsid": {"id": {"$uuid": "00000000-0000-4000-8000-000000000001"}}})";

TEST_F(OutdatedTest, ATransactionBeginsWhereItBelongs) {
  for (const char* name : {"begun", "begun_again"}) {
    ASSERT_EQ(Code("{\"create\": \"" + std::string(name) + "\"}"), 0);
    Outdate(name);
  }
  // On another shard, and on the same one.
  EXPECT_EQ(Code(InTransaction("begun", 5, 1, true)), 0);
  EXPECT_EQ(Code(InTransaction("begun", 6, 1, false)), 0);
  EXPECT_EQ(cluster_->Code(kCommit, "admin"), 0);
  EXPECT_EQ(CountOn(cluster_->s1, "begun"), 2);
  EXPECT_EQ(Code(InTransaction("begun_again", -5, 2, true)), 0);
  EXPECT_EQ(CountOn(cluster_->s0, "begun_again"), 0);
}

TEST_F(OutdatedTest, ATransactionEndsWhereItCannotGoOn) {
  for (const char* name : {"goes_on", "goes_elsewhere"}) {
    ASSERT_EQ(Code("{\"create\": \"" + std::string(name) + "\"}"), 0);
  }
  Outdate("goes_elsewhere");
  EXPECT_EQ(Code(InTransaction("goes_on", 1, 3, true)), 0);
  const bson::Document reply = cluster_->Run(InTransaction("goes_elsewhere", 5, 3, false));
  EXPECT_EQ(reply["code"].AsInt32(), kStaleConfig);
  EXPECT_EQ(bson::ToJson(reply["errorLabels"]), R"(["TransientTransactionError"])");
  EXPECT_EQ(Code(InTransaction("goes_on", 2, 3, false)), kNoSuchTransaction);
  EXPECT_EQ(Code(InTransaction("goes_elsewhere", 5, 4, true)), 0);
}

// A router has sent it again itself.
TEST_F(OutdatedTest, ClientsAreNotToldToSendAgainWhatAShardHasNotAnswered) {
  ASSERT_EQ(Code(R"({"create": "unanswered"})"), 0);
  cluster_->s0.commands->fail_points().Enable(true);
  for (const char* failure : {R"("errorCode": 11600)", R"("closeConnection": true)"}) {
    cluster_->RunOnShard(cluster_->s0,
                         R"({"configureFailPoint": "failCommand", "mode": "alwaysOn", "data": {
                             "failCommands": ["insert"], )" +
                             std::string(failure) + "}}",
                         "admin");
    const bson::Document reply =
        cluster_->Run(R"({"insert": "unanswered", "documents": [{"_id": 1}],
                          "lsid": {"id": {"$uuid": "00000000-0000-4000-8000-000000000002"}},
                          "txnNumber": {"$numberLong": "1"}})");
    EXPECT_EQ(reply["code"].AsInt32(), kHostUnreachable) << bson::ToJson(reply);
    EXPECT_TRUE(reply["errorLabels"].missing()) << bson::ToJson(reply);
  }
  cluster_->RunOnShard(cluster_->s0, R"({"configureFailPoint": "failCommand", "mode": "off"})",
                       "admin");
  cluster_->s0.commands->fail_points().Enable(false);
}

TEST_F(OutdatedTest, ReadsSeeAllOfIt) {
  for (const char* name : {"found", "distinct", "piped", "reduced"}) {
    Outdate(name);
    cluster_->RunOnShard(cluster_->s0, "{\"insert\": \"" + std::string(name) +
                                           "\", \"documents\": [{\"_id\": 1, \"x\": -1}]}");
    cluster_->RunOnShard(cluster_->s1, "{\"insert\": \"" + std::string(name) +
                                           "\", \"documents\": [{\"_id\": 2, \"x\": 1}]}");
  }
  EXPECT_EQ(Batch(R"({"find": "found", "sort": {"x": 1}, "projection": {"x": 1, "_id": 0}})"),
            R"([{"x":-1},{"x":1}])");
  const bson::Document distinct = cluster_->Run(R"({"distinct": "distinct", "key": "x"})");
  EXPECT_EQ(bson::ToJson(distinct["values"]), "[-1,1]");
  EXPECT_EQ(Batch(R"({"aggregate": "piped", "cursor": {}, "pipeline": [{"$count": "n"}]})"),
            R"([{"n":2}])");
  const bson::Document reduced = cluster_->Run(
      R"({"mapReduce": "reduced", "map": "function() { emit(1, this.x); }",
          "reduce": "function(k, v) { return v.length; }", "out": {"inline": 1}})");
  EXPECT_EQ(bson::ToJson(reduced["results"]), R"([{"_id":1.0,"value":2.0}])");
}

TEST_F(OutdatedTest, OtherCollectionsOfAPipelineAreNamedWithTheirVersions) {
  ASSERT_EQ(Code(R"({"insert": "main", "documents": [{"_id": 1, "v": -1}, {"_id": 2, "v": 1}]})"),
            0);
  const std::string joins = R"({"aggregate": "main", "cursor": {}, "pipeline": [
      {"$sort": {"_id": 1}}, {"$lookup": {"from": "joined", "localField": "v",
       "foreignField": "x", "as": "f"}}, {"$project": {"n": {"$size": "$f"}}}]})";
  ASSERT_EQ(Code(R"({"insert": "joined", "documents": [{"_id": 1, "x": -1}]})"), 0);
  cluster_->s0.sharding.TookVersionOf("db.joined");
  EXPECT_EQ(Batch(joins), R"([{"_id":1,"n":1},{"_id":2,"n":0}])");
  EXPECT_TRUE(cluster_->s0.sharding.TookVersionOf("db.joined"));
  cluster_->Place("joined", true);
  cluster_->RunOnShard(cluster_->s1, R"({"insert": "joined", "documents": [{"_id": 2, "x": 1}]})");
  EXPECT_EQ(Batch(joins), R"([{"_id":1,"n":1},{"_id":2,"n":1}])");
}

TEST_F(OutdatedTest, WhatAPipelineWritesGoesWhereItBelongs) {
  ASSERT_EQ(Code(R"({"insert": "source", "documents": [{"_id": 1, "x": -1}, {"_id": 2, "x": 1}]})"),
            0);
  const std::string merges =
      R"({"aggregate": "source", "cursor": {}, "pipeline": [{"$merge": "merged"}]})";
  ASSERT_EQ(Code(merges), 0);
  EXPECT_TRUE(cluster_->s0.sharding.TookVersionOf("db.merged"));
  ASSERT_EQ(Code(R"({"delete": "merged", "deletes": [{"q": {}, "limit": 0}]})"), 0);
  cluster_->Place("merged", true);
  ASSERT_EQ(Code(merges), 0);
  EXPECT_EQ(CountOn(cluster_->s0, "merged"), 1);
  EXPECT_EQ(CountOn(cluster_->s1, "merged"), 1);
  // And with batches that the router sends itself.
  const std::string documents =
      R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$documents": [{"_id": 3, "x": -3},
         {"_id": 4, "x": 4}]}, {"$merge": "sent"}]})";
  ASSERT_EQ(Code(documents), 0);
  EXPECT_TRUE(cluster_->s0.sharding.TookVersionOf("db.sent"));
  ASSERT_EQ(Code(R"({"delete": "sent", "deletes": [{"q": {}, "limit": 0}]})"), 0);
  cluster_->Place("sent", true);
  ASSERT_EQ(Code(documents), 0);
  EXPECT_EQ(CountOn(cluster_->s0, "sent"), 1);
  EXPECT_EQ(CountOn(cluster_->s1, "sent"), 1);
  EXPECT_EQ(Code(R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$documents": [{"_id": 3}]},
                     {"$out": "sent"}]})"),
            28769);
}

// Nobody knows whether what got no answer was written: it is not written again.
TEST_F(OutdatedTest, WhatAPipelineWritesIsWrittenOnce) {
  ASSERT_EQ(Code(R"({"insert": "counted", "documents": [{"_id": 1}]})"), 0);
  cluster_->s0.commands->fail_points().Enable(true);
  const auto fail_once = [] {
    const bson::Document reply = cluster_->RunOnShard(
        cluster_->s0, R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                          "data": {"failCommands": ["aggregate"], "closeConnection": true}})",
        "admin");
    EXPECT_EQ(reply["ok"].AsDouble(), 1) << bson::ToJson(reply);
  };
  fail_once();
  EXPECT_EQ(Batch(R"({"aggregate": "counted", "cursor": {}, "pipeline": []})"), R"([{"_id":1}])");
  fail_once();
  EXPECT_EQ(Code(R"({"aggregate": "counted", "cursor": {}, "pipeline": [{"$merge": "into"}]})"),
            kHostUnreachable);
  cluster_->s0.commands->fail_points().Enable(false);
}

// A large $out fills a collection of its own first.
TEST_F(OutdatedTest, AnOutThatFailsLeavesItsTargetAsItWas) {
  const auto out = [](const std::string& id) {
    return R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$documents": {"$map": {
               "input": {"$range": [0, 20050]}, "in": {"_id": )" +
           id + R"(}}}}, {"$out": "target"}]})";
  };
  ASSERT_EQ(Code(out(R"("$$this")")), 0);
  EXPECT_EQ(CountOn(cluster_->s0, "target"), 20050);
  EXPECT_TRUE(cluster_->s0.sharding.TookVersionOf("db.target"));
  ASSERT_EQ(Code(R"({"createIndexes": "target", "indexes": [{"key": {"a": 1}, "name": "a"}]})"), 0);
  ASSERT_EQ(
      Code(R"({"update": "target", "updates": [{"q": {"_id": 0}, "u": {"$set": {"a": 1}}}]})"), 0);
  // The last document has the _id of another one.
  EXPECT_EQ(Code(out(R"({"$min": ["$$this", 20048]})")), kDuplicateKey);
  EXPECT_EQ(CountOn(cluster_->s0, "target"), 20050);
  EXPECT_EQ(Batch(R"({"find": "target", "filter": {"a": 1}})"), R"([{"_id":0,"a":1}])");
  for (int i = 0; i < 1000 && Temporaries() != "[]"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(Temporaries(), "[]");
  // Indexes stay, documents go.
  ASSERT_EQ(Code(out(R"({"$add": ["$$this", 1]})")), 0);
  EXPECT_EQ(Batch(R"({"find": "target", "hint": "a", "filter": {"a": 1}})"), "[]");
  EXPECT_EQ(CountOn(cluster_->s0, "target"), 20050);
}

// The one idle cursor of a server.
bson::Document IdleCursor(const bson::Document& reply) {
  const bson::View batch = reply["cursor"].AsDocument()["firstBatch"].AsArray();
  return batch.empty() ? bson::Document()
                       : bson::Document(batch.front().value().AsDocument()["cursor"].AsDocument());
}
constexpr std::string_view kIdleCursors =
    R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$currentOp": {"idleCursors": true,
        "localOps": true}}, {"$match": {"type": "idleCursor"}}]})";

TEST_F(OutdatedTest, CursorsOnShardsLiveAsLongAsTheRoutersOwn) {
  cluster_->Place("slow");
  ASSERT_EQ(Code(R"({"insert": "slow", "documents": [{"x": -1}, {"x": 1}, {"x": -2}, {"x": -3}]})"),
            0);
  const bson::Document first = cluster_->Run(
      R"({"find": "slow", "filter": {"x": {"$lt": 0}}, "batchSize": 1, "noCursorTimeout": true})");
  const int64_t id = first["cursor"].AsDocument()["id"].AsInt64();
  const bson::Document own = IdleCursor(cluster_->Run(kIdleCursors, "admin"));
  EXPECT_TRUE(own["noCursorTimeout"].AsBool());
  const bson::Document there = IdleCursor(cluster_->RunOnShard(
      cluster_->s0, R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$currentOp": {
                        "idleCursors": true}}, {"$match": {"type": "idleCursor"}}]})",
      "admin"));
  EXPECT_FALSE(there["noCursorTimeout"].AsBool()) << "it ends when the router has";
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const auto idle_since = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  cluster_->router().core().cursors.Touch(cluster_->router().core().lanes());
  const auto touches = [&] {
    const bson::Document status =
        cluster_->RunOnShard(cluster_->s0, R"({"serverStatus": 1})", "admin");
    const bson::View commands = status["metrics"].AsDocument()["commands"].AsDocument();
    return bson::ToJson(commands["_shardsvrTouchCursors"]);
  };
  for (int i = 0; i < 1000 && touches().find(R"("total":1)") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  cluster_->s0.engine->cursors().Expire(std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - idle_since));
  EXPECT_EQ(Code(R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
                 R"("}, "collection": "slow"})"),
            0);
}

TEST_F(OutdatedTest, VariablesHaveOneValueOnAllShards) {
  cluster_->Place("let");
  ASSERT_EQ(Code(R"({"insert": "let", "documents": [{"x": -1}, {"x": 1}]})"), 0);
  ASSERT_EQ(Code(R"({"update": "let", "let": {"r": {"$rand": {}}}, "updates": [
                     {"q": {}, "u": [{"$set": {"r": "$$r"}}], "multi": true}]})"),
            0);
  const bson::Document values = cluster_->Run(R"({"distinct": "let", "key": "r"})");
  EXPECT_EQ(values["values"].AsArray().Count(), 1);
  // Also those that $merge uses, whoever sends it its documents.
  for (const char* stages : {"", R"({"$sort": {"x": 1}}, {"$limit": 2}, )"}) {
    const std::string merge =
        R"({"aggregate": "let", "let": {"r": {"$rand": {}}}, "cursor": {}, "pipeline": [)" +
        std::string(stages) +
        R"({"$merge": {"into": "let", "whenMatched": [{"$set": {"r": "$$r"}}]}}]})";
    ASSERT_EQ(Code(merge), 0) << merge;
    const bson::Document merged = cluster_->Run(R"({"distinct": "let", "key": "r"})");
    EXPECT_EQ(merged["values"].AsArray().Count(), 1) << merge;
  }
  const std::string wrong = R"({"find": "let", "let": {"r": {"$rand": 1}}})";
  const bson::Document refused = cluster_->RunOnShard(cluster_->s0, wrong);
  EXPECT_EQ(Code(wrong), refused["code"].AsInt32());
}

TEST_F(OutdatedTest, BatchesOfShardsAreBoundedByTheirBytes) {
  ASSERT_EQ(Code(R"({"insert": "wide", "documents": [{"_id": 1, "t": "0123456789"},
                     {"_id": 2, "t": "0123456789"}, {"_id": 3, "t": "0123456789"}]})"),
            0);
  const bson::Document first = cluster_->RunOnShard(
      cluster_->s0, R"({"find": "wide", "sort": {"_id": 1}, "shardRows": {"bytes": 100}})");
  const bson::View cursor = first["cursor"].AsDocument();
  EXPECT_EQ(bson::ToJson(cursor["firstBatch"]),
            R"([{"_id":1,"t":"0123456789"},{"_id":2,"t":"0123456789"}])");
  EXPECT_NE(cursor["id"].AsInt64(), 0);
}

TEST_F(OutdatedTest, MergesAreRefusedWhereTheirRowsTakeTooMuchMemory) {
  cluster_->Place("heavy");
  const std::string text(200'000, 't');
  for (const char* x : {"-1", "1"}) {
    ASSERT_EQ(Code("{\"insert\": \"heavy\", \"documents\": [{\"x\": " + std::string(x) +
                   ", \"t\": \"" + text + "\"}]}"),
              0);
  }
  const std::string sorted = R"({"find": "heavy", "sort": {"x": 1}})";
  EXPECT_EQ(Code(sorted), 0);
  const int64_t before = OperationMemory().of_all.exchange(100'000);
  EXPECT_EQ(Code(sorted), kExceededMemoryLimit);
  OperationMemory().of_all = before;
  EXPECT_EQ(Code(sorted), 0);
}

}  // namespace
}  // namespace quire::router
