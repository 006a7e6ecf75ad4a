// SPDX-License-Identifier: Apache-2.0
//
// Answers that were once unlike MongoDB's: each case is one of them.
#include "base/error_codes.h"
#include "command/testing/harness.h"

namespace quire::command {
namespace {

class DifferencesTest : public ::testing::Test {
 protected:
  DifferencesTest() {
    node_.Run(R"({"insert": "c", "documents": [{"_id": 0, "a": 0, "b": [0, 1]},
        {"_id": 1, "a": 1, "b": [1, 2]}, {"_id": 2, "a": 2, "b": [2, 3]},
        {"_id": 3, "a": 3, "b": [3, 4]}]})");
  }

  // The code of the only statement's error; 0 when it has none.
  int WriteCode(const std::string& json) {
    const bson::Document reply = node_.Run(json);
    const bson::Value errors = reply["writeErrors"];
    EXPECT_EQ(reply["ok"].AsDouble(), 1) << json;
    return errors.is_array() ? errors.AsArray()["0"].AsDocument()["code"].AsInt32() : 0;
  }
  // One field of the reply as JSON; "" without it.
  std::string Field(const std::string& json, std::string_view name) {
    const bson::Document reply = node_.Run(json);
    return reply[name].missing() ? "" : bson::ToJson(reply[name]);
  }
  int64_t CursorOf(const std::string& json) {
    const bson::Document reply = node_.Run(json);
    return reply["cursor"].AsDocument()["id"].AsInt64();
  }
  // What the expression gives, or the error's code.
  std::string Value(const std::string& expression) {
    const bson::Document reply = node_.Run(
        R"({"aggregate": 1, "pipeline": [{"$documents": [{"s": "x", "n": null}]}, {"$project": {"r": )" +
        expression + R"(}}], "cursor": {}})");
    if (reply["ok"].AsDouble() != 1) {
      return std::to_string(reply["code"].AsInt32());
    }
    const bson::View batch = reply["cursor"].AsDocument()["firstBatch"].AsArray();
    return bson::ToJson(batch["0"].AsDocument()["r"]);
  }
  bson::Document Explain(const std::string& command, const std::string& verbosity) {
    return node_.Run(R"({"explain": )" + command + R"(, "verbosity": ")" + verbosity + "\"}");
  }
  bool Exists(const std::string& name) {
    return node_.Batch(R"({"listCollections": 1, "filter": {"name": ")" + name + "\"}}") != "[]";
  }

  Node node_;
};

TEST_F(DifferencesTest, AnIdKeepsItsType) {
  EXPECT_EQ(WriteCode(R"({"update": "c", "updates": [{"q": {"_id": 1},
      "u": {"$set": {"_id": {"$numberDouble": "1"}}}}]})"),
            kImmutableField);
  EXPECT_EQ(WriteCode(R"({"update": "c", "updates": [{"q": {"_id": 1},
      "u": {"$set": {"_id": 1}}}]})"),
            0);
}

TEST_F(DifferencesTest, ALimitThatIsReachedEndsTheCursor) {
  EXPECT_EQ(CursorOf(R"({"find": "c", "limit": 3, "batchSize": 3})"), 0);
  EXPECT_NE(CursorOf(R"({"find": "c", "limit": 3, "batchSize": 2})"), 0);
  EXPECT_NE(CursorOf(R"({"find": "c", "batchSize": 4})"), 0) << "the end of a scan is not known";
  EXPECT_EQ(CursorOf(R"({"find": "c", "sort": {"a": 1}, "batchSize": 4})"), 0);
  EXPECT_EQ(CursorOf(R"({"find": "c", "filter": {"_id": 1}, "batchSize": 1})"), 0);
}

TEST_F(DifferencesTest, GraphLookupFollowsNoMissingValue) {
  node_.Run(
      R"({"insert": "g", "documents": [{"_id": 1, "x": null}, {"_id": 2}, {"_id": 3, "x": 5}]})");
  auto found = [&](const std::string& start) {
    return node_.Batch(R"({"aggregate": "c", "pipeline": [{"$limit": 2}, {"$graphLookup":
        {"from": "g", "startWith": )" +
                       start + R"(, "connectFromField": "y",
        "connectToField": "x", "as": "r"}}, {"$project": {"_id": 0, "r": "$r._id"}}],
        "cursor": {}})");
  };
  EXPECT_EQ(found("\"$nope\""), R"([{"r":[]},{"r":[]}])");
  EXPECT_EQ(found("5"), R"([{"r":[3]},{"r":[3]}])");
  EXPECT_EQ(found("null"), R"([{"r":[1]},{"r":[1]}])");
}

TEST_F(DifferencesTest, Updates) {
  const struct {
    const char* update;
    int code;
  } kCases[] = {
      {R"("u": {"$pull": {"b": {"$not": {"$gt": 4}}}})", kBadValue},
      {R"("u": {"$pull": {"b": {"$gt": 4}}})", 0},
      {R"("u": {"x": 1}, "arrayFilters": [{"y": 1}])", 0},
      {R"("u": {"x": 1}, "arrayFilters": [{}])", kFailedToParse},
      {R"("u": {"$set": {"b": 1}, "$rename": {"b": "b.x"}})", kConflictingUpdateOperators},
      {R"("u": {"$rename": {"b": "b.x"}})", kBadValue},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(WriteCode(R"({"update": "c", "updates": [{"q": {"_id": 2}, )" +
                        std::string(c.update) + "}]}"),
              c.code)
        << c.update;
  }
  EXPECT_EQ(WriteCode(R"({"update": "c", "updates": [{"q": {"$expr": {"$eq": ["$_id", 2]}},
      "u": {"$set": {"z": 1}}, "upsert": true}]})"),
            kQueryFeatureNotAllowed)
      << "whether there is a document or not";
}

TEST_F(DifferencesTest, OneDocumentNeedsNoOrder) {
  const std::string sorted = R"(, "sort": {"a": "up"}, "update": {"$set": {"x": 1}}})";
  EXPECT_EQ(node_.Code(R"({"findAndModify": "c", "query": {"_id": 1})" + sorted), 0);
  EXPECT_EQ(node_.Code(R"({"findAndModify": "c", "query": {"_id": {"$gte": 1}})" + sorted), 15974);
  EXPECT_EQ(node_.Code(R"({"find": "c", "filter": {"_id": 1}, "sort": {"a": "up"}})"), 15974);
}

TEST_F(DifferencesTest, Names) {
  const struct {
    const char* command;
    int code;
  } kCases[] = {
      {R"({"find": "$x"})", kInvalidNamespace},
      {R"({"count": "a$b"})", kInvalidNamespace},
      {R"({"aggregate": "a$b", "pipeline": [], "cursor": {}})", kInvalidNamespace},
      {R"({"delete": "system.foo", "deletes": [{"q": {}, "limit": 0}]})", kInvalidNamespace},
      {R"({"update": "system.foo", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]})",
       kInvalidNamespace},
      {R"({"find": "system.foo"})", 0},
      {R"({"find": "c", "filter": null})", kTypeMismatch},
      {R"({"create": "a.system.b"})", kBadValue},
      {R"({"insert": "a.system.b", "documents": [{}]})", kBadValue},
      {R"({"find": {"$symbol": "c"}})", 0},
      {R"({"planCacheClear": {"$symbol": "c"}})", 0},
      {R"({"reIndex": "c"})", kIllegalOperation},
      {R"({"find": "c", "nosuch": 1})", 40415},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(node_.Code(c.command), c.code) << c.command;
  }
  EXPECT_EQ(Field(R"({"find": "c", "nosuch": 1})", "codeName"), "\"IDLUnknownField\"");
  EXPECT_EQ(Field(R"({"insert": "c"})", "codeName"), "\"IDLFailedToParse\"");
}

TEST_F(DifferencesTest, AViewInNaturalOrder) {
  node_.Run(R"({"create": "v", "viewOn": "c", "pipeline": []})");
  EXPECT_EQ(node_.Batch(R"({"find": "v", "sort": {"$natural": -1}, "limit": 2,
                            "projection": {"_id": 1}})"),
            R"([{"_id":3},{"_id":2}])");
}

TEST_F(DifferencesTest, AStageOfMetadataAloneLeavesTheOtherFields) {
  node_.Run(R"({"createIndexes": "t", "indexes": [{"key": {"s": "text"}, "name": "s"}]})");
  node_.Run(R"({"insert": "t", "documents": [{"_id": 1, "s": "x", "a": {"b": 1}}]})");
  const auto projected = [&](const std::string& spec) {
    return node_.Batch(R"({"aggregate": "t", "pipeline": [{"$match": {"$text": {"$search": "x"}}},
        {"$project": )" +
                       spec + R"(}], "cursor": {}})");
  };
  EXPECT_EQ(projected(R"({"n": {"$meta": "textScore"}})"), R"([{"_id":1,"n":1.1}])");
  EXPECT_EQ(projected(R"({"_id": 0, "n": {"$meta": "textScore"}})"), R"([{"n":1.1}])");
  EXPECT_EQ(projected(R"({"a": 0, "n": {"$meta": "textScore"}})"),
            R"([{"_id":1,"s":"x","n":1.1}])");
  EXPECT_EQ(node_.Batch(R"({"find": "t", "filter": {"$text": {"$search": "x"}},
                            "projection": {"_id": 0, "n": {"$meta": "textScore"}}})"),
            R"([{"s":"x","a":{"b":1},"n":1.1}])");
}

TEST_F(DifferencesTest, AScoreNeedsATextSearch) {
  const std::string score = R"({"s": {"$meta": "textScore"}})";
  EXPECT_EQ(node_.Code(R"({"find": "c", "projection": )" + score + "}"), 40218);
  EXPECT_EQ(node_.Code(R"({"find": "c", "sort": )" + score + "}"), 40218);
  EXPECT_EQ(node_.Code(R"({"aggregate": "c", "pipeline": [{"$project": )" + score +
                       R"(}], "cursor": {}})"),
            40218);
  node_.Run(R"({"createIndexes": "c", "indexes": [{"key": {"t": "text"}, "name": "t"}]})");
  EXPECT_EQ(node_.Code(R"({"find": "c", "filter": {"$text": {"$search": "x"}}, "projection": )" +
                       score + "}"),
            0);
}

TEST_F(DifferencesTest, IndexesThatCannotBeMadeLeaveNoCollection) {
  EXPECT_EQ(node_.Code(R"({"createIndexes": "new", "indexes": [{"key": {"a": 1}, "name": "a_1"},
                                                       {"key": {"a": 1}, "name": "a_1"}]})"),
            kOperationFailed);
  EXPECT_EQ(node_.Code(R"({"createIndexes": "new", "indexes": [{"key": {"a": 1}, "name": "a_1"},
                                                       {"key": {"b": 1}, "name": "a_1"}]})"),
            kIndexKeySpecsConflict);
  EXPECT_FALSE(Exists("new"));
  EXPECT_EQ(node_.Code(R"({"find": "c", "min": {"a": 1}, "max": {"b": 1}, "hint": {"a": 1}})"),
            51176);
}

TEST_F(DifferencesTest, WhatChangesManyIsNotRetried) {
  const std::string session =
      R"("txnNumber": {"$numberLong": "1"},
         "lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}}})";
  EXPECT_EQ(WriteCode(R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"z": 1}},
                          "multi": true}], )" +
                      session),
            kInvalidOptions);
  EXPECT_EQ(WriteCode(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}], )" + session),
            kInvalidOptions);
  EXPECT_EQ(Field(R"({"count": "c"})", "n"), "4");
}

TEST_F(DifferencesTest, Explain) {
  node_.Run(R"({"createIndexes": "c", "indexes": [{"key": {"h": "hashed"}, "name": "h"},
                                                  {"key": {"a": 1, "_id": 1}, "name": "a"}]})");
  bson::Document plan = Explain(R"({"find": "c", "collation": {"locale": "fr"}})", "queryPlanner");
  EXPECT_EQ(plan["queryPlanner"].AsDocument()["collation"].AsDocument()["locale"].AsString(), "fr");
  auto bounds = [&](const std::string& filter) {
    plan = Explain(R"({"find": "c", "filter": )" + filter + "}", "queryPlanner");
    const bson::View scan =
        plan["queryPlanner"].AsDocument()["winningPlan"].AsDocument()["inputStage"].AsDocument();
    return bson::ToJson(scan["indexBounds"]);
  };
  EXPECT_EQ(bounds(R"({"h": 3})"), R"({"h":["[-1529429926180645992, -1529429926180645992]"]})");
  EXPECT_NE(bounds(R"({"h": null})").find("\",\""), std::string::npos) << "two intervals";
  plan = Explain(R"({"count": "nosuch", "query": {"a": 1}})", "queryPlanner");
  const bson::View winner = plan["queryPlanner"].AsDocument()["winningPlan"].AsDocument();
  EXPECT_EQ(winner["stage"].AsString(), "COUNT");
  EXPECT_EQ(winner["inputStage"].AsDocument()["stage"].AsString(), "EOF");
  EXPECT_EQ(node_.Code(R"({"explain": {"find": "c", "$db": "test"}})"), 0);
  EXPECT_EQ(node_.Code(R"({"explain": {"find": "c", "$db": "other"}})"), kInvalidNamespace);
}

// Which stage asks the filter, and with which bounds: "<stage>:<filter>" from the top.
TEST_F(DifferencesTest, ExplainPlacesFilters) {
  node_.Run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
  auto stages = [&](const std::string& filter) {
    const bson::Document plan =
        Explain(R"({"find": "c", "filter": )" + filter + "}", "queryPlanner");
    std::string shown;
    bson::View stage = plan["queryPlanner"].AsDocument()["winningPlan"].AsDocument();
    for (;; stage = stage["inputStage"].AsDocument()) {
      shown += std::string(stage["stage"].AsString());
      shown += stage.Has("filter") ? ":" + bson::ToJson(stage["filter"]) : "";
      shown += stage.Has("indexBounds") ? " " + bson::ToJson(stage["indexBounds"]) : " ";
      if (!stage["inputStage"].is_document()) {
        return shown;
      }
    }
  };
  const struct {
    const char* filter;
    const char* stages;
  } kCases[] = {
      {R"({"a": {"$type": "string"}})",
       R"j(FETCH IXSCAN:{"a":{"$type":[2]}} {"a":["[\"\", {})"]})j"},
      {R"({"a": {"$type": ["string", "symbol"]}})", R"j(FETCH IXSCAN {"a":["[\"\", {})"]})j"},
      {R"({"a": {"$type": "number"}})", R"j(FETCH IXSCAN {"a":["[nan.0, inf.0]"]})j"},
      {R"({"a": {"$type": "int"}})",
       R"j(FETCH IXSCAN:{"a":{"$type":[16]}} {"a":["[nan.0, inf.0]"]})j"},
      {R"({"a": {"$type": ["int", "long", "double", "decimal"]}})",
       R"j(FETCH IXSCAN {"a":["[nan.0, inf.0]"]})j"},
      {R"({"a": {"$type": "object"}})", R"j(FETCH IXSCAN {"a":["[{}, [])"]})j"},
      {R"({"a": {"$type": "minKey"}})", R"j(FETCH IXSCAN {"a":["[MinKey, MinKey]"]})j"},
      {R"({"a": {"$type": "null"}})",
       R"j(FETCH:{"a":{"$type":[10]}} IXSCAN {"a":["[null, null]"]})j"},
      {R"({"a": null})", R"j(FETCH:{"a":{"$eq":null}} IXSCAN {"a":["[null, null]"]})j"},
      {R"({"a": {"$ne": null}})", R"j(FETCH IXSCAN {"a":["[MinKey, null)","(null, MaxKey]"]})j"},
      {R"({"a": {"$not": {"$gt": 5}}})",
       R"j(FETCH IXSCAN {"a":["[MinKey, 5]","(inf.0, MaxKey]"]})j"},
      {R"({"a": {"$not": {"$gt": 1, "$lt": 5}}})",
       R"j(COLLSCAN:{"$nor":[{"$and":[{"a":{"$lt":5}},{"a":{"$gt":1}}]}]} )j"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(stages(c.filter), c.stages) << c.filter;
  }
}

// Since 8.0; a missing field is null all the same.
TEST_F(DifferencesTest, UndefinedIsNotNull) {
  node_.Run(R"({"insert": "u", "documents": [{"_id": 1, "a": null}, {"_id": 2},
      {"_id": 3, "a": {"$undefined": true}}, {"_id": 4, "a": [{"$undefined": true}]},
      {"_id": 5, "a": [null]}, {"_id": 6, "a": []}]})");
  const std::string only_ids = R"(, "sort": {"_id": 1}, "projection": {"_id": 1}})";
  const std::string nulls = R"([{"_id":1},{"_id":2},{"_id":5}])";
  for (bool indexed : {false, true}) {
    for (const char* filter : {R"({"a": null})", R"({"a": {"$in": [null, 7]}})",
                               R"({"a": {"$gte": null}})", R"({"a": {"$lte": null}})"}) {
      EXPECT_EQ(node_.Batch(R"({"find": "u", "filter": )" + std::string(filter) + only_ids), nulls)
          << filter << indexed;
    }
    EXPECT_EQ(node_.Batch(R"({"find": "u", "filter": {"a": {"$ne": null}})" + only_ids),
              R"([{"_id":3},{"_id":4},{"_id":6}])");
    EXPECT_EQ(node_.Batch(R"({"aggregate": "u", "pipeline": [{"$match": {"_id": {"$lte": 3}}},
        {"$lookup": {"from": "u", "localField": "a", "foreignField": "a", "as": "r"}},
        {"$project": {"_id": 0, "r": "$r._id"}}, {"$sort": {"r": 1}}], "cursor": {}})"),
              R"([{"r":[1,2,5]},{"r":[1,2,5]},{"r":[3,4]}])")
        << indexed;
    node_.Run(R"({"createIndexes": "u", "indexes": [{"key": {"a": 1}, "name": "a"}]})");
  }
}

TEST_F(DifferencesTest, LookupTakesANumberAsAPosition) {
  node_.Run(
      R"({"insert": "l", "documents": [{"_id": 1, "b": [7, 8]}, {"_id": 2, "b": {"1": 7}}]})");
  node_.Run(R"({"insert": "f", "documents": [{"_id": 10, "k": 7}, {"_id": 11, "k": 8}]})");
  for (bool indexed : {false, true}) {
    EXPECT_EQ(node_.Batch(R"({"aggregate": "l", "pipeline": [{"$lookup": {"from": "f",
        "localField": "b.1", "foreignField": "k", "as": "r"}},
        {"$project": {"r": "$r._id"}}, {"$sort": {"_id": 1}}], "cursor": {}})"),
              R"([{"_id":1,"r":[11]},{"_id":2,"r":[10]}])")
        << indexed;
    node_.Run(R"({"createIndexes": "f", "indexes": [{"key": {"k": 1}, "name": "k"}]})");
  }
}

TEST_F(DifferencesTest, Limits) {
  const std::string longest(16384, 'x');
  EXPECT_EQ(node_.Code(R"({"find": "c", "filter": {"s": {"$regex": ")" + longest + "\"}}}"), 0);
  EXPECT_EQ(node_.Code(R"({"find": "c", "filter": {"s": {"$regex": ")" + longest + "x\"}}}"),
            51091);
  EXPECT_EQ(Value(R"({"$regexMatch": {"input": "$s", "regex": ")" + longest + "x\"}}"), "51111");
  node_.Run(R"({"create": "v", "viewOn": "c", "pipeline": []})");
  EXPECT_EQ(node_.Code(R"({"count": "v", "limit": 0})"), 15958);
  EXPECT_EQ(Field(R"({"count": "v", "limit": 2})", "n"), "2");
  EXPECT_EQ(Field(R"({"count": "c", "limit": 0})", "n"), "4");
}

TEST_F(DifferencesTest, ExplainOfFindAndModify) {
  node_.Run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1, "_id": 1}, "name": "a"}]})");
  const bson::Document plan =
      Explain(R"({"findAndModify": "c", "query": {"a": 1}, "sort": {"a": 1}, "fields": {"a": 1},
                  "update": {"$set": {"z": 1}}})",
              "executionStats");
  std::string stages;
  bson::View stage = plan["queryPlanner"].AsDocument()["winningPlan"].AsDocument();
  for (;; stage = stage["inputStage"].AsDocument()) {
    stages += std::string(stage["stage"].AsString()) + " ";
    if (!stage["inputStage"].is_document()) {
      break;
    }
  }
  EXPECT_EQ(stages, "PROJECTION_SIMPLE UPDATE LIMIT FETCH IXSCAN ");
  const bson::View stats = plan["executionStats"].AsDocument();
  EXPECT_EQ(stats["nReturned"].AsInt32(), 1);
  EXPECT_EQ(stats["totalKeysExamined"].AsInt32(), 1);
}

TEST_F(DifferencesTest, ExplainOfAPipelineThatWritesWritesNothing) {
  const bson::Document shown = Explain(
      R"({"aggregate": "c", "pipeline": [{"$out": "written"}], "cursor": {}})", "executionStats");
  const bson::View cursor = shown["stages"].AsArray()["0"].AsDocument()["$cursor"].AsDocument();
  EXPECT_EQ(cursor["executionStats"].AsDocument()["nReturned"].AsInt32(), 4);
  EXPECT_TRUE(shown["stages"].AsArray()["1"].AsDocument().Has("$out"));
  EXPECT_FALSE(Exists("written"));
  const bson::Document unchecked = Explain(
      R"({"aggregate": "c", "pipeline": [{"$merge": {"into": "m", "on": "a"}}], "cursor": {}})",
      "queryPlanner");
  EXPECT_EQ(unchecked["code"].AsInt32(), 51183);
}

TEST_F(DifferencesTest, ExplainTellsOfThePlanning) {
  node_.Run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"},
      {"key": {"a": 1, "b": 1}, "name": "ab"}]})");
  const std::string find = R"({"find": "c", "filter": {"a": {"$gte": 1}}})";
  auto cached = [&] {
    const bson::Document shown = Explain(find, "executionStats");
    const bson::View planner = shown["queryPlanner"].AsDocument();
    EXPECT_EQ(planner["optimizationTimeMillis"].type(), bson::Type::kInt32);
    EXPECT_FALSE(planner["prunedSimilarIndexes"].AsBool());
    const bool chosen = planner["winningPlan"].AsDocument()["isCached"].AsBool();
    const bson::View run = shown["executionStats"].AsDocument()["executionStages"].AsDocument();
    EXPECT_EQ(run["isCached"].AsBool(), chosen);
    EXPECT_FALSE(planner["rejectedPlans"].AsArray()["0"].AsDocument()["isCached"].AsBool());
    return chosen;
  };
  EXPECT_FALSE(cached());
  for (int i = 0; i < 3; ++i) {
    node_.Run(find);
  }
  EXPECT_TRUE(cached());
}

TEST_F(DifferencesTest, ThePlanCacheShapeOfAPipeline) {
  auto hash = [&](const std::string& stage) {
    const bson::Document shown =
        Explain(R"({"aggregate": "c", "pipeline": [{"$match": {"a": {"$gt": 0}}})" + stage +
                    R"(], "cursor": {}})",
                "queryPlanner");
    const bson::View top =
        shown["queryPlanner"].is_document()
            ? shown.view()
            : shown["stages"].AsArray()["0"].AsDocument()["$cursor"].AsDocument();
    return std::string(top["queryPlanner"].AsDocument()["planCacheShapeHash"].AsString());
  };
  const std::string plain = hash("");
  for (const char* stage :
       {R"(, {"$count": "n"})", R"(, {"$group": {"_id": "$b"}})", R"(, {"$sort": {"a": 1}})",
        R"(, {"$lookup": {"from": "o", "localField": "a", "foreignField": "_id", "as": "j"}})",
        R"(, {"$densify": {"field": "a", "range": {"step": 1, "bounds": "full"}}})",
        R"(, {"$setWindowFields": {"sortBy": {"a": 1}, "output": {"r": {"$rank": {}}}}})"}) {
    EXPECT_NE(hash(stage), plain) << stage;
  }
  for (const char* stage :
       {R"(, {"$limit": 5})", R"(, {"$unwind": "$b"})", R"(, {"$out": "o"})",
        R"(, {"$set": {"x": 1}})", R"(, {"$facet": {"f": [{"$count": "n"}]}})",
        R"(, {"$unionWith": "o"})", R"(, {"$fill": {"output": {"b": {"method": "locf"}}}})"}) {
    EXPECT_EQ(hash(stage), plain) << stage;
  }
}

TEST_F(DifferencesTest, AScanStopsWhereNoPartCanGrow) {
  node_.Run(R"({"createIndexes": "k", "indexes": [{"key": {"a": 1, "b": 1}, "name": "k"}]})");
  for (int i = 0; i < 16; ++i) {
    node_.Run(R"({"insert": "k", "documents": [{"a": )" + std::to_string(i % 4) + R"(, "b": )" +
              std::to_string(i / 4) + "}]}");
  }
  const bson::Document plan =
      Explain(R"({"find": "k", "filter": {"a": {"$gte": 1, "$lte": 2}, "b": {"$lt": 1}}})",
              "executionStats");
  EXPECT_EQ(plan["executionStats"].AsDocument()["totalKeysExamined"].AsInt32(), 4);
}

TEST_F(DifferencesTest, WhatIsWrongInFormIsToldBeforeWhatAConstantIs) {
  node_.Run(R"({"insert": "k", "documents": [{"a": 1}]})");
  const struct {
    const char* command;
    int code;
  } kCases[] = {
      {R"("filter": {"$expr": {"$add": [{"$toInt": "x"}, {"$nope": 1}]}})", 168},
      {R"("filter": {"$expr": {"$toInt": "x"}, "$nope": 1})", 2},
      {R"("filter": {"$expr": {"$toInt": "x"}}, "projection": {"a": {"$nope": 1}})", 31325},
      {R"("filter": {"$expr": {"$toInt": "x"}}, "projection": {"a": 1})", 241},
      {R"("projection": {"a": {"$toInt": "x"}, "b": {"$abs": [1, 2]}})", 16020},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(node_.Code(R"({"find": "k", )" + std::string(c.command) + "}"), c.code) << c.command;
  }
  const struct {
    const char* pipeline;
    int code;
  } kPipelines[] = {
      {R"({"$project": {"r": {"$toInt": "x"}}})", 241},
      {R"({"$project": {"r": {"$toInt": "x"}}}, {"$nope": 1})", 40324},
      {R"({"$project": {"r": {"$toInt": "x"}}}, {"$project": {"r": {"$nope": 1}}})", 31325},
      {R"({"$project": {"r": {"$toInt": "x"}}}, {"$set": {"r": {"$divide": [1, 0]}}})", 241},
      {R"({"$match": {"$expr": {"$toInt": "x"}}}, {"$match": {"$nope": 1}})", 2},
      {R"({"$facet": {"a": [{"$set": {"r": {"$toInt": "x"}}}], "b": [{"$nope": 1}]}})", 40324},
      {R"({"$facet": {"a": [{"$set": {"r": {"$toInt": "x"}}}], "b": []}})", 241},
      {R"({"$group": {"_id": {"$toInt": "x"}, "n": {"$nope": 1}}})", 15952},
      {R"({"$set": {"r": {"$setEquals": [1, []]}}}, {"$nope": 1})", 40324},
      {R"({"$set": {"r": {"$regexMatch": {"input": "$a", "regex": "("}}}}, {"$nope": 1})", 40324},
      {R"({"$set": {"r": {"$regexMatch": {"input": "$a", "regex": "("}}}})", 51111},
      {R"({"$set": {"r": {"$switch": {"branches": [{"case": false, "then": 1}]}}}}, {"$nope": 1})",
       40324},
      {R"({"$set": {"r": {"$cond": [{"$toInt": "x"}, 1, 2]}}}, {"$sort": {"a": 2}})", 15975},
      // Where a constant is wanted, its value is looked at at once.
      {R"({"$bucket": {"groupBy": "$a", "boundaries": [{"$toInt": "x"}, 1]}}, {"$nope": 1})", 241},
  };
  for (const auto& c : kPipelines) {
    EXPECT_EQ(node_.Code(R"({"aggregate": "k", "cursor": {}, "pipeline": [)" +
                         std::string(c.pipeline) + "]}"),
              c.code)
        << c.pipeline;
  }
}

TEST_F(DifferencesTest, ListingsKnowNoTimeAndNobody) {
  const struct {
    const char* condition;
    int code;
  } kCases[] = {
      {R"({"$gt": ["$$NOW", 1]})", 51144},
      {R"({"$gt": [{"$toInt": "$$CLUSTER_TIME"}, 1]})", 51144},
      {R"({"$eq": ["$$USER_ROLES", []]})", 51144},
      {R"({"$gt": [{"$nope": 1}, "$$NOW"]})", 168},
      {R"({"$gt": ["$$NOW", {"$nope": 1}]})", 51144},
      {R"({"$lt": [{"$toDate": 0}, "$$NOW"]})", 51144},
  };
  for (const auto& c : kCases) {
    const std::string rest = R"(": 1, "filter": {"$expr": )" + std::string(c.condition) + "}}";
    EXPECT_EQ(node_.Code(R"({"listCollections)" + rest), c.code) << c.condition;
    EXPECT_EQ(node_.Code(R"({"listDatabases)" + rest, "admin"), c.code) << c.condition;
  }
}

TEST_F(DifferencesTest, Expressions) {
  const struct {
    const char* expression;
    const char* value;
  } kCases[] = {
      {R"({"$zip": {"inputs": [[1, 2], [1]], "useLongestLength": true, "defaults": [9, "$nope"]}})",
       "[[1,1],[2]]"},
      {R"({"$zip": {"inputs": [[1, 2], [1]], "useLongestLength": true}})", "[[1,1],[2,null]]"},
      {R"({"$zip": {"inputs": ["$n", 5]}})", "null"},
      {R"({"$zip": {"inputs": ["$s", "$n"]}})", "34468"},
      {R"({"$dateFromString": {"dateString": "2017-185"}})", "241"},
      {R"({"$dateFromParts": {"isoWeekYear": 0}})", "31095"},
      {R"({"$dateFromParts": {"year": 0}})", "40523"},
      {R"({"$type": {"$function": {"body": "function() {}", "args": [], "lang": "js"}}})",
       "\"null\""},
      {R"({"$atan2": ["$s", "$n"]})", "51044"},
      {R"({"$atan2": ["$n", "$s"]})", "null"},
      {R"({"$round": ["$s", "$n"]})", "51081"},
      {R"({"$round": ["$n", "$s"]})", "null"},
      {R"({"$trunc": ["$s", "$n"]})", "51081"},
      {R"({"$trunc": ["$n", "$s"]})", "null"},
      {R"({"$split": [5, "$n"]})", "null"},
      {R"({"$split": [5, 6]})", "40085"},
      {R"({"$indexOfArray": [[1], 1, 0.5]})", "9711600"},
      {R"({"$indexOfArray": [[1], 1, 0, -1]})", "9711601"},
      {R"({"$indexOfCP": ["a", "a", -1]})", "40097"},
      {R"({"$replaceOne": {"input": 5, "find": 5, "replacement": "b"}})", "10503904"},
      {R"({"$replaceAll": {"input": null, "find": 5, "replacement": "b"}})", "10503901"},
      {R"({"$replaceAll": {"input": "a", "find": null, "replacement": 5}})", "10503902"},
      {R"({"$setUnion": [{"$literal": "s"}, "$missing"]})", "null"},
      {R"({"$setUnion": [{"$literal": "s"}, null]})", "17043"},
      {R"({"$setUnion": ["$s", [1], "$missing"]})", "17043"},
      {R"({"$setIntersection": [{"$literal": "s"}, "$missing"]})", "null"},
      {R"({"$setIntersection": [[1, 2], {"$ifNull": ["$n", [2, 3]]}]})", "[2]"},
      {R"({"$unsetField": {"field": "$price", "input": {"$price": 1}}})", "168"},
      {R"({"$unsetField": {"field": "$price", "input": {"a": 1}}})", "4161108"},
      {R"({"$setField": {"field": {"$add": [1]}, "input": {}, "value": {"$nope": 1}}})", "168"},
      {R"({"$setField": {"field": {"$add": [1]}, "input": {}, "value": 1}})", "4161106"},
      {R"({"$sigmoid": []})", "14"},
      {R"({"$sigmoid": [1]})", "14"},
      {R"({"$sigmoid": 0})", "0.5"},
      {R"({"$dateTrunc": {"date": {"$date": 86400001}, "unit": "day", "startOfWeek": null}})",
       R"({"$date":"1970-01-02T00:00:00Z"})"},
      {R"({"$dateTrunc": {"date": {"$ifNull": ["$n", {"$date": 86400001}]}, "unit": "day",
                          "startOfWeek": null}})",
       "null"},
      {R"({"$dateTrunc": {"date": {"$ifNull": ["$n", {"$date": 86400001}]}, "unit": "day",
                          "startOfWeek": "x"}})",
       "5439016"},
      {R"({"$dateTrunc": {"date": {"$ifNull": ["$n", {"$date": 86400001}]}, "unit": "day",
                          "startOfWeek": "$n"}})",
       R"({"$date":"1970-01-02T00:00:00Z"})"},
      {R"({"$mod": [7, {"$literal": {"$numberDouble": "2"}}]})", "1.0"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(Value(c.expression), c.value) << c.expression;
  }
}

// A group divides the exact sum of longs; elsewhere they are taken as doubles.
TEST_F(DifferencesTest, TheMeanOfLargeLongs) {
  EXPECT_EQ(node_.Batch(R"({"aggregate": 1, "pipeline": [{"$documents": [
      {"v": {"$numberLong": "9223372036854775807"}}, {"v": {"$numberLong": "-9223372036854775808"}}]},
      {"$group": {"_id": null, "r": {"$avg": "$v"}}}], "cursor": {}})"),
            R"([{"_id":null,"r":-0.5}])");
  EXPECT_EQ(Value(R"({"$avg": [{"$numberLong": "9223372036854775807"},
                               {"$numberLong": "-9223372036854775808"}]})"),
            "0.0");
}

TEST_F(DifferencesTest, Stages) {
  EXPECT_EQ(node_.Code(R"({"aggregate": "c", "pipeline": [{"$facet": {"f": [
      {"$querySettings": {}}]}}], "cursor": {}})"),
            40600);
  EXPECT_EQ(node_.Batch(R"({"aggregate": "c", "pipeline": [{"$bucketAuto": {"groupBy": "$a",
      "buckets": 1, "granularity": "R5"}}, {"$project": {"min": {"$type": "$_id.min"}, "_id": 0}}],
      "cursor": {}})"),
            R"([{"min":"int"}])");
  node_.Run(R"({"insert": "p", "documents": [{"x": [1, 2], "y": [3]}]})");
  EXPECT_EQ(node_.Code(R"({"aggregate": "p", "pipeline": [{"$sort": {"x": 1, "y": 1}},
                           {"$sort": {"_id": 1}}], "cursor": {}})"),
            0)
      << "the first sort is not done";
  EXPECT_EQ(node_.Code(R"({"mapReduce": "c", "map": "function() {}", "reduce": "function() {}",
                           "out": {"inline": 1}, "query": {"$where": "true"}})"),
            kBadValue);
}

TEST_F(DifferencesTest, NoStageMakesATimeSeries) {
  node_.Run(R"({"insert": "t", "documents": [{"_id": 1}]})");
  const auto out = [&](const std::string& target) {
    return node_.Code(R"({"aggregate": "t", "pipeline": [{"$out": {"db": "test", "coll": ")" +
                      target + R"(", "timeseries": {"timeField": "at"}}}], "cursor": {}})");
  };
  EXPECT_EQ(out("series"), kInvalidOptions);
  EXPECT_FALSE(Exists("series"));
  EXPECT_EQ(out("t"), 7268700) << "there, and none";
}

TEST_F(DifferencesTest, Collections) {
  node_.Run(R"({"create": "capped", "capped": true, "size": 100})");
  EXPECT_EQ(Field(R"({"collStats": "capped"})", "maxSize"), "100");
  EXPECT_EQ(node_.Code(R"({"create": "ai", "autoIndexId": false})"), 50001);
  EXPECT_EQ(node_.Code(R"({"create": "e", "encryptedFields": null})"), 0);
  EXPECT_EQ(node_.Code(R"({"create": "f", "encryptedFields": {"fields": []}})"), 40415);
  const bson::Document made = node_.Run(R"({"create": "ai", "autoIndexId": true})");
  EXPECT_TRUE(made["note"].is_string());
  EXPECT_EQ(node_.Code(R"({"create": "ai", "autoIndexId": false})", "local"), 0);
  node_.Run(R"({"insert": "fs.chunks", "documents": [{"files_id": 1, "n": 0}]})");
  EXPECT_EQ(node_.Code(R"({"filemd5": 1, "root": "fs"})"), kNoQueryExecutionPlans);
  EXPECT_EQ(node_.Code(R"({"filemd5": 1, "root": "nosuch"})"), 0);
}

TEST_F(DifferencesTest, HelpIsAskedForByTrue) {
  EXPECT_EQ(Field(R"({"ping": 1, "help": true})", "help").substr(0, 16), "\"help for: ping ");
  EXPECT_EQ(Field(R"({"ping": 1, "help": false})", "help"), "");
}

TEST_F(DifferencesTest, AGetMoreCountsWhatItDidItself) {
  node_.Run(R"({"profile": 2})");
  const int64_t id = CursorOf(R"({"find": "c", "filter": {"a": {"$gte": 0}}, "batchSize": 1})");
  node_.Run(R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
            R"("}, "collection": "c", "batchSize": 1})");
  EXPECT_EQ(node_.Batch(R"({"find": "system.profile", "filter": {"op": "getmore"},
                            "projection": {"_id": 0, "docsExamined": 1}})"),
            R"([{"docsExamined":1}])");
}

TEST_F(DifferencesTest, ApplyOpsMakesWhatItUpdates) {
  EXPECT_EQ(node_.Code(R"({"applyOps": [{"op": "u", "ns": "test.c", "o2": {"_id": 77},
      "o": {"$v": 2, "diff": {"i": {"x": 1}}}}]})"),
            0);
  EXPECT_EQ(node_.Batch(R"({"find": "c", "filter": {"_id": 77}})"), R"([{"_id":77,"x":1}])");
  const std::string uuid =
      R"({"$binary": {"base64": "MTIzNDU2Nzg5MGFiY2RlZg==", "subType": "04"}})";
  const std::string create = R"({"applyOps": [{"op": "c", "ns": "test.$cmd", "ui": )" + uuid +
                             R"(, "o": {"create": "made"}}]})";
  EXPECT_EQ(node_.Code(create), 0);
  const bson::Document listed = node_.Run(R"({"listCollections": 1, "filter": {"name": "made"}})");
  const bson::View info =
      listed["cursor"].AsDocument()["firstBatch"].AsArray()["0"].AsDocument()["info"].AsDocument();
  EXPECT_EQ(info["uuid"].AsBinary(), "1234567890abcdef");
  EXPECT_EQ(node_.Code(create), kNamespaceExists);
}

TEST_F(DifferencesTest, RestoredUsersAreMerged) {
  EXPECT_EQ(node_.Code(R"({"createUser": "old", "pwd": "p", "roles": []})"), 0);
  EXPECT_EQ(node_.Batch(R"({"find": "c", "limit": 0, "filter": {"_id": -1}})"), "[]");
  node_.Run(R"({"insert": "tempusers", "documents": [{"_id": "test.new", "user": "new",
      "db": "test", "credentials": {}, "roles": [{"role": "read", "db": "test"}]}]})",
            "admin");
  EXPECT_EQ(node_.Code(R"({"_mergeAuthzCollections": 1, "db": "", "drop": true})", "admin"),
            kBadValue);
  EXPECT_EQ(node_.Code(R"({"_mergeAuthzCollections": 1, "tempUsersCollection": "admin.tempusers",
      "db": "", "drop": false})",
                       "admin"),
            0);
  auto users = [&] {
    const bson::Document shown = node_.Run(R"({"usersInfo": 1})");
    std::string names;
    for (const bson::Element& e : shown["users"].AsArray()) {
      names += std::string(e.value().AsDocument()["user"].AsString()) + " ";
    }
    return names;
  };
  EXPECT_EQ(users(), "new old ");
  EXPECT_EQ(node_.Code(R"({"_mergeAuthzCollections": 1, "tempUsersCollection": "admin.tempusers",
      "db": "", "drop": true})",
                       "admin"),
            0);
  EXPECT_EQ(users(), "new ");
  const bson::Document version =
      node_.Run(R"({"find": "system.version", "filter": {"_id": "authSchema"}})", "admin");
  EXPECT_EQ(bson::ToJson(version["cursor"].AsDocument()["firstBatch"]),
            R"([{"_id":"authSchema","currentVersion":5}])");
}

TEST_F(DifferencesTest, TheOplogIsACappedCollection) {
  // It is a capped collection, and what is no view for others.
  auto error = [&](std::string_view json) {
    const bson::Document reply = node_.Run(json, "local");
    return reply["code"].missing() ? std::string(reply["errmsg"].missing() ? "" : "?")
                                   : std::to_string(reply["code"].AsInt32()) + " " +
                                         std::string(reply["errmsg"].AsString());
  };
  for (const char* write :
       {R"({"insert": "oplog.rs", "documents": [{"a": 1}]})",
        R"({"update": "oplog.rs", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]})",
        R"({"delete": "oplog.rs", "deletes": [{"q": {}, "limit": 0}]})",
        R"({"findAndModify": "oplog.rs", "query": {}, "remove": true})"}) {
    EXPECT_EQ(error(write), "73 cannot write to local.oplog.rs") << write;
  }
  EXPECT_EQ(error(R"({"drop": "oplog.rs"})"), "5255000 can't drop live oplog while replicating");
  EXPECT_EQ(error(R"({"createIndexes": "oplog.rs", "indexes": [{"key": {"a": 1}, "name": "a"}]})"),
            "67 cannot have an index on the oplog");
  EXPECT_EQ(error(R"({"collMod": "oplog.rs", "cappedSize": 2000000})"),
            "72 Cannot resize the oplog using this command. Use the 'replSetResizeOplog' command "
            "instead.");
  EXPECT_EQ(
      error(R"({"collMod": "oplog.rs", "index": {"name": "a", "hidden": true}})").substr(0, 3),
      "27 ");
  EXPECT_EQ(error(R"({"dropIndexes": "oplog.rs", "index": "a"})").substr(0, 3), "27 ");
  EXPECT_EQ(error(R"({"convertToCapped": "oplog.rs", "size": 100000})"),
            "20 can't convert the live oplog: local.oplog.rs");
  EXPECT_EQ(error(R"({"cloneCollectionAsCapped": "oplog.rs", "toCollection": "x", "size": 9999})"),
            "20 The oplog can only be read on its own");
  EXPECT_EQ(error(R"({"dataSize": "local.oplog.rs", "keyPattern": {"_id": 1}, "min": {"_id": 1},
                      "max": {"_id": 2}})"),
            "96 couldn't find valid index containing key pattern");
  for (const char* allowed :
       {R"({"dropIndexes": "oplog.rs", "index": "*"})", R"({"planCacheClear": "oplog.rs"})",
        R"({"planCacheListFilters": "oplog.rs"})", R"({"compact": "oplog.rs"})",
        R"({"compact": "oplog.rs", "dryRun": true})", R"({"collMod": "oplog.rs"})"}) {
    EXPECT_EQ(error(allowed), "") << allowed;
  }
  const bson::Document indexes = node_.Run(R"({"listIndexes": "oplog.rs"})", "local");
  EXPECT_TRUE(indexes["cursor"].AsDocument()["firstBatch"].AsArray().empty());
  const bson::Document count =
      node_.Run(R"({"count": "oplog.rs", "query": {"ts": {"$exists": true}}})", "local");
  const int entries = count["n"].AsInt32();
  EXPECT_GT(entries, 0);
  const bson::Document valid = node_.Run(R"({"validate": "oplog.rs"})", "local");
  EXPECT_TRUE(valid["valid"].AsBool());
  EXPECT_EQ(valid["nrecords"].AsInt32(), entries);
  const bson::Document size = node_.Run(R"({"dataSize": "local.oplog.rs"})", "local");
  EXPECT_EQ(size["numObjects"].AsInt64(), entries);
  EXPECT_GT(size["size"].AsInt64(), 0);
  const bson::Document reduced = node_.Run(
      R"({"mapReduce": "oplog.rs", "map": "function() { emit(1, 1); }",
          "reduce": "function(key, values) { return values.length; }", "out": {"inline": 1}})",
      "local");
  EXPECT_EQ(bson::ToJson(reduced["results"]),
            R"([{"_id":1.0,"value":)" + std::to_string(entries) + ".0}]");

  const bson::Document stats = node_.Run(R"({"collStats": "oplog.rs"})", "local");
  EXPECT_GT(stats["count"].AsInt32(), 3);
  EXPECT_GT(stats["size"].AsInt32(), 0);
  EXPECT_TRUE(stats["capped"].AsBool());
  EXPECT_EQ(node_.Code(R"({"aggregate": "oplog.rs", "pipeline": [{"$collStats": {"count": {},
      "storageStats": {}}}], "cursor": {}})",
                       "local"),
            0);
}

}  // namespace
}  // namespace quire::command
