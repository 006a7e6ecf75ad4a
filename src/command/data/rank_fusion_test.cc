// SPDX-License-Identifier: Apache-2.0
#include "command/testing/harness.h"

namespace quire::command {
namespace {

constexpr const char* kDocuments = R"({"insert": "c", "documents": [
    {"_id": 1, "a": 30, "b": 10}, {"_id": 2, "a": 20, "b": 30}, {"_id": 3, "a": 10, "b": 20}]})";

std::string Aggregate(const std::string& pipeline) {
  return R"({"aggregate": "c", "cursor": {}, "pipeline": [)" + pipeline + "]}";
}

std::string Fusion(const std::string& pipelines, const std::string& rest = "") {
  return R"({"$rankFusion": {"input": {"pipelines": {)" + pipelines + "}}" + rest + "}}";
}

constexpr const char* kBoth = R"("p": [{"$sort": {"a": -1}}], "q": [{"$sort": {"b": -1}}])";
constexpr const char* kIds = R"({"$project": {"_id": 1}})";

TEST(RankFusion, OrdersByTheSumOfReciprocalRanks) {
  Node node;
  node.Run(kDocuments);
  EXPECT_EQ(node.Batch(Aggregate(Fusion(kBoth) + ", " + kIds)),
            R"([{"_id":2},{"_id":1},{"_id":3}])");
  EXPECT_EQ(node.Batch(Aggregate(Fusion(kBoth, R"(, "combination": {"weights": {"p": 2}})") + ", " +
                                 kIds)),
            R"([{"_id":1},{"_id":2},{"_id":3}])");
}

TEST(RankFusion, DocumentsOfOneSourceOnlyAreThere) {
  Node node;
  node.Run(kDocuments);
  std::string fusion = Fusion(
      R"("p": [{"$match": {"_id": 1}}, {"$sort": {"a": 1}}],
         "q": [{"$sort": {"b": 1}}, {"$skip": 1}, {"$limit": 1}])");
  EXPECT_EQ(node.Batch(Aggregate(fusion)), R"([{"_id":1,"a":30,"b":10},{"_id":3,"a":10,"b":20}])");
}

TEST(RankFusion, EqualKeysShareARankAndIdsDecide) {
  Node node;
  node.Run(
      R"({"insert": "c", "documents": [{"_id": "z", "a": 5}, {"_id": "b"}, {"_id": "a", "a": null}]})");
  std::string scores = R"({"$project": {"s": {"$multiply": [{"$meta": "score"}, 61]}}})";
  EXPECT_EQ(node.Batch(Aggregate(Fusion(R"("p": [{"$sort": {"a": 1}}])") + ", " + scores)),
            R"([{"_id":"a","s":1.0},{"_id":"b","s":1.0},{"_id":"z","s":0.9682539682539681}])");
}

TEST(RankFusion, TellsHowAScoreCameAbout) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}]})");
  std::string fusion =
      Fusion(R"("q": [{"$match": {"a": 7}}, {"$sort": {"a": 1}}], "p": [{"$sort": {"a": 1}}])",
             R"(, "scoreDetails": true)");
  EXPECT_EQ(node.Batch(Aggregate(fusion + R"(, {"$sort": {"a": 1}},
                {"$project": {"_id": 0, "d": {"$getField": {"field": "details", "input": {"$meta": "scoreDetails"}}}}})")),
            R"([{"d":[{"inputPipelineName":"p","rank":1,"weight":1.0,"details":[]},)"
            R"({"inputPipelineName":"q","rank":"NA"}]}])");
  EXPECT_EQ(
      node.Code(Aggregate(Fusion(kBoth) + R"(, {"$project": {"d": {"$meta": "scoreDetails"}}})")),
      40218);
}

TEST(RankFusion, WorksInSubPipelinesAndOnViews) {
  Node node;
  node.Run(kDocuments);
  node.Run(R"({"create": "v", "viewOn": "c", "pipeline": [{"$match": {"_id": {"$lt": 3}}}]})");
  std::string fusion = Fusion(kBoth);
  EXPECT_EQ(
      node.Batch(R"({"aggregate": "v", "cursor": {}, "pipeline": [)" + fusion + ", " + kIds + "]}"),
      R"([{"_id":1},{"_id":2}])");
  EXPECT_EQ(node.Batch(Aggregate(R"({"$facet": {"f": [)" + fusion + ", " + kIds + "]}}")),
            R"([{"f":[{"_id":2},{"_id":1},{"_id":3}]}])");
  EXPECT_EQ(
      node.Batch(Aggregate(R"({"$limit": 1}, {"$lookup": {"from": "v", "as": "l", "pipeline": [)" +
                           fusion + ", " + kIds + R"(]}}, {"$project": {"_id": 0, "l": 1}})")),
      R"([{"l":[{"_id":1},{"_id":2}]}])");
}

TEST(RankFusion, UsesAnIndexForItsFirstSource) {
  Node node;
  node.Run(kDocuments);
  node.Run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})");
  std::string explain = node.Json(R"({"explain": )" + Aggregate(Fusion(kBoth)) + "}");
  EXPECT_NE(explain.find(R"("indexName":"a_1")"), std::string::npos) << explain;
}

TEST(RankFusion, Refuses) {
  Node node;
  node.Run(kDocuments);
  const std::pair<std::string, int> cases[] = {
      {R"({"$rankFusion": 1})", 9},
      {R"({"$rankFusion": {}})", 40414},
      {R"({"$rankFusion": {"input": {"pipelines": {}}}})", 2},
      {R"({"$rankFusion": {"input": {"pipelines": 5}}})", 14},
      {R"({"$rankFusion": {"input": {"pipelines": {}, "x": 1}}})", 40415},
      {Fusion(R"("p": [])"), 9834300},
      {Fusion(R"("p": 1)"), 14},
      {Fusion(R"("p": [{"$match": {}}])"), 9191100},
      {Fusion(R"("p": [{"$sort": {"a": 1}}, {"$project": {"a": 1}}])"), 9191103},
      {Fusion(R"("p": [{"$sort": {"a": 1}}, {"$limit": 0}])"), 15958},
      {Fusion(R"("p": [{"$sort": {"a": 1}}, {"what": 0}])"), 40324},
      {Fusion(R"("p": [{"$rankFusion": {}}])"), 10473002},
      {Fusion(R"("p": [{"$sort": {"a": 1}}, {"$rankFusion": {}}])"), 10170100},
      {Fusion(R"("p.q": [{"$sort": {"a": 1}}])"), 16412},
      {Fusion(kBoth, R"(, "combination": {})"), 40414},
      {Fusion(kBoth, R"(, "combination": {"weights": {"x": 1}})"), 9967500},
      {Fusion(kBoth, R"(, "combination": {"weights": {"p": -1}})"), 9460300},
      {Fusion(kBoth, R"(, "combination": {"weights": {"p": "1"}})"), 13118},
      {Fusion(kBoth, R"(, "combination": {"weights": {"p": 1, "q": 1, "r": 1}})"), 9460301},
      {Fusion(kBoth, R"(, "scoreDetails": 1)"), 14},
      {R"({"$match": {}}, )" + Fusion(kBoth), 10170100},
  };
  for (const auto& [pipeline, code] : cases) {
    EXPECT_EQ(node.Code(Aggregate(pipeline)), code) << pipeline;
  }
  EXPECT_EQ(node.Code(R"({"aggregate": 1, "cursor": {}, "pipeline": [)" + Fusion(kBoth) + "]}"),
            73);
}

}  // namespace
}  // namespace quire::command
