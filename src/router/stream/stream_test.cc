// SPDX-License-Identifier: Apache-2.0
//
// Change streams of a router over two shards in one process.
#include "router/stream/stream.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/error_codes.h"
#include "base/memory_charge.h"
#include "router/testing/cluster.h"

namespace quire::router {
namespace {

class StreamTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new Cluster;
    cluster_->Place("c");
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  static Cluster* cluster_;

  // An open stream and what it has given.
  struct Stream {
    int64_t id = 0;
    std::string collection;
    std::string database;
    std::string token;  // the last postBatchResumeToken
    std::vector<bson::Document> events;
  };

  static void Take(const bson::Document& reply, Stream* stream) {
    ASSERT_TRUE(reply["cursor"].is_document()) << bson::ToJson(reply);
    const bson::View cursor = reply["cursor"].AsDocument();
    stream->id = cursor["id"].AsInt64();
    const std::string ns(cursor["ns"].AsString());
    stream->database = ns.substr(0, ns.find('.'));
    stream->collection = ns.substr(ns.find('.') + 1);
    stream->token = bson::ToJson(cursor["postBatchResumeToken"]);
    const bson::Value first = cursor["firstBatch"];
    for (const bson::Element& e : (first.missing() ? cursor["nextBatch"] : first).AsArray()) {
      stream->events.emplace_back(e.value().AsDocument());
    }
  }
  static Stream Open(const std::string& options = "", const std::string& target = "\"c\"",
                     std::string_view database = "db", const std::string& more = "") {
    Stream stream;
    Take(cluster_->Run("{\"aggregate\": " + target + ", \"pipeline\": [{\"$changeStream\": {" +
                           options + "}}" + more + "], \"cursor\": {}}",
                       database),
         &stream);
    return stream;
  }
  // Reads until there are so many events.
  static void Read(Stream* stream, size_t count) {
    for (int i = 0; i < 60 && stream->events.size() < count && stream->id != 0; ++i) {
      Take(cluster_->Run("{\"getMore\": {\"$numberLong\": \"" + std::to_string(stream->id) +
                             "\"}, \"collection\": \"" + stream->collection +
                             "\", \"maxTimeMS\": 500}",
                         stream->database),
           stream);
    }
    EXPECT_EQ(stream->events.size(), count);
  }
  static std::string Types(const Stream& stream) {
    std::string types;
    for (const bson::Document& event : stream.events) {
      types +=
          std::string(types.empty() ? "" : " ") + std::string(event["operationType"].AsString());
      if (event["documentKey"].is_document()) {
        types += ":" + bson::ToJson(event["documentKey"].AsDocument()["_id"]);
      }
    }
    return types;
  }
  static void Insert(int id, int x) {
    EXPECT_EQ(cluster_->Code("{\"insert\": \"c\", \"documents\": [{\"_id\": " + std::to_string(id) +
                             ", \"x\": " + std::to_string(x) + "}]}"),
              0);
  }
  static void Close(const Stream& stream) {
    cluster_->Run("{\"killCursors\": \"" + stream.collection +
                      "\", \"cursors\": [{\"$numberLong\": \"" + std::to_string(stream.id) +
                      "\"}]}",
                  stream.database);
  }
};
Cluster* StreamTest::cluster_ = nullptr;

TEST_F(StreamTest, EventsOfAllShardsInTheirOrder) {
  Insert(100, -1);
  Stream stream = Open();
  EXPECT_TRUE(stream.events.empty());
  for (int i = 1; i <= 6; ++i) {
    Insert(i, i % 2 == 0 ? i : -i);
  }
  Read(&stream, 6);
  EXPECT_EQ(Types(stream), "insert:1 insert:2 insert:3 insert:4 insert:5 insert:6");
  Close(stream);
}

TEST_F(StreamTest, EventsThatWaitInTheRouterCountAsMemory) {
  const int64_t before = OperationMemory().held.load();
  Stream stream = Open();
  for (int i = 1031; i <= 1035; ++i) {
    EXPECT_EQ(cluster_->Code(R"({"insert": "c", "documents": [{"_id": )" + std::to_string(i) +
                             R"(, "x": 1, "s": ")" + std::string(200'000, 'x') + "\"}]}"),
              0);
  }
  const std::string more = R"({"getMore": {"$numberLong": ")" + std::to_string(stream.id) +
                           R"("}, "collection": "c", "batchSize": 1, "maxTimeMS": 5000})";
  EXPECT_EQ(cluster_->Code(more), 0);
  EXPECT_GT(OperationMemory().held.load(), before + 100'000);
  Close(stream);
}

TEST_F(StreamTest, OneShardAloneIsSeenWithoutTheOthers) {
  Stream stream = Open();
  Insert(11, 5);
  Read(&stream, 1);
  Insert(12, 5);
  Read(&stream, 2);
  EXPECT_EQ(Types(stream), "insert:11 insert:12");
  Close(stream);
}

TEST_F(StreamTest, GoesOnBehindAnyEvent) {
  Stream stream = Open();
  for (int i = 21; i <= 24; ++i) {
    Insert(i, i % 2 == 0 ? i : -i);
  }
  Read(&stream, 4);
  for (size_t i = 0; i < 4; ++i) {
    const std::string token = bson::ToJson(stream.events[i]["_id"]);
    Stream again = Open("\"resumeAfter\": " + token);
    Read(&again, 3 - i);
    EXPECT_EQ(Types(again), Types(stream).substr(std::min(Types(stream).size(), (i + 1) * 10)));
    Close(again);
  }
  Stream later = Open("\"startAfter\": " + stream.token);
  Insert(25, 3);
  Read(&later, 1);
  EXPECT_EQ(Types(later), "insert:25");
  Close(later);
  Close(stream);
}

TEST_F(StreamTest, AnUnknownEventIsAnError) {
  Stream stream = Open();
  Insert(31, 1);
  Insert(32, -1);
  Read(&stream, 2);
  std::string token = bson::ToJson(stream.events[0]["_id"]);
  const size_t uuid = token.find("5A1004") + 6;
  token[uuid] = token[uuid] == '0' ? '1' : '0';  // of another collection
  bson::Document reply = cluster_->Run(
      "{\"aggregate\": \"c\", \"pipeline\": [{\"$changeStream\": {\"resumeAfter\": " + token +
      "}}], \"cursor\": {}}");
  if (reply["ok"].AsDouble() == 1) {
    const int64_t id = reply["cursor"].AsDocument()["id"].AsInt64();
    for (int i = 0; i < 20 && reply["ok"].AsDouble() == 1; ++i) {
      reply = cluster_->Run("{\"getMore\": {\"$numberLong\": \"" + std::to_string(id) +
                            "\"}, \"collection\": \"c\", \"maxTimeMS\": 500}");
    }
  }
  EXPECT_EQ(reply["ok"].AsDouble(), 0);
  Close(stream);
}

TEST_F(StreamTest, OfADatabaseAndOfTheCluster) {
  Stream database = Open("", "1");
  Stream cluster = Open("\"allChangesForCluster\": true", "1", "admin");
  Insert(41, -1);
  EXPECT_EQ(cluster_->Code(R"({"insert": "plain", "documents": [{"_id": 42}]})"), 0);
  EXPECT_EQ(cluster_->Code(R"({"insert": "plain", "documents": [{"_id": 43}]})", "other"), 0);
  Insert(44, 1);
  Read(&database, 3);
  EXPECT_EQ(Types(database), "insert:41 insert:42 insert:44");
  Read(&cluster, 4);
  EXPECT_EQ(Types(cluster), "insert:41 insert:42 insert:43 insert:44");
  Close(database);
  Close(cluster);
}

TEST_F(StreamTest, ShardsRunTheRestOfThePipeline) {
  Stream stream = Open(
      "\"fullDocument\": \"updateLookup\"", "\"c\"", "db",
      R"(, {"$match": {"operationType": "update"}}, {"$project": {"operationType": 1, "documentKey": 1, "fullDocument.n": 1}})");
  Insert(51, -1);
  Insert(52, 1);
  EXPECT_EQ(
      cluster_->Code(
          R"({"update": "c", "updates": [{"q": {"_id": {"$in": [51, 52]}}, "u": {"$set": {"n": 7}}, "multi": true}]})"),
      0);
  Read(&stream, 2);
  for (const bson::Document& event : stream.events) {
    EXPECT_EQ(bson::ToJson(event["fullDocument"]), R"({"n":7})");
  }
  Close(stream);
}

TEST_F(StreamTest, WaitsNoLongerThanItIsAllowed) {
  Stream stream = Open();
  const auto begin = std::chrono::steady_clock::now();
  Take(cluster_->Run("{\"getMore\": {\"$numberLong\": \"" + std::to_string(stream.id) +
                     "\"}, \"collection\": \"c\", \"maxTimeMS\": 20}"),
       &stream);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_TRUE(stream.events.empty());
  Close(stream);
}

TEST_F(StreamTest, WhatOnlyRoutersSayIsRefused) {
  EXPECT_EQ(
      cluster_->Code(
          R"({"aggregate": "c", "pipeline": [{"$changeStream": {"$_merged": true}}], "cursor": {}})"),
      40415);
  EXPECT_EQ(
      cluster_->Code(R"({"aggregate": "c", "pipeline": [{"$changeStream": {}}], "cursor": {}})",
                     "config"),
      kInvalidNamespace);
}

}  // namespace
}  // namespace quire::router
