// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "command/testing/harness.h"

namespace quire::command {
namespace {

TEST(Crud, InsertFindUpdateDelete) {
  Node node;
  EXPECT_EQ(node.Json(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}]})"),
            R"({"n":2,"ok":1.0})");
  EXPECT_EQ(node.Batch(R"({"find": "c", "filter": {"a": {"$gt": 1}}})"), R"([{"_id":2,"a":2}])");
  EXPECT_EQ(
      node.Json(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"a": 5}}}]})"),
      R"({"n":1,"nModified":1,"ok":1.0})");
  EXPECT_EQ(node.Batch(R"({"find": "c", "filter": {"_id": 1}})"), R"([{"_id":1,"a":6}])");
  EXPECT_EQ(node.Json(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})"),
            R"({"n":2,"ok":1.0})");
  EXPECT_EQ(node.Json(R"({"count": "c"})"), R"({"n":0,"ok":1.0})");
}

TEST(Crud, UniqueIndexRefusesDuplicates) {
  Node node;
  EXPECT_EQ(node.Code(R"({"createIndexes": "c",
      "indexes": [{"key": {"a": 1}, "name": "a_1", "unique": true}]})"),
            0);
  EXPECT_EQ(node.Json(R"({"insert": "c", "ordered": false, "documents":
      [{"_id": 1, "a": 1}, {"_id": 2, "a": 1}, {"_id": 3, "a": 2}]})")
                .substr(0, 6),
            R"({"n":2)");
  EXPECT_EQ(node.Json(R"({"count": "c", "query": {}})"), R"({"n":2,"ok":1.0})");
}

TEST(Crud, OrderedBatchStopsAtTheFirstError) {
  Node node;
  bson::Document reply = node.Run(R"({"insert": "c", "documents":
      [{"_id": 1}, {"_id": 1}, {"_id": 2}]})");
  EXPECT_EQ(reply["n"].AsInt32(), 1);
  EXPECT_EQ(reply["writeErrors"].AsArray()["0"].AsDocument()["code"].AsInt32(), 11000);
  EXPECT_EQ(node.Json(R"({"count": "c"})"), R"({"n":1,"ok":1.0})");
}

TEST(Crud, UpsertMakesTheDocumentOfItsQuery) {
  Node node;
  node.Run(R"({"update": "c", "updates":
      [{"q": {"_id": 7, "a.b": 2}, "u": {"$set": {"c": 3}}, "upsert": true}]})");
  EXPECT_EQ(node.Batch(R"({"find": "c"})"), R"([{"_id":7,"a":{"b":2},"c":3}])");
}

TEST(Crud, GetMoreReadsOnFromTheCursor) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})");
  bson::Document first = node.Run(R"({"find": "c", "batchSize": 2})");
  int64_t id = first["cursor"].AsDocument()["id"].AsInt64();
  ASSERT_NE(id, 0);
  std::string more =
      R"({"getMore": {"$numberLong": ")" + std::to_string(id) + R"("}, "collection": "c"})";
  bson::Document second = node.Run(more);
  EXPECT_EQ(bson::ToJson(second["cursor"].AsDocument()["nextBatch"]), R"([{"_id":3}])");
  EXPECT_EQ(second["cursor"].AsDocument()["id"].AsInt64(), 0);
  EXPECT_EQ(node.Code(more), 43);
}

constexpr std::string_view kSession =
    R"("lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}})";

std::string InTransaction(std::string_view command, int number, bool start) {
  return std::string(command.substr(0, command.size() - 1)) + ", " + std::string(kSession) +
         R"(, "txnNumber": {"$numberLong": ")" + std::to_string(number) +
         R"("}, "autocommit": false)" + (start ? R"(, "startTransaction": true})" : "}");
}

TEST(Pipelines, ManyFiltersInARowAreOne) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "a": 5}, {"_id": 2, "a": 1}]})");
  std::string stages = R"({"$match": {"a": {"$gt": 2}}})";
  for (int i = 0; i < 900; ++i) {
    stages += R"(, {"$match": {"a": {"$ne": )" + std::to_string(100 + i) + "}}}";
  }
  EXPECT_EQ(node.Batch(R"({"aggregate": "c", "cursor": {}, "pipeline": [)" + stages + "]}"),
            R"([{"_id":1,"a":5}])");
}

TEST(Transactions, CommitShowsAllAbortShowsNothing) {
  Node node;
  node.Run(R"({"create": "c"})");
  EXPECT_EQ(node.Code(InTransaction(R"({"insert": "c", "documents": [{"_id": 1}]})", 1, true)), 0);
  EXPECT_EQ(node.Json(R"({"count": "c"})"), R"({"n":0,"ok":1.0})");
  EXPECT_EQ(node.Code(InTransaction(R"({"commitTransaction": 1})", 1, false), "admin"), 0);
  EXPECT_EQ(node.Json(R"({"count": "c"})"), R"({"n":1,"ok":1.0})");
  EXPECT_EQ(node.Code(InTransaction(R"({"insert": "c", "documents": [{"_id": 2}]})", 2, true)), 0);
  EXPECT_EQ(node.Code(InTransaction(R"({"abortTransaction": 1})", 2, false), "admin"), 0);
  EXPECT_EQ(node.Json(R"({"count": "c"})"), R"({"n":1,"ok":1.0})");
}

TEST(Transactions, ConflictingWriteIsTransient) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "a": 0}]})");
  EXPECT_EQ(
      node.Code(InTransaction(
          R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"a": 1}}}]})", 1, true)),
      0);
  std::string other =
      R"({"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAQ==", "subType": "04"}}})";
  bson::Document reply =
      node.Run(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"a": 1}}}],
      "lsid": )" +
               other + R"(, "txnNumber": {"$numberLong": "1"}, "autocommit": false,
      "startTransaction": true})");
  EXPECT_EQ(reply["code"].AsInt32(), 112);
  EXPECT_EQ(bson::ToJson(reply["errorLabels"]), R"(["TransientTransactionError"])");
}

// The answer of a write that had been run before under its number.
std::string AnsweredAgain(std::string answer) {
  answer.insert(answer.find(R"("ok":)"), R"("retriedStmtIds":[0],)");
  return answer;
}

TEST(RetryableWrites, TheSameNumberWritesOnce) {
  Node node;
  std::string update =
      R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"a": 1}}, "upsert": true}], )" +
      std::string(kSession) + R"(, "txnNumber": {"$numberLong": "5"}})";
  std::string first = node.Json(update);
  EXPECT_EQ(node.Json(update), AnsweredAgain(first));
  EXPECT_EQ(node.Batch(R"({"find": "c"})"), R"([{"_id":1,"a":1}])");
}

// A session that memory no longer knows is read back from the store, as after a restart.
TEST(RetryableWrites, AreRememberedByTheStore) {
  Node node;
  auto update = [](int number) {
    return R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"a": 1}}, "upsert": true}], )" +
           std::string(kSession) + R"(, "txnNumber": {"$numberLong": ")" + std::to_string(number) +
           R"("}})";
  };
  std::string first = node.Json(update(5));
  std::string session(kSession.substr(std::string_view(R"("lsid": )").size()));
  ASSERT_EQ(node.Code(R"({"endSessions": [)" + session + "]}"), 0);
  EXPECT_EQ(node.Json(update(5)), AnsweredAgain(first));
  ASSERT_EQ(node.Code(R"({"endSessions": [)" + session + "]}"), 0);
  EXPECT_EQ(node.Code(update(4)), 225);
  EXPECT_EQ(node.Batch(R"({"find": "c"})"), R"([{"_id":1,"a":1}])");
}

TEST(Capped, KeepsTheNewest) {
  Node node;
  node.Run(R"({"create": "c", "capped": true, "size": 4096, "max": 2})");
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})");
  EXPECT_EQ(node.Batch(R"({"find": "c"})"), R"([{"_id":2},{"_id":3}])");
}

TEST(Schema, UnknownCommandsAndFields) {
  Node node;
  EXPECT_EQ(node.Code(R"({"nosuch": 1})"), 59);
  EXPECT_EQ(node.Code(R"({"find": "c", "nosuch": 1})"), 40415);
  EXPECT_EQ(node.Code(R"({"find": "c", "filter": 5})"), 14);
  EXPECT_EQ(node.Code(R"({"renameCollection": "test.a", "to": "test.b"})"), 13);
}

struct RefusedCase {
  const char* command;
  int code;
};
const RefusedCase kRefused[] = {
    {R"({"findAndModify": "c", "remove": true, "hint": 1})", 9},
    {R"({"findAndModify": "c", "remove": true, "hint": null})", 9},
    {R"({"update": "c", "updates": [{"q": {}, "u": {}, "hint": 1}]})", 9},
    {R"({"delete": "c", "deletes": [{"q": {}, "limit": 1, "hint": true}]})", 9},
    {R"({"insert": "c", "documents": [{}], "writeConcern": {"w": {"$numberDouble": "NaN"}}})", 9},
    {R"({"findAndModify": "dollars", "update": {"$inc": {"$v": 1}}})", 52},
    {R"({"findAndModify": "dollars", "update": {"$unset": {"$v": 1}}})", 0},
    {R"({"count": "c", "readConcern": {"level": "snapshot"}})", 72},
    {R"({"create": "v", "viewOn": "c", "pipeline": [{"$out": "x"}]})", 167},
    {R"({"create": "v", "viewOn": "c", "pipeline": [{"$nosuch": 1}]})", 40324},
    {R"({"collMod": "view", "viewOn": "", "pipeline": []})", 2},
    // Views that would read themselves.
    {R"({"collMod": "view", "viewOn": "view", "pipeline": []})", 5},
    {R"({"collMod": "view", "viewOn": "over", "pipeline": []})", 5},
    {R"({"collMod": "view", "viewOn": "c", "pipeline": [{"$unionWith": "over"}]})", 5},
    {R"({"create": "self", "viewOn": "c", "pipeline": [{"$unionWith": "self"}]})", 5},
    {R"({"create": "self", "viewOn": "c", "pipeline": [{"$lookup": {"from": "self", "as": "x",
         "localField": "a", "foreignField": "a"}}]})",
     5},
    {R"({"create": "self", "viewOn": "c",
         "pipeline": [{"$facet": {"x": [{"$unionWith": "self"}]}}]})",
     5},
    {R"({"create": "twice", "viewOn": "c",
         "pipeline": [{"$unionWith": "over"}, {"$unionWith": "over"}]})",
     0},
    {R"({"collMod": "view", "viewOn": "c", "pipeline": [{"$merge": "x"}]})", 167},
    {R"({"aggregate": "c", "cursor": {}, "apiVersion": "1", "apiStrict": true,
         "pipeline": [{"$indexStats": {}}]})",
     323},
    {R"({"aggregate": "c", "cursor": {}, "apiVersion": "1", "apiStrict": true,
         "pipeline": [{"$collStats": {"storageStats": {}}}]})",
     323},
    {R"({"aggregate": "c", "cursor": {}, "apiVersion": "1", "apiStrict": true,
         "pipeline": [{"$collStats": {"count": {}}}]})",
     0},
    // A view is read with its own collation.
    {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$unionWith": "french"}]})", 167},
    {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$unionWith": "french"}],
         "collation": {"locale": "fr"}})",
     0},
    {R"({"create": "i", "changeStreamPreAndPostImages": {}})", 40414},
    {R"({"create": "i", "changeStreamPreAndPostImages": {"enabled": 1}})", 14},
    {R"({"create": "i", "changeStreamPreAndPostImages": {"enabled": true, "x": 1}})", 40415},
    {R"({"create": "i", "viewOn": "c", "changeStreamPreAndPostImages": {"enabled": true}})", 72},
    {R"({"collMod": "c", "changeStreamPreAndPostImages": {"enabled": "yes"}})", 14},
    {R"({"explain": {"insert": "c", "documents": []}})", 20},
    {R"({"explain": {}})", 59},
    {R"({"explain": {"aggregate": "c", "pipeline": [], "writeConcern": {"w": 1}}})", 9},
    {R"({"aggregate": "c", "pipeline": [], "explain": true, "writeConcern": {"w": 1}})", 9},
    {R"({"explain": null})", 40414},
};

TEST(Schema, RefusesWhatMongoDBRefuses) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  node.Run(R"({"insert": "dollars", "documents": [{"_id": 1, "$v": 1}]})");
  node.Run(R"({"create": "view", "viewOn": "c", "pipeline": []})");
  node.Run(R"({"create": "over", "viewOn": "view", "pipeline": []})");
  node.Run(R"({"create": "french", "viewOn": "c", "pipeline": [],
               "collation": {"locale": "fr"}})");
  for (const RefusedCase& c : kRefused) {
    EXPECT_EQ(node.Code(c.command), c.code) << c.command;
  }
}

TEST(Schema, ValidateFindsIndexesEqualToDocuments) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "a": [1, 2]}, {"_id": 2, "a": 3}]})");
  node.Run(R"({"createIndexes": "c", "indexes": [{"key": {"a": -1}, "name": "a_-1"}]})");
  node.Run(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$push": {"a": 9}}}]})");
  bson::Document reply = node.Run(R"({"validate": "c"})");
  EXPECT_TRUE(reply["valid"].AsBool()) << bson::ToJson(reply);
  EXPECT_EQ(reply["keysPerIndex"].AsDocument()["a_-1"].AsInt32(), 4);
}

TEST(Schema, StatisticsOfAViewAreRefused) {
  Node node;
  node.Run(R"({"create": "v", "viewOn": "c", "pipeline": []})");
  EXPECT_EQ(node.Code(R"({"aggregate": "v", "cursor": {},
      "pipeline": [{"$collStats": {"storageStats": {}}}]})"),
            166);
  EXPECT_EQ(node.Code(R"({"collStats": "v"})"), 166);
}

class Ttl : public testing::TestWithParam<const char*> {};

TEST_P(Ttl, ExpiresOldDocuments) {
  Node node;
  node.Run(R"({"createIndexes": "c", "indexes":
      [{"key": {"t": 1}, "name": "t_1", "expireAfterSeconds": 60, "hidden": )" +
           std::string(GetParam()) + "}]}");
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "t": {"$date": "2001-01-01T00:00:00Z"}},
      {"_id": 2, "t": {"$date": "2101-01-01T00:00:00Z"}}, {"_id": 3, "t": 5}, {"_id": 4}]})");
  node.engine().RunTtlPass();
  EXPECT_EQ(node.Batch(R"({"find": "c", "projection": {"_id": 1}})"),
            R"([{"_id":2},{"_id":3},{"_id":4}])");
  EXPECT_EQ(node.Code(R"({"find": "c", "hint": "t_1"})"),
            GetParam() == std::string("true") ? 2 : 0);
}

INSTANTIATE_TEST_SUITE_P(HiddenOrNot, Ttl, testing::Values("false", "true"));

TEST(Crud, HintsReachTheCollectionOfAView) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2}]})");
  node.Run(
      R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1", "sparse": true}]})");
  node.Run(R"({"create": "v", "viewOn": "c", "pipeline": []})");
  EXPECT_EQ(node.Json(R"({"count": "v", "hint": "a_1"})"), R"({"n":1,"ok":1.0})");
  EXPECT_EQ(node.Batch(R"({"find": "v", "hint": {"a": 1}})"), R"([{"_id":1,"a":1}])");
  EXPECT_EQ(node.Json(R"({"distinct": "v", "key": "_id", "hint": "a_1"})"),
            R"({"values":[1],"ok":1})");
  for (const char* read :
       {R"({"count": "v", "hint": "nosuch"})", R"({"find": "v", "hint": "nosuch"})",
        R"({"distinct": "v", "key": "a", "hint": {"z": 1}})"}) {
    EXPECT_EQ(node.Code(read), 2) << read;
  }
}

TEST(Crud, StatementsOfACommandShareTheirNow) {
  Node node;
  constexpr int kStatements = 2000;  // takes some milliseconds
  std::string updates;
  for (int i = 0; i < kStatements; ++i) {
    updates += (i == 0 ? "" : ", ") + (R"({"q": {"_id": )" + std::to_string(i)) +
               R"(}, "u": [{"$set": {"t": "$$NOW"}}], "upsert": true})";
  }
  node.Run(R"({"update": "c", "updates": [)" + updates + "]}");
  bson::Document times = node.Run(R"({"distinct": "c", "key": "t"})");
  EXPECT_EQ(times["values"].AsArray().Count(), 1u);
}

TEST(Crud, MergePipelinesKnowTheVariablesOfTheCommand) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "x": 5}]})");
  node.Run(R"({"insert": "to", "documents": [{"_id": 1}]})");
  auto merge = [&](const std::string& let) {
    return node.Code(R"({"aggregate": "c", "cursor": {}, "let": {"v": 7, "w": 8}, "pipeline": [
        {"$merge": {"into": "to", )" +
                     let + R"( "whenMatched": [{"$set": {"v": "$$v", "w": "$$w"}}]}}]})");
  };
  EXPECT_EQ(merge(""), 0);
  EXPECT_EQ(node.Batch(R"({"find": "to"})"), R"([{"_id":1,"v":7,"w":8}])");
  EXPECT_EQ(merge(R"("let": {"v": "$x"},)"), 0);
  EXPECT_EQ(node.Batch(R"({"find": "to"})"), R"([{"_id":1,"v":5,"w":8}])");
}

// A write that finds its collection and loses it to a drop is run as if it had come later.
TEST(Crud, WritesDoNotFailBecauseOfDrops) {
  Node node;
  std::atomic<bool> done{false};
  std::thread dropping([&] {
    request::Client client;
    while (!done) {
      node.RunAs(client, R"({"drop": "c"})", "test");
      node.RunAs(client, R"({"renameCollection": "test.c", "to": "test.d", "dropTarget": true})",
                 "admin");
    }
  });
  std::vector<std::thread> writing;
  for (const char* command :
       {R"({"insert": "c", "documents": [{}, {}]})",
        R"({"update": "c", "updates": [{"q": {"a": 1}, "u": {"$inc": {"n": 1}}, "upsert": true}]})",
        R"({"update": "c", "updates": [{"q": {}, "u": {"$inc": {"n": 1}}, "multi": true}]})",
        R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})"}) {
    writing.emplace_back([&node, command] {
      request::Client client;
      for (int i = 0; i < 100; ++i) {
        bson::Document reply = node.RunAs(client, command, "test");
        EXPECT_EQ(reply["ok"].AsDouble(), 1) << bson::ToJson(reply.view());
        EXPECT_FALSE(reply.view().Has("writeErrors")) << bson::ToJson(reply.view());
      }
    });
  }
  for (std::thread& thread : writing) {
    thread.join();
  }
  done = true;
  dropping.join();
}

TEST(Crud, CountAndDistinctDoNotKnowTheTime) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "a": "$$NOW"}]})");
  const std::string now = R"("query": {"$expr": {"$gt": ["$$NOW", "$a"]}}})";
  EXPECT_EQ(node.Code(R"({"count": "c", )" + now), 51144);
  EXPECT_EQ(node.Code(R"({"distinct": "c", "key": "a", )" + now), 51144);
  for (const char* name : {"listCollections", "listDatabases"}) {
    EXPECT_EQ(node.Code(R"({")" + std::string(name) +
                            R"(": 1, "filter": {"$expr": {"$eq": ["$$CLUSTER_TIME", 1]}}})",
                        "admin"),
              51144)
        << name;
  }
  EXPECT_EQ(node.Json(R"({"count": "c", "query": {"a": "$$NOW"}})"), R"({"n":1,"ok":1.0})");
}

TEST(Crud, ATailableCursorHasOneTime) {
  Node node;
  node.Run(R"({"create": "log", "capped": true, "size": 10000})");
  node.Run(R"({"insert": "log", "documents": [{"_id": 1}]})");
  bson::Document batch = node.Run(R"({"find": "log", "tailable": true, "batchSize": 1,
      "projection": {"_id": 0, "t": "$$CLUSTER_TIME"}})");
  const std::string first = bson::ToJson(batch["cursor"].AsDocument()["firstBatch"].AsArray()["0"]);
  const int64_t id = batch["cursor"].AsDocument()["id"].AsInt64();
  node.Run(R"({"insert": "log", "documents": [{"_id": 2}]})");
  batch = node.Run(R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
                   R"("}, "collection": "log"})");
  EXPECT_EQ(bson::ToJson(batch["cursor"].AsDocument()["nextBatch"].AsArray()["0"]), first);
}

TEST(Crud, AnUpdateHasOneClusterTime) {
  Node node;
  const auto times = [&](const std::string& command, std::string_view database) {
    node.Run(R"({"drop": "c"})");
    EXPECT_EQ(node.Code(command, database), 0) << command;
    const bson::Document found = node.Run(R"({"distinct": "c", "key": "t"})");
    return found["values"].AsArray().Count();
  };
  const std::string pipeline = R"([{"$set": {"t": "$$CLUSTER_TIME"}}], "upsert": true})";
  EXPECT_EQ(times(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": )" + pipeline +
                      R"(, {"q": {"_id": 2}, "u": )" + pipeline + "]}",
                  "test"),
            1U);
  EXPECT_EQ(times(R"({"bulkWrite": 1, "nsInfo": [{"ns": "test.c"}], "ops": [
                      {"update": 0, "filter": {"_id": 1}, "updateMods": )" +
                      pipeline + R"(, {"update": 0, "filter": {"_id": 2}, "updateMods": )" +
                      pipeline + "]}",
                  "admin"),
            2U);
  const std::string modifier =
      R"({"$currentDate": {"t": {"$type": "timestamp"}}}, "upsert": true})";
  EXPECT_EQ(times(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": )" + modifier +
                      R"(, {"q": {"_id": 2}, "u": )" + modifier + "]}",
                  "test"),
            2U);
}

TEST(Crud, DistinctOfAViewIsOkAsAnInteger) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  node.Run(R"({"create": "v", "viewOn": "c"})");
  EXPECT_EQ(node.Json(R"({"distinct": "c", "key": "_id"})"), R"({"values":[1],"ok":1.0})");
  EXPECT_EQ(node.Json(R"({"distinct": "v", "key": "_id"})"), R"({"values":[1],"ok":1})");
}

TEST(Crud, LetMayRebindTheCurrentDocument) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "a": 2}]})");
  EXPECT_EQ(node.Batch(R"({"aggregate": "c", "cursor": {}, "let": {"CURRENT": {"a": 5}},
      "pipeline": [{"$project": {"x": "$a", "y": "$$CURRENT.a", "z": "$$ROOT.a",
                                 "l": {"$let": {"vars": {"CURRENT": "$$ROOT"}, "in": "$a"}}}}]})"),
            R"([{"_id":1,"x":5,"y":5,"z":2,"l":2}])");
}

TEST(Crud, PipelinesKnowTheKeyOfTheIndex) {
  Node node;
  node.Run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1, "b": 1}, "name": "ab"}]})");
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "a": [1, 2], "b": 3, "c": 4}]})");
  auto key = [&](std::string_view filter) {
    return node.Batch(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$match": )" +
                      std::string(filter) +
                      R"(}, {"$project": {"_id": 1, "k": {"$meta": "indexKey"}}}]})");
  };
  EXPECT_EQ(key(R"({"a": 2})"), R"([{"_id":1,"k":{"a":2,"b":3}}])");
  EXPECT_EQ(key(R"({"c": 4})"), R"([{"_id":1}])");
}

TEST(Crud, DensifiedRowsHaveTheFieldsOfTheRowAfterThem) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "k": "a", "n": 0},
      {"_id": 2, "k": "A", "n": 2}]})");
  EXPECT_EQ(node.Batch(R"({"aggregate": "c", "cursor": {}, "collation": {"locale": "en",
      "strength": 1}, "pipeline": [{"$densify": {"field": "n", "partitionByFields": ["k"],
      "range": {"step": 1, "bounds": "partition"}}}]})"),
            R"([{"_id":1,"k":"a","n":0},{"k":"A","n":1},{"_id":2,"k":"A","n":2}])");
}

TEST(Crud, UnacknowledgedWritesSayNothing) {
  Node node;
  EXPECT_EQ(node.Json(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 1}],
      "writeConcern": {"w": 0}})"),
            R"({"n":0,"ok":1.0})");
  EXPECT_EQ(node.Json(R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}],
      "writeConcern": {"w": 0}})"),
            R"({"n":0,"nModified":0,"ok":1.0})");
  EXPECT_EQ(node.Batch(R"({"find": "c"})"), R"([{"_id":1,"a":1}])");
  EXPECT_EQ(node.Json(R"({"delete": "c", "deletes": [{"q": {}, "limit": 1}],
      "writeConcern": {"w": 0, "j": true}})"),
            R"({"n":1,"ok":1.0})");
}

TEST(Crud, AReplacementWithoutAnIdAlwaysModifies) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}]})");
  auto replaced = [&](std::string_view by) {
    return node.Json(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": )" + std::string(by) +
                     "}]}");
  };
  EXPECT_EQ(replaced(R"({"a": 1})"), R"({"n":1,"nModified":1,"ok":1.0})");
  EXPECT_EQ(replaced(R"({"_id": 1, "a": 1})"), R"({"n":1,"nModified":0,"ok":1.0})");
  EXPECT_EQ(replaced(R"({"a": 1, "_id": 1})"), R"({"n":1,"nModified":1,"ok":1.0})");
  EXPECT_EQ(node.Batch(R"({"find": "c"})"), R"([{"_id":1,"a":1}])");
}

TEST(Near, WithoutAnIndexNamesTheField) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "at": [1, 2]}]})");
  bson::Document reply = node.Run(
      R"({"find": "c", "filter": {"x": 1, "at": {"$nearSphere": [0, 0], "$maxDistance": 0.5}}})");
  EXPECT_EQ(reply["code"].AsInt32(), 291);
  EXPECT_EQ(reply["errmsg"].AsString(),
            "error processing query: ns=test.cTree: GEONEAR  field=at maxdist=0.5 isNearSphere=1\n"
            "Sort: {}\nProj: {}\n planner returned error :: caused by :: unable to find index for "
            "$geoNear query");
  bson::Document unlimited =
      node.Run(R"({"find": "c", "filter": {"at": {"$near": [0, 0]}}, "sort": {"x": 1}})");
  EXPECT_NE(unlimited["errmsg"].AsString().find(
                "field=at maxdist=1.79769e+308 isNearSphere=0\nSort: {\"x\":1}\n"),
            std::string_view::npos)
      << unlimited["errmsg"].AsString();
}

TEST(Near, AMatchThatSaysNothingMayComeFirst) {
  Node node;
  node.Run(R"({"createIndexes": "c", "indexes": [{"key": {"at": "2d"}, "name": "at"}]})");
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "at": [0, 3]}]})");
  auto stages = [](std::string_view before) {
    return R"({"aggregate": "c", "cursor": {}, "pipeline": [)" + std::string(before) +
           R"({"$geoNear": {"near": [0, 0], "distanceField": "d"}}, {"$project": {"d": 1}}]})";
  };
  EXPECT_EQ(node.Batch(stages("")), R"([{"_id":1,"d":3.0}])");
  EXPECT_EQ(node.Batch(stages(R"({"$match": {}}, {"$match": {}}, )")), R"([{"_id":1,"d":3.0}])");
  EXPECT_EQ(node.Code(stages(R"({"$match": {"_id": 1}}, )")), 40603);
}

TEST(Near, HasItsOwnOrder) {
  Node node;
  node.Run(R"({"createIndexes": "c", "indexes": [{"key": {"at": "2d"}, "name": "at"}]})");
  EXPECT_EQ(node.Code(R"({"aggregate": "c", "cursor": {}, "hint": {"$natural": 1}, "pipeline": [
      {"$geoNear": {"near": [0, 0], "distanceField": "d"}}]})"),
            2);
  const std::string find = R"({"find": "c", "filter": {"at": {"$near": [0, 0]}}, )";
  EXPECT_EQ(node.Code(find + R"("sort": {"$natural": 1}})"), 2);
  EXPECT_EQ(node.Code(find + R"("hint": {"$natural": 1}})"), 2);
  EXPECT_EQ(node.Code(find + R"("hint": "at"})"), 0);
}

// A process that ended within an $out has left what it had written.
TEST(Crud, OutStartsAfresh) {
  Node node;
  EXPECT_EQ(node.Code(R"({"insert": "tmp.agg_out.1", "documents": [{"_id": "left"}]})"), 0);
  EXPECT_EQ(node.Code(R"({"insert": "from", "documents": [{"_id": 1}]})"), 0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(node.Code(R"({"aggregate": "from", "pipeline": [{"$out": "into"}], "cursor": {}})"),
              0);
  }
  EXPECT_EQ(node.Batch(R"({"find": "into"})"), R"([{"_id":1}])");
  EXPECT_EQ(node.Batch(R"({"listCollections": 1, "filter": {"name": {"$regex": "^tmp"}}})"), "[]");
}

// What another member collects is left alone until it is a day old.
TEST(Crud, OutRemovesWhatAnotherMemberHasLeft) {
  Node node;
  const std::string fresh = "tmp.agg_far." + bson::ObjectId::Generate().ToHex();
  for (const std::string& name : {std::string("tmp.agg_far.500000000000000000000000"), fresh,
                                  std::string("tmp.agg_far.x"), std::string("from")}) {
    EXPECT_EQ(node.Code(R"({"insert": ")" + name + R"(", "documents": [{"_id": 1}]})"), 0);
  }
  EXPECT_EQ(node.Code(R"({"aggregate": "from", "pipeline": [{"$out": "into"}], "cursor": {}})"), 0);
  const bson::Document listed = node.Run(
      R"({"listCollections": 1, "nameOnly": true, "filter": {"name": {"$regex": "^tmp"}}})");
  std::vector<std::string> left;
  for (const bson::Element& e : listed["cursor"].AsDocument()["firstBatch"].AsArray()) {
    left.emplace_back(e.value().AsDocument()["name"].AsString());
  }
  EXPECT_THAT(left, testing::UnorderedElementsAre(fresh, "tmp.agg_far.x"));
}

}  // namespace
}  // namespace quire::command
