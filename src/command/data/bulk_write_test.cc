// SPDX-License-Identifier: Apache-2.0
#include "command/testing/harness.h"

namespace quire::command {
namespace {

TEST(BulkWrite, RunsEveryKindAcrossCollections) {
  Node node;
  EXPECT_EQ(node.Json(R"({"bulkWrite": 1, "nsInfo": [{"ns": "a.x"}, {"ns": "b.y"}], "ops": [
      {"insert": 0, "document": {"_id": 1, "v": 1}},
      {"insert": 1, "document": {"_id": 1}},
      {"update": 0, "filter": {"_id": 1}, "updateMods": {"$inc": {"v": 1}}},
      {"update": 1, "filter": {"_id": 9}, "updateMods": {"q": 1}, "upsert": true},
      {"delete": 1, "filter": {}, "multi": true}]})",
                      "admin"),
            R"({"cursor":{"firstBatch":[{"ok":1.0,"idx":0,"n":1},{"ok":1.0,"idx":1,"n":1},)"
            R"({"ok":1.0,"idx":2,"n":1,"nModified":1},)"
            R"({"ok":1.0,"idx":3,"n":1,"nModified":0,"upserted":{"_id":9}},)"
            R"({"ok":1.0,"idx":4,"n":2}],"id":0,"ns":"admin.$cmd.bulkWrite"},)"
            R"("nErrors":0,"nInserted":2,"nMatched":1,"nModified":1,"nUpserted":1,"nDeleted":2,)"
            R"("ok":1.0})");
}

TEST(BulkWrite, AnErrorStopsAnOrderedBatchOnly) {
  Node node;
  auto run = [&](std::string_view ordered) {
    bson::Document reply = node.Run(
        R"({"bulkWrite": 1, "nsInfo": [{"ns": "a.)" + std::string(ordered) +
            R"("}], "errorsOnly": true, "ordered": )" + std::string(ordered) + R"(, "ops": [
            {"insert": 0, "document": {"_id": 1}}, {"insert": 0, "document": {"_id": 1}},
            {"insert": 0, "document": {"_id": 2}}]})",
        "admin");
    return std::pair(reply["nInserted"].AsInt32(), reply["nErrors"].AsInt32());
  };
  EXPECT_EQ(run("true"), std::pair(1, 1));
  EXPECT_EQ(run("false"), std::pair(2, 1));
}

TEST(BulkWrite, ItsCursorGoesOnInTheTransaction) {
  Node node;
  const std::string transaction =
      R"("lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAQ==", "subType": "04"}}},
      "txnNumber": {"$numberLong": "1"}, "autocommit": false)";
  auto start = [&](std::string_view collection, std::string_view first) {
    bson::Document reply = node.Run(
        R"({"bulkWrite": 1, "nsInfo": [{"ns": "a.)" + std::string(collection) +
            R"("}], "cursor": {"batchSize": 1}, "ops": [{"insert": 0, "document": {"_id": 1}},
            {"insert": 0, "document": {"_id": 2}}], )" +
            std::string(first) + transaction + "}",
        "admin");
    EXPECT_EQ(reply["nInserted"].AsInt32(), 2) << bson::ToJson(reply);
    return std::to_string(reply["cursor"].AsDocument()["id"].AsInt64());
  };
  std::string cursor = start("x", R"("startTransaction": true, )");
  bson::Document more = node.Run(R"({"getMore": {"$numberLong": ")" + cursor +
                                     R"("}, "collection": "$cmd.bulkWrite", )" + transaction + "}",
                                 "admin");
  EXPECT_EQ(bson::ToJson(more["cursor"].AsDocument()["nextBatch"]),
            R"([{"ok":1.0,"idx":1,"n":1}])");
  std::string killed =
      node.Json(R"({"killCursors": "$cmd.bulkWrite", "cursors": [{"$numberLong": ")" +
                    start("y", "") + R"("}], )" + transaction + "}",
                "admin");
  EXPECT_NE(killed.find(R"("cursorsNotFound":[])"), std::string::npos) << killed;
  EXPECT_EQ(node.Code(R"({"commitTransaction": 1, )" + transaction + "}", "admin"), 0);
  EXPECT_EQ(node.Json(R"({"count": "x"})", "a"), R"({"n":2,"ok":1.0})");
}

TEST(BulkWrite, AViewRefusesEveryInsertOfAnUnorderedBatch) {
  Node node;
  node.Run(R"({"create": "v", "viewOn": "c", "pipeline": []})");
  bson::Document reply = node.Run(R"({"bulkWrite": 1, "nsInfo": [{"ns": "test.v"}],
      "ordered": false, "ops": [{"insert": 0, "document": {}}, {"insert": 0, "document": {}}]})",
                                  "admin");
  EXPECT_EQ(reply["nErrors"].AsInt32(), 2);
  EXPECT_EQ(reply["nInserted"].AsInt32(), 0);
}

TEST(BulkWrite, ARetryAnswersAgainAndWritesOnce) {
  Node node;
  constexpr std::string_view kCommand = R"({"bulkWrite": 1, "nsInfo": [{"ns": "a.x"}],
      "lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAQ==", "subType": "04"}}},
      "txnNumber": {"$numberLong": "1"}, "ops": [
      {"insert": 0, "document": {"_id": 1, "v": 1}},
      {"insert": 0, "document": {"_id": 2, "v": 1}},
      {"update": 0, "filter": {"_id": 1}, "updateMods": {"$inc": {"v": 1}}}]})";
  bson::Document first = node.Run(kCommand, "admin");
  bson::Document again = node.Run(kCommand, "admin");
  EXPECT_EQ(bson::ToJson(first["cursor"]), bson::ToJson(again["cursor"]));
  EXPECT_EQ(bson::ToJson(again["retriedStmtIds"]), "[0,1,2]");
  bson::Document found = node.Run(R"({"find": "x", "filter": {"v": 2}})", "a");
  EXPECT_EQ(found["cursor"].AsDocument()["firstBatch"].AsArray().Count(), 1U);
}

TEST(BulkWrite, RefusesWhatItCannotMean) {
  struct Case {
    std::string_view command;
    int code;
  };
  constexpr Case kCases[] = {
      {R"({"bulkWrite": 1, "ops": [], "nsInfo": [{"ns": "a.b"}]})", 16},
      {R"({"bulkWrite": 1, "nsInfo": [{"ns": "a.b"}]})", 40414},
      {R"({"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}]})", 40414},
      {R"({"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}], "nsInfo": []})", 2},
      {R"({"bulkWrite": 1, "ops": [{"insert": 1, "document": {}}], "nsInfo": [{"ns": "a.b"}]})", 2},
      {R"({"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}], "nsInfo": [{"ns": "ab"}]})", 73},
      {R"({"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}],
           "nsInfo": [{"ns": "a.system.profile"}]})",
       73},
      {R"({"bulkWrite": 1, "ops": [{"replace": 0}], "nsInfo": [{"ns": "a.b"}]})", 40415},
      {R"({"bulkWrite": 1, "ops": [{}], "nsInfo": [{"ns": "a.b"}]})", 9},
      {R"({"bulkWrite": 1, "ops": [{"delete": 0, "filter": {}, "hint": 1}],
           "nsInfo": [{"ns": "a.b"}]})",
       9},
      {R"({"bulkWrite": 1, "ops": [{"update": 0, "filter": {}, "updateMods": {}, "multi": true,
           "sort": {"a": 1}}], "nsInfo": [{"ns": "a.b"}]})",
       9},
  };
  Node node;
  for (const Case& c : kCases) {
    EXPECT_EQ(node.Code(c.command, "admin"), c.code) << c.command;
  }
  EXPECT_EQ(node.Code(kCases[0].command, "test"), 13);
}

}  // namespace
}  // namespace quire::command
