// SPDX-License-Identifier: Apache-2.0
#include "command/testing/harness.h"

namespace quire::command {
namespace {

class ClusteredPlans : public testing::Test {
 protected:
  ClusteredPlans() {
    EXPECT_EQ(node_.Code(R"({"create": "c", "clusteredIndex": {"key": {"_id": 1}, "unique": true,
        "name": "by id"}})"),
              0);
    node_.Run(R"({"insert": "c", "documents": [{"_id": 4, "a": 1}, {"_id": "s", "a": 1},
        {"_id": 1, "a": 2}, {"_id": 3, "a": 3}, {"_id": 2, "a": 1}, {"_id": null, "a": 9}]})");
  }

  // The stages of a command's winning plan, from the top.
  std::string Plan(const std::string& command) {
    bson::Document reply =
        node_.Run(R"({"explain": )" + command + R"(, "verbosity": "queryPlanner"})");
    if (reply["ok"].AsDouble() != 1) {
      return std::to_string(reply["code"].AsInt32());
    }
    bson::Builder stages;
    for (const bson::Element& e : reply["queryPlanner"].AsDocument()["winningPlan"].AsDocument()) {
      if (e.name() != "isCached") {
        stages.Append(e);
      }
    }
    return bson::ToJson(stages.Finish());
  }

  Node node_;
};

TEST_F(ClusteredPlans, PredicatesOnIdBoundTheScan) {
  struct Case {
    std::string find;
    std::string plan;
    std::string found;
  };
  const Case kCases[] = {
      {R"("filter": {"_id": 3.0}, "projection": {"_id": 1, "a": 1})",
       R"({"stage":"PROJECTION_SIMPLE","transformBy":{"_id":1,"a":1},"inputStage":{)"
       R"("stage":"CLUSTERED_IXSCAN","filter":{"_id":{"$eq":3.0}},"direction":"forward",)"
       R"("minRecord":3,"maxRecord":3}})",
       R"([{"_id":3,"a":3}])"},
      {R"("filter": {"_id": {"$lt": 3}})",
       R"({"stage":"CLUSTERED_IXSCAN","filter":{"_id":{"$lt":3}},"direction":"forward",)"
       R"("minRecord":{"$numberDouble":"NaN"},"maxRecord":3})",
       R"([{"_id":1,"a":2},{"_id":2,"a":1}])"},
      {R"("filter": {"_id": {"$gte": 3}, "a": 1})",
       R"({"stage":"CLUSTERED_IXSCAN","filter":{"$and":[{"a":{"$eq":1}},{"_id":{"$gte":3}}]},)"
       R"("direction":"forward","minRecord":3,"maxRecord":{"$numberDouble":"Infinity"}})",
       R"([{"_id":4,"a":1}])"},
      {R"("filter": {"_id": {"$in": [4, 1]}}, "sort": {"_id": -1})",
       R"({"stage":"CLUSTERED_IXSCAN","filter":{"_id":{"$in":[1,4]}},"direction":"backward",)"
       R"("minRecord":1,"maxRecord":4})",
       R"([{"_id":4,"a":1},{"_id":1,"a":2}])"},
      {R"("filter": {"_id": {"$gt": 3, "$lt": 2}})",
       R"({"stage":"CLUSTERED_IXSCAN","filter":{"$and":[{"_id":{"$lt":2}},{"_id":{"$gt":3}}]},)"
       R"("direction":"forward","minRecord":3,"maxRecord":2})",
       "[]"},
      {R"("filter": {"_id": {"$lte": {"$maxKey": 1}}}, "projection": {"_id": 1})",
       R"({"stage":"PROJECTION_SIMPLE","transformBy":{"_id":1},"inputStage":{)"
       R"("stage":"CLUSTERED_IXSCAN","filter":{"_id":{"$lte":{"$maxKey":1}}},)"
       R"("direction":"forward","maxRecord":{"$maxKey":1}}})",
       R"([{"_id":null},{"_id":1},{"_id":2},{"_id":3},{"_id":4},{"_id":"s"}])"},
      {R"("filter": {"_id": null})",
       R"({"stage":"CLUSTERED_IXSCAN","filter":{"_id":{"$eq":null}},"direction":"forward",)"
       R"("minRecord":null,"maxRecord":null})",
       R"([{"_id":null,"a":9}])"},
      {R"("filter": {"a": 1}, "sort": {"_id": 1})",
       R"({"stage":"COLLSCAN","filter":{"a":{"$eq":1}},"direction":"forward"})",
       R"([{"_id":2,"a":1},{"_id":4,"a":1},{"_id":"s","a":1}])"},
  };
  for (const Case& c : kCases) {
    std::string find = R"({"find": "c", )" + c.find + "}";
    EXPECT_EQ(Plan(find), c.plan) << c.find;
    EXPECT_EQ(node_.Batch(find), c.found) << c.find;
  }
}

TEST_F(ClusteredPlans, HintsNameTheClusteredIndex) {
  const std::string whole = R"({"stage":"COLLSCAN","direction":"forward"})";
  EXPECT_EQ(Plan(R"({"find": "c", "hint": {"_id": 1}})"), whole);
  EXPECT_EQ(Plan(R"({"find": "c", "hint": "by id"})"), whole);
  EXPECT_EQ(Plan(R"({"find": "c", "hint": {"_id": -1}})"), "2");
  EXPECT_EQ(Plan(R"({"find": "c", "hint": "_id_"})"), "2");
  EXPECT_EQ(Plan(R"({"find": "c", "filter": {"_id": 2}, "hint": {"$natural": -1}})"),
            R"({"stage":"CLUSTERED_IXSCAN","filter":{"_id":{"$eq":2}},"direction":"backward",)"
            R"("minRecord":2,"maxRecord":2})");
  EXPECT_EQ(node_.Batch(R"({"find": "c", "hint": "by id", "min": {"_id": 2}, "max": {"_id": 4}})"),
            R"([{"_id":2,"a":1},{"_id":3,"a":3}])");
  EXPECT_EQ(Plan(R"({"find": "c", "hint": "by id", "min": {"_id": 2}, "max": {"_id": 4}})"),
            R"({"stage":"CLUSTERED_IXSCAN","direction":"forward","minRecord":2,"maxRecord":4})");
  EXPECT_EQ(Plan(R"({"find": "c", "hint": "by id", "min": {"_id": 4}, "max": {"_id": 4}})"),
            "6137401");
  EXPECT_EQ(Plan(R"({"find": "c", "hint": "by id", "min": {"a": 4}})"), "51174");
}

TEST_F(ClusteredPlans, ANaturalHintSortsIntoTheOtherDirection) {
  EXPECT_EQ(Plan(R"({"find": "c", "hint": {"$natural": -1}, "sort": {"_id": -1}})"),
            R"({"stage":"COLLSCAN","direction":"backward"})");
  EXPECT_NE(Plan(R"({"find": "c", "hint": {"$natural": 1}, "sort": {"_id": -1}})").find("SORT"),
            std::string::npos);
}

TEST_F(ClusteredPlans, OtherIndexesCompeteWithTheBounds) {
  node_.Run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})");
  EXPECT_EQ(Plan(R"({"find": "c", "filter": {"a": 3}})").find("CLUSTERED"), std::string::npos);
  bson::Document reply = node_.Run(R"({"explain": {"find": "c", "filter": {"a": 1, "_id": 4}},
      "verbosity": "queryPlanner"})");
  EXPECT_EQ(reply["queryPlanner"].AsDocument()["rejectedPlans"].AsArray().Count(), 1U);
}

TEST_F(ClusteredPlans, WritesGoThroughIt) {
  EXPECT_NE(Plan(R"({"update": "c", "updates": [{"q": {"_id": 3}, "u": {"$inc": {"a": 1}}}]})")
                .find("CLUSTERED_IXSCAN"),
            std::string::npos);
  node_.Run(R"({"update": "c", "updates": [{"q": {"_id": {"$gt": 1, "$lt": 4}},
      "u": {"$set": {"a": 0}}, "multi": true}]})");
  node_.Run(R"({"delete": "c", "deletes": [{"q": {"_id": {"$gte": 3}}, "limit": 0,
      "hint": "by id"}]})");
  EXPECT_EQ(node_.Batch(R"({"find": "c"})"),
            R"([{"_id":null,"a":9},{"_id":1,"a":2},{"_id":2,"a":0},{"_id":"s","a":1}])");
}

TEST_F(ClusteredPlans, CreateIndexesMakesNone) {
  const std::string clustered = R"("name": "n", "clustered": true, "unique": true}]})";
  auto create = [&](const std::string& collection, const std::string& key) {
    return node_.Code(R"({"createIndexes": ")" + collection + R"(", "indexes": [{"key": )" + key +
                      ", " + clustered);
  };
  EXPECT_EQ(create("c", R"({"_id": 1})"), 0);
  EXPECT_EQ(create("c", R"({"a": 1})"), 6243700);
  EXPECT_EQ(create("none", R"({"_id": 1})"), 6100900);
  node_.Run(R"({"create": "plain"})");
  EXPECT_EQ(create("plain", R"({"_id": 1})"), 6243700);
  EXPECT_EQ(node_.Batch(R"({"listIndexes": "c"})"),
            R"([{"v":2,"key":{"_id":1},"name":"by id","unique":true,"clustered":true}])");
}

TEST_F(ClusteredPlans, RecordIdsAreTheIds) {
  EXPECT_EQ(node_.Batch(R"({"find": "c", "filter": {"_id": {"$in": [2, "s"]}},
      "projection": {"_id": 0, "a": 1}, "showRecordId": true})"),
            R"([{"a":1,"$recordId":2},{"a":1,"$recordId":"s"}])");
}

TEST_F(ClusteredPlans, KeysHaveALimitAndNumbersWithoutType) {
  auto insert = [&](const std::string& id) {
    bson::Document reply = node_.Run(R"({"insert": "c", "documents": [{"_id": )" + id + "}]}");
    bson::Value errors = reply["writeErrors"];
    return errors.missing() ? 0 : errors.AsArray().front().value().AsDocument()["code"].AsInt32();
  };
  constexpr size_t kMost = size_t{8} << 20;
  auto text = [](size_t length) {
    std::string json(length + 2, 'x');
    json.front() = json.back() = '"';
    return json;
  };
  EXPECT_EQ(insert(text(kMost - 2)), 0);
  EXPECT_EQ(insert(text(kMost - 1)), 5894900);
  EXPECT_EQ(insert(R"({"$numberDouble": "NaN"})"), 0);
  EXPECT_EQ(insert(R"({"$numberDecimal": "NaN"})"), 50819);
  EXPECT_EQ(insert(R"({"$numberDouble": "-Infinity"})"), 0);
  EXPECT_EQ(insert(R"({"$numberDouble": "-Infinity"})"), 50826);
  EXPECT_EQ(insert("4"), 11000);
}

TEST(ClusteredCollation, BoundsFollowTheCollectionsCollation) {
  Node node;
  ASSERT_EQ(node.Code(R"({"create": "c", "clusteredIndex": {"key": {"_id": 1}, "unique": true},
      "collation": {"locale": "en", "strength": 2}})"),
            0);
  node.Run(R"({"insert": "c", "documents": [{"_id": "b"}, {"_id": "A"}, {"_id": "C"},
      {"_id": 7}]})");
  EXPECT_EQ(node.Batch(R"({"find": "c", "filter": {"_id": "a"}})"), R"([{"_id":"A"}])");
  EXPECT_EQ(node.Batch(R"({"find": "c", "filter": {"_id": {"$gte": "B"}}})"),
            R"([{"_id":"b"},{"_id":"C"}])");
  const std::string simple = R"(, "collation": {"locale": "simple"}})";
  EXPECT_EQ(node.Batch(R"({"find": "c", "filter": {"_id": {"$gte": "B"}})" + simple),
            R"([{"_id":"b"},{"_id":"C"}])");
  EXPECT_EQ(node.Batch(R"({"find": "c", "filter": {"_id": "a"})" + simple), "[]");
  EXPECT_EQ(node.Batch(R"({"find": "c", "filter": {"_id": 7})" + simple), R"([{"_id":7}])");
  EXPECT_EQ(node.Batch(R"({"find": "c", "sort": {"_id": 1})" + simple),
            R"([{"_id":7},{"_id":"A"},{"_id":"C"},{"_id":"b"}])");
  EXPECT_EQ(node.Code(R"({"find": "c", "hint": "_id_", "min": {"_id": "a"})" + simple), 6137400);
}

}  // namespace
}  // namespace quire::command
