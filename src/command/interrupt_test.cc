// SPDX-License-Identifier: Apache-2.0
//
// Work without end is ended: by maxTimeMS and by killOp, wherever the work is done.
#include <atomic>
#include <thread>

#include "base/error_codes.h"
#include "command/testing/harness.h"

namespace quire::command {

namespace {

// Documents enough that no pairing of them ends.
void Fill(Node& node) {
  std::string documents;
  for (int i = 0; i < 3000; ++i) {
    documents += (i == 0 ? "" : ", ");
    documents += R"({"a": )" + std::to_string(i % 10) + R"(, "t": [1, 2, 3]})";
  }
  node.Run(R"({"insert": "c", "documents": [)" + documents + "]}");
  node.Run(R"({"insert": "one", "documents": [{"_id": 1, "a": 1}]})");
  std::string text(100'000, 'a');
  node.Run(R"({"insert": "text", "documents": [{"_id": 1, "s": ")" + text + R"("}]})");
}

std::string Repeated(const std::string& text, int times, const std::string& between = ", ") {
  std::string all;
  for (int i = 0; i < times; ++i) {
    all += (i == 0 ? "" : between) + text;
  }
  return all;
}

std::string Aggregate(const std::string& collection, const std::string& stages) {
  return R"({"aggregate": ")" + collection + R"(", "cursor": {}, "pipeline": [)" + stages + "]}";
}

// Loops of 10,000 inside one another, as deep as asked.
std::string Loops(int depth) {
  return depth == 0 ? "1"
                    : R"({"$sum": {"$map": {"input": {"$range": [0, 10000]}, "in": )" +
                          Loops(depth - 1) + "}}}";
}

struct Case {
  const char* name;
  std::string command;
};

std::vector<Case> Cases() {
  const std::string cross =
      R"({"$lookup": {"from": "c", "pipeline": [{"$match": {"$expr": {"$gt": [{"$add": ["$a", 1]}, 0]}}}],
          "as": "z"}})";
  const std::string unwound = cross + R"(, {"$unwind": "$z"})";
  const std::string rows = Repeated(unwound, 3);
  const std::string huge_array = R"({"$map": {"input": {"$range": [0, 900000]}, "in":
          {"$mod": [{"$multiply": ["$$this", 7919]}, 1000003]}}})";
  return {
      {"loops", Aggregate("one", R"({"$set": {"x": )" + Loops(6) + "}}")},
      {"constants", Aggregate("none", R"({"$set": {"x": {"$size": {"$setUnion": [
          {"$range": [0, 900000]}, {"$range": [900000, 0, -1]}]}}}})")},
      {"$reduce", Aggregate("c", R"({"$set": {"x": {"$reduce": {"input": {"$range": [0, 900000]},
          "initialValue": 0, "in": {"$add": ["$$value", "$$this", "$a"]}}}}})")},
      {"$expr", R"({"count": "c", "query": {"$expr": {"$eq": [-1, )" + Loops(5) + "]}}}"},
      {"rows of joins", Aggregate("c", rows + R"(, {"$count": "n"})")},
      {"$sort", Aggregate("c", rows + R"(, {"$sort": {"z._id": 1}}, {"$count": "n"})")},
      {"$group", Aggregate("c", rows + R"(, {"$group": {"_id": "$z.a", "n": {"$sum": 1}}})")},
      {"$facet", Aggregate("c", rows + R"(, {"$facet": {"x": [{"$count": "n"}]}})")},
      {"$bucketAuto",
       Aggregate("c", rows + R"(, {"$bucketAuto": {"groupBy": "$z", "buckets": 3}})")},
      {"$setWindowFields",
       Aggregate("c", rows + R"(, {"$setWindowFields": {"sortBy": {"z._id": 1}, "output": {"x":
          {"$push": "$a", "window": {"documents": ["unbounded", "unbounded"]}}}}}, {"$count": "n"})")},
      {"$densify", Aggregate("one", R"({"$densify": {"field": "a", "range": {"step": 0.000001,
          "bounds": [0, 1000000]}}}, {"$count": "n"})")},
      {"$unionWith", Aggregate("c", R"({"$unionWith": {"coll": "c", "pipeline": [)" + rows +
                                        R"(]}}, {"$count": "n"})")},
      {"$graphLookup", Aggregate("c", rows + R"(, {"$graphLookup": {"from": "c", "startWith": "$a",
          "connectFromField": "a", "connectToField": "a", "as": "g"}}, {"$count": "n"})")},
      {"$sortArray", Aggregate("c", R"({"$set": {"x": {"$size": {"$sortArray": {"input": )" +
                                        huge_array + R"(, "sortBy": 1}}}}})")},
      {"$setUnion", Aggregate("c", R"({"$set": {"x": {"$size": {"$setUnion": [)" + huge_array +
                                       R"(, "$t"]}}}})")},
      {"large documents",
       Aggregate("c",
                 Repeated(R"({"$replaceRoot": {"newRoot": {"a": "$$ROOT", "b": "$$ROOT"}}})", 15) +
                     ", " + Repeated(R"({"$replaceRoot": {"newRoot": {"a": "$$ROOT"}}})", 80))},
      {"$out", Aggregate("c", rows + R"(, {"$project": {"_id": 0}}, {"$out": "out"})")},
      {"$merge",
       Aggregate("c", rows + R"(, {"$project": {"_id": "$z._id"}}, {"$merge": "merged"})")},
      {"$regexMatch",
       Aggregate("text",
                 R"({"$set": {"x": {"$regexMatch": {"input": "$s", "regex": "a*a*[bc]"}}}})")},
      {"$regex", R"({"find": "text", "filter": {"s": {"$regex": "a*a*[bc]"}}})"},
      {"$jsonSchema", R"({"find": "text", "filter": {"$jsonSchema": {"properties":
          {"s": {"pattern": "a*a*[bc]"}}}}})"},
      {"$where", R"({"find": "c", "filter": {"$where": "for (;;) {}"}})"},
      {"$function",
       Aggregate("c", R"({"$set": {"x": {"$function": {"body": "function () { for (;;) {} }",
          "args": [], "lang": "js"}}}})")},
      {"mapReduce", R"({"mapReduce": "c", "map": "function () { for (;;) {} }",
          "reduce": "function (k, v) { return 1; }", "out": {"inline": 1}})"},
      {"update", R"({"update": "c", "updates": [{"q": {"$expr": {"$eq": [-1, )" + Loops(5) +
                     R"(]}}, "u": {"$set": {"x": 1}}}]})"},
      {"pipeline of an update",
       R"({"update": "one", "updates": [{"q": {}, "u": [{"$set": {"x": )" + Loops(6) + "}}]}]}"},
      {"delete", R"({"delete": "c", "deletes": [{"q": {"$where": "for (;;) {}"}, "limit": 0}]})"},
      {"findAndModify",
       R"({"findAndModify": "c", "query": {"$where": "for (;;) {}"}, "remove": true})"},
      {"distinct", R"({"distinct": "c", "key": "a", "query": {"$where": "for (;;) {}"}})"},
      {"wide windows",
       Aggregate("one", R"({"$set": {"n": {"$range": [0, 8000]}}}, {"$unwind": "$n"},
          {"$setWindowFields": {"sortBy": {"n": 1}, "output": {"x": {"$minN": {"input": "$n", "n": 2},
              "window": {"documents": [-3000, 3000]}}}}}, {"$sort": {"x": -1}})")},
      {"explain", R"({"explain": )" + Aggregate("c", rows) + R"(, "verbosity": "executionStats"})"},
  };
}

std::string WithLimit(const std::string& command, int64_t millis) {
  return command.substr(0, command.size() - 1) + R"(, "maxTimeMS": )" + std::to_string(millis) +
         "}";
}

TEST(InterruptTest, TimeLimitEndsWorkWithoutEnd) {
  Node node;
  Fill(node);
  for (const Case& c : Cases()) {
    bson::Document reply = node.Run(WithLimit(c.command, 30));
    bson::Value errors = reply["writeErrors"];
    int code = errors.is_array() ? errors.AsArray().front().value().AsDocument()["code"].AsInt32()
                                 : reply["code"].AsInt32();
    EXPECT_EQ(code, kMaxTimeMSExpired) << c.name << bson::ToJson(reply);
  }
  EXPECT_EQ(node.Code(R"({"ping": 1})"), 0);
}

TEST(InterruptTest, KillEndsWorkWithoutEnd) {
  Node node;
  Fill(node);
  for (const Case& c : Cases()) {
    request::Client client;
    bson::Document reply;
    std::atomic<bool> done = false;
    std::thread worker([&] {
      reply = node.RunAs(client, c.command, "test");
      done = true;
    });
    bool killed = false;
    while (!killed && !done) {
      int64_t id = 0;
      node.commands().operations().ForEach([&](const run::RunningOp& running) { id = running.id; });
      killed = id != 0 && node.commands().operations().Kill(id, kInterrupted);
      std::this_thread::yield();
    }
    worker.join();
    bson::Value errors = reply["writeErrors"];
    int code = errors.is_array() ? errors.AsArray().front().value().AsDocument()["code"].AsInt32()
                                 : reply["code"].AsInt32();
    EXPECT_EQ(code, kInterrupted) << c.name << bson::ToJson(reply);
  }
}

// A transaction keeps schema changes of its collections waiting; they, and what waits for them,
// end.
TEST(InterruptTest, SchemaChangesThatWaitAreEnded) {
  Node node;
  node.Run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
  const std::string session = R"("lsid": {"id": {"$binary": {"base64": "AAECAwQFBgcICQoLDA0ODw==",
      "subType": "04"}}}, "txnNumber": {"$numberLong": "1"}, "autocommit": false)";
  EXPECT_EQ(node.Code(R"({"insert": "c", "documents": [{"a": 1}], "startTransaction": true, )" +
                      session + "}"),
            0);
  for (const char* command :
       {R"({"drop": "c"})", R"({"dropDatabase": 1})", R"({"dropIndexes": "c", "index": "a"})",
        R"({"createIndexes": "c", "indexes": [{"key": {"b": 1}, "name": "b"}]})",
        R"({"collMod": "c", "validator": {"a": 1}})"}) {
    EXPECT_EQ(node.Code(WithLimit(command, 30)), kMaxTimeMSExpired) << command;
  }
  EXPECT_EQ(
      node.Code(R"({"renameCollection": "test.c", "to": "test.d", "maxTimeMS": 30})", "admin"),
      kMaxTimeMSExpired);
  EXPECT_EQ(node.Code(R"({"commitTransaction": 1, )" + session + "}", "admin"), 0);
  EXPECT_EQ(node.Code(R"({"drop": "c"})"), 0);
}

// An index build waits for a transaction; changes of others do not wait for the build.
TEST(InterruptTest, BuildsThatWaitAreEndedAndKeepNobodyWaiting) {
  Node node;
  Fill(node);
  const std::string session = R"("lsid": {"id": {"$binary": {"base64": "AAECAwQFBgcICQoLDA0ODw==",
      "subType": "04"}}}, "txnNumber": {"$numberLong": "1"}, "autocommit": false)";
  EXPECT_EQ(node.Code(R"({"insert": "c", "documents": [{"a": 1}], "startTransaction": true, )" +
                      session + "}"),
            0);
  const std::string build =
      R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})";
  EXPECT_EQ(node.Code(WithLimit(build, 30)), kMaxTimeMSExpired);
  request::Client client;
  bson::Document reply;
  std::thread builder([&] { reply = node.RunAs(client, build, "test"); });
  int64_t id = 0;
  while (id == 0) {
    node.commands().operations().ForEach([&](const run::RunningOp& running) { id = running.id; });
  }
  EXPECT_EQ(node.Code(R"({"create": "other"})"), 0);
  EXPECT_EQ(node.Code(R"({"insert": "third", "documents": [{"_id": 1}]})"), 0);
  EXPECT_EQ(node.Code(R"({"drop": "other"})"), 0);
  EXPECT_TRUE(node.commands().operations().Kill(id, kInterrupted));
  builder.join();
  EXPECT_EQ(reply["code"].AsInt32(), kInterrupted) << bson::ToJson(reply);
  EXPECT_EQ(node.Code(R"({"commitTransaction": 1, )" + session + "}", "admin"), 0);
  EXPECT_EQ(node.Code(build), 0);
}

TEST(RegexLimitTest, WhatTakesTooLongIsAnError) {
  Node node;
  std::string text(3000, 'a');
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "s": ")" + text + R"("}]})");
  // Each place of the text has ways without number to match before the end fails.
  const std::string pattern = R"("^(a|aa|a(a)?)+[xy]")";
  bson::Document find = node.Run(R"({"find": "c", "filter": {"s": {"$regex": )" + pattern + "}}}");
  EXPECT_EQ(find["code"].AsInt32(), 51156) << bson::ToJson(find);
  EXPECT_EQ(node.Code(R"({"find": "c", "filter": {"s": {"$not": {"$regex": )" + pattern + "}}}}"),
            51156);
  EXPECT_EQ(
      node.Code(R"({"count": "c", "query": {"s": {"$in": [{"$regularExpression": {"pattern": )" +
                pattern + R"(, "options": ""}}]}}})"),
      51156);
  EXPECT_EQ(
      node.Code(R"({"count": "c", "query": {"$jsonSchema": {"properties": {"s": {"pattern": )" +
                pattern + "}}}}}"),
      51156);
  EXPECT_EQ(node.Code(Aggregate("c", R"({"$set": {"x": {"$regexMatch": {"input": "$s", "regex": )" +
                                         pattern + "}}}}")),
            51156);
  // What only looks long is found.
  bson::Document found = node.Run(R"({"count": "c", "query": {"s": {"$regex": "^(a|b)+$"}}})");
  EXPECT_EQ(found["n"].AsInt32(), 1) << bson::ToJson(found);
}

}  // namespace

}  // namespace quire::command
