// SPDX-License-Identifier: Apache-2.0
//
// A router over two shards in one process.
#include "router/router.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"
#include "router/testing/cluster.h"

namespace quire::router {
namespace {

class RouterTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = new Cluster; }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  static Cluster* cluster_;

  std::string Json(std::string_view json, std::string_view database = "db") {
    return cluster_->Json(json, database);
  }
  std::string Batch(std::string_view json, std::string_view database = "db") {
    return cluster_->Batch(json, database);
  }
  int Code(std::string_view json, std::string_view database = "db") {
    return cluster_->Code(json, database);
  }
  int Count(std::string_view json, std::string_view database = "db") {
    const bson::Document reply = cluster_->Run(json, database);
    return reply["n"].is_number() ? reply["n"].AsInt32() : -1;
  }
};
Cluster* RouterTest::cluster_ = nullptr;

TEST_F(RouterTest, SaysWhatItIs) {
  const bson::Document hello = cluster_->Run(R"({"hello": 1})", "admin");
  EXPECT_EQ(hello["msg"].AsString(), "isdbgrid");
  EXPECT_TRUE(hello["setName"].missing());
  const bson::Document status = cluster_->Run(R"({"replSetGetStatus": 1})", "admin");
  EXPECT_EQ(status["info"].AsString(), "mongos");
  EXPECT_EQ(Code(R"({"replSetInitiate": {}})", "admin"), kCommandNotFound);
}

TEST_F(RouterTest, DatabasesLieOnOneShard) {
  EXPECT_EQ(Json(R"({"insert": "c", "documents": [{"_id": 1, "a": 5}]})", "one"),
            R"({"n":1,"ok":1.0})");
  EXPECT_EQ(Batch(R"({"find": "c", "filter": {"a": 5}})", "one"), R"([{"_id":1,"a":5}])");
  EXPECT_EQ(Code(R"({"insert": "c", "documents": [{"_id": 1}], "shardVersion": {}})", "one"),
            40415);
  EXPECT_EQ(Batch(R"({"find": "databases", "filter": {"_id": "one"}, "projection": {"_id": 1}})",
                  "config"),
            R"([{"_id":"one"}])");
}

// Changes of the role are none of a router: but for tests, which may want to see them told.
TEST_F(RouterTest, FailPointsTellOfChangesOfTheRole) {
  cluster_->router().fail_points().Enable(true);
  const auto fails_with = [](const std::string& data) {
    cluster_->Run(R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                      "data": {"failCommands": ["insert"], )" +
                      data + "}}",
                  "admin");
    return cluster_->Run(R"({"insert": "c", "documents": [{}]})", "failing");
  };
  const bson::Document plain = fails_with(R"("errorCode": 10107)");
  EXPECT_EQ(plain["code"].AsInt32(), kNotWritablePrimary);
  const bson::Document told = fails_with(R"("errorCode": 10107, "allowRewriteStateChange": true)");
  EXPECT_EQ(told["code"].AsInt32(), kHostUnreachable);
  const bson::Document concern = fails_with(
      R"("writeConcernError": {"code": 91, "errmsg": "ends"}, "allowRewriteStateChange": true)");
  EXPECT_EQ(concern["n"].AsInt32(), 1);
  EXPECT_EQ(concern["writeConcernError"].AsDocument()["code"].AsInt32(), kHostUnreachable);
  cluster_->router().fail_points().Enable(false);
}

// Also of those that were sharded at the same time and divided alike.
TEST_F(RouterTest, ConfigShowsTheChunksOfAllCollections) {
  cluster_->Place("alike1");
  cluster_->Place("alike2");
  EXPECT_EQ(
      Count(R"({"count": "collections", "query": {"_id": {"$regex": "^db.alike"}}})", "config"), 2);
  const int before = Count(R"({"count": "chunks", "query": {}})", "config");
  cluster_->Place("alike3");
  EXPECT_EQ(Count(R"({"count": "chunks", "query": {}})", "config"), before + 2);
}

// Not that a shard did not answer in time: it was told to end as well.
TEST_F(RouterTest, TimeLimitsEndWhatShardsDo) {
  EXPECT_EQ(Code(R"({"insert": "c", "documents": [{"_id": 1}]})", "slow"), 0);
  for (std::string_view command :
       {R"({"find": "c", "filter": {"$where": "for (;;) {}"}, "maxTimeMS": 50})",
        R"({"update": "c", "updates": [{"q": {"$where": "for (;;) {}"}, "u": {"$set": {"a": 1}},
            "multi": true}], "maxTimeMS": 50})",
        R"({"delete": "c", "deletes": [{"q": {"$where": "for (;;) {}"}, "limit": 0}],
            "maxTimeMS": 50})",
        R"({"findAndModify": "c", "query": {"$where": "for (;;) {}"}, "remove": true,
            "maxTimeMS": 50})",
        R"({"aggregate": "c", "pipeline": [{"$set": {"x": {"$function": {"lang": "js", "args": [],
            "body": "function () { for (;;) {} }"}}}}, {"$out": "d"}], "cursor": {},
            "maxTimeMS": 50})"}) {
    const bson::Document reply = cluster_->Run(command, "slow");
    const bson::Value errors = reply["writeErrors"];
    const bson::View error =
        errors.is_array() ? errors.AsArray().front().value().AsDocument() : reply.view();
    EXPECT_EQ(error["code"].is_number() ? error["code"].AsInt32() : 0, kMaxTimeMSExpired)
        << command << "\n"
        << bson::ToJson(reply);
  }
}

TEST_F(RouterTest, CursorsAreReadOn) {
  std::string documents;
  for (int i = 0; i < 300; ++i) {
    documents += (i == 0 ? "" : ",") + ("{\"_id\": " + std::to_string(i) + "}");
  }
  EXPECT_EQ(Code("{\"insert\": \"many\", \"documents\": [" + documents + "]}", "one"), 0);
  const bson::Document first =
      cluster_->Run(R"({"find": "many", "sort": {"_id": 1}, "batchSize": 100})", "one");
  const int64_t id = first["cursor"].AsDocument()["id"].AsInt64();
  EXPECT_NE(id, 0);
  const std::string more = "{\"getMore\": {\"$numberLong\": \"" + std::to_string(id) +
                           "\"}, \"collection\": \"many\", \"batchSize\": 150}";
  const bson::Document second = cluster_->Run(more, "one");
  EXPECT_EQ(second["cursor"].AsDocument()["nextBatch"].AsArray().Count(), 150U)
      << bson::ToJson(second);
  const bson::Document third = cluster_->Run(more, "one");
  EXPECT_EQ(third["cursor"].AsDocument()["nextBatch"].AsArray().Count(), 50U);
  EXPECT_EQ(third["cursor"].AsDocument()["id"].AsInt64(), 0);
}

TEST_F(RouterTest, CursorsOfConfigAreReadOnInTheirSession) {
  const std::string session =
      R"(, "lsid": {"id": {"$binary": {"base64": "MDEyMzQ1Njc4OWFiY2RlZg==", "subType": "04"}}}})";
  const bson::Document first =
      cluster_->Run(R"({"find": "shards", "batchSize": 1)" + session, "config");
  const int64_t id = first["cursor"].AsDocument()["id"].AsInt64();
  ASSERT_NE(id, 0);
  const std::string more =
      R"({"getMore": {"$numberLong": ")" + std::to_string(id) + R"("}, "collection": "shards")";
  EXPECT_EQ(Code(more + "}", "config"), 50738);
  EXPECT_EQ(Code(more + session, "config"), 0);
}

TEST_F(RouterTest, WhatIsNotThereIsEmpty) {
  EXPECT_EQ(Batch(R"({"find": "c"})", "nothing"), "[]");
  EXPECT_EQ(Json(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})", "nothing"),
            R"({"n":0,"ok":1.0})");
}

TEST_F(RouterTest, InsertsGoToTheOwners) {
  cluster_->Place("i");
  EXPECT_EQ(Json(R"({"insert": "i", "documents": [{"_id": 1, "x": -1}, {"_id": 2, "x": 1},
                     {"_id": 3, "x": -2}]})"),
            R"({"n":3,"ok":1.0})");
  const auto on = [&](TestShard& shard) {
    const bson::Document reply = cluster_->RunOnShard(shard, R"({"count": "i"})");
    return reply["n"].AsInt32();
  };
  EXPECT_EQ(on(cluster_->s0), 2);
  EXPECT_EQ(on(cluster_->s1), 1);
  const bson::Document failed = cluster_->Run(
      R"({"insert": "i", "documents": [{"_id": 4, "x": 1}, {"_id": 1, "x": -1}, {"_id": 5, "x": 1}]})");
  EXPECT_EQ(failed["n"].AsInt32(), 1);
  EXPECT_EQ(failed["writeErrors"].AsArray().front().value().AsDocument()["index"].AsInt32(), 1);
}

TEST_F(RouterTest, ReadsAreMerged) {
  cluster_->Place("r");
  ASSERT_EQ(Code(R"({"insert": "r", "documents": [{"_id": 1, "x": 3}, {"_id": 2, "x": -4},
                     {"_id": 3, "x": 1}, {"_id": 4, "x": -1}, {"_id": 5, "x": 2}]})"),
            0);
  EXPECT_EQ(Batch(R"({"find": "r", "sort": {"x": 1}, "projection": {"_id": 0, "x": 1}})"),
            R"([{"x":-4},{"x":-1},{"x":1},{"x":2},{"x":3}])");
  EXPECT_EQ(Batch(R"({"find": "r", "sort": {"x": -1}, "skip": 1, "limit": 3,
                      "projection": {"_id": 1}})"),
            R"([{"_id":5},{"_id":3},{"_id":4}])");
  EXPECT_EQ(Json(R"({"count": "r"})"), R"({"shards":{"s0":2,"s1":3},"n":5,"ok":1.0})");
  EXPECT_EQ(Count(R"({"count": "r", "skip": 1, "limit": 3})"), 3);
  const bson::Document distinct = cluster_->Run(R"({"distinct": "r", "key": "x"})");
  EXPECT_EQ(distinct["values"].AsArray().Count(), 5U);
  const bson::Document plan = cluster_->Run(
      R"({"explain": {"find": "r", "filter": {"x": 3}}, "verbosity": "queryPlanner"})");
  EXPECT_EQ(plan["queryPlanner"].AsDocument()["winningPlan"].AsDocument()["stage"].AsString(),
            "SINGLE_SHARD");
}

TEST_F(RouterTest, PipelinesAreDivided) {
  cluster_->Place("p");
  ASSERT_EQ(Code(R"({"insert": "p", "documents": [{"_id": 1, "x": 3}, {"_id": 2, "x": -4},
                     {"_id": 3, "x": 1}, {"_id": 4, "x": -1}]})"),
            0);
  EXPECT_EQ(Batch(R"({"aggregate": "p", "cursor": {}, "pipeline": [
                      {"$group": {"_id": null, "n": {"$sum": "$x"}}}]})"),
            R"([{"_id":null,"n":-1}])");
  EXPECT_EQ(Batch(R"({"aggregate": "p", "cursor": {}, "pipeline": [
                      {"$sort": {"x": 1}}, {"$limit": 2}, {"$project": {"x": 1, "_id": 0}}]})"),
            R"([{"x":-4},{"x":-1}])");
  ASSERT_EQ(
      Code(R"({"insert": "names", "documents": [{"_id": 1, "of": 3}, {"_id": 2, "of": -1}]})"), 0);
  EXPECT_EQ(Batch(R"({"aggregate": "names", "cursor": {}, "pipeline": [{"$sort": {"_id": 1}},
                      {"$lookup": {"from": "p", "localField": "of", "foreignField": "x",
                       "as": "found"}}, {"$project": {"found._id": 1}}]})"),
            R"([{"_id":1,"found":[{"_id":1}]},{"_id":2,"found":[{"_id":4}]}])");
}

// Every accumulator's state crosses from the shards to the router.
TEST_F(RouterTest, GroupsAreMergedFromPartialStates) {
  cluster_->Place("g");
  ASSERT_EQ(Code(R"({"insert": "g", "documents": [{"_id": 1, "x": 3, "k": "a"},
                     {"_id": 2, "x": -4, "k": "a"}, {"_id": 3, "x": 1, "k": "b"},
                     {"_id": 4, "x": -1, "k": "a"}]})"),
            0);
  EXPECT_EQ(Batch(R"({"aggregate": "g", "cursor": {}, "pipeline": [
                      {"$group": {"_id": "$k", "avg": {"$avg": "$x"}, "max": {"$max": "$x"},
                       "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}]})"),
            R"([{"_id":"a","avg":-0.6666666666666666,"max":3,"n":3},)"
            R"({"_id":"b","avg":1.0,"max":1,"n":1}])");
  EXPECT_EQ(Batch(R"({"aggregate": "g", "cursor": {}, "pipeline": [{"$count": "n"}]})"),
            R"([{"n":4}])");
  EXPECT_EQ(Batch(R"({"aggregate": "g", "cursor": {}, "pipeline": [{"$sample": {"size": 3}},
                      {"$count": "n"}]})"),
            R"([{"n":3}])");
}

TEST_F(RouterTest, ViewsOnShardedCollections) {
  cluster_->Place("vc");
  ASSERT_EQ(Code(R"({"insert": "vc", "documents": [{"_id": 1, "x": 3}, {"_id": 2, "x": -4},
                     {"_id": 3, "x": 1}]})"),
            0);
  ASSERT_EQ(
      Code(R"({"create": "v", "viewOn": "vc", "pipeline": [{"$match": {"_id": {"$gt": 1}}}]})"), 0);
  EXPECT_EQ(Batch(R"({"find": "v", "sort": {"_id": 1}})"), R"([{"_id":2,"x":-4},{"_id":3,"x":1}])");
  EXPECT_EQ(Count(R"({"count": "v"})"), 2);
  const bson::Document values = cluster_->Run(R"({"distinct": "v", "key": "x"})");
  EXPECT_EQ(bson::ToJson(values["values"]), "[-4,1]");
  EXPECT_EQ(Batch(R"({"aggregate": "v", "cursor": {}, "pipeline": [{"$group": {"_id": null,
                      "s": {"$sum": "$x"}}}]})"),
            R"([{"_id":null,"s":-3}])");
  ASSERT_EQ(Code(R"({"insert": "one", "documents": [{"_id": 2}]})"), 0);
  EXPECT_EQ(Batch(R"({"aggregate": "one", "cursor": {}, "pipeline": [{"$lookup": {"from": "v",
                      "localField": "_id", "foreignField": "_id", "as": "f"}}]})"),
            R"([{"_id":2,"f":[{"_id":2,"x":-4}]}])");
}

// A shard does not show what it does not own.
TEST_F(RouterTest, OrphansAreNotSeen) {
  cluster_->Place("o");
  ASSERT_EQ(Code(R"({"insert": "o", "documents": [{"_id": 1, "x": 3}, {"_id": 2, "x": -4}]})"), 0);
  cluster_->RunOnShard(cluster_->s0, R"({"insert": "o", "documents": [{"_id": 3, "x": 9}]})");
  EXPECT_EQ(Batch(R"({"find": "o", "sort": {"x": 1}})"), R"([{"_id":2,"x":-4},{"_id":1,"x":3}])");
  EXPECT_EQ(Count(R"({"count": "o", "query": {"x": {"$gt": -9}}})"), 2);
  EXPECT_EQ(Batch(R"({"aggregate": "o", "cursor": {}, "pipeline": [{"$group": {"_id": null,
                      "n": {"$sum": 1}}}]})"),
            R"([{"_id":null,"n":2}])");
}

TEST_F(RouterTest, PipelinesAreExplained) {
  cluster_->Place("e");
  for (const char* verbosity : {R"("queryPlanner")", R"("executionStats")"}) {
    EXPECT_EQ(Code(R"({"explain": {"aggregate": "e", "cursor": {}, "pipeline": [
                       {"$match": {"x": {"$gt": 0}}}, {"$group": {"_id": "$x"}}]}, "verbosity": )" +
                   std::string(verbosity) + "}"),
              0);
  }
  EXPECT_EQ(Code(R"({"aggregate": "e", "pipeline": [{"$match": {"x": 1}}], "explain": true})"), 0);
}

TEST_F(RouterTest, OneDocumentIsWrittenWithoutTheKey) {
  cluster_->Place("w");
  ASSERT_EQ(
      Code(
          R"({"insert": "w", "documents": [{"_id": 1, "x": 3, "a": 1}, {"_id": 2, "x": -4, "a": 1}]})"),
      0);
  EXPECT_EQ(Json(R"({"update": "w", "updates": [{"q": {"a": 1}, "u": {"$set": {"b": 1}}}]})"),
            R"({"n":1,"nModified":1,"ok":1.0})");
  EXPECT_EQ(Count(R"({"count": "w", "query": {"b": 1}})"), 1);
  EXPECT_EQ(
      Json(
          R"({"update": "w", "updates": [{"q": {"a": 1}, "u": {"$set": {"c": 1}}, "multi": true}]})"),
      R"({"n":2,"nModified":2,"ok":1.0})");
  EXPECT_EQ(Json(R"({"delete": "w", "deletes": [{"q": {"_id": 2}, "limit": 1}]})"),
            R"({"n":1,"ok":1.0})");
  EXPECT_EQ(
      Code(
          R"({"update": "w", "updates": [{"q": {"x": 9}, "u": {"$set": {"c": 1}}, "upsert": true}]})"),
      0);
  EXPECT_EQ(Count(R"({"count": "w"})"), 2);
}

}  // namespace
}  // namespace quire::router
