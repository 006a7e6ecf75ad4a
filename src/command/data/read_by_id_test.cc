// SPDX-License-Identifier: Apache-2.0
//
// Commands whose filter is an _id take a shorter way than others. The same filter with $eq takes
// the long one: the answers are the same.
#include <string>
#include <vector>

#include "command/testing/harness.h"

namespace quire::command {
namespace {

const std::vector<std::string>& Ids() {
  static const std::vector<std::string> ids = {
      "1",
      R"({"$numberLong": "1"})",
      "1.0",
      "2.5",
      R"({"$numberDecimal": "2.50"})",
      R"("a")",
      R"("A")",
      "true",
      R"({"$oid": "000102030405060708090a0b"})",
      R"({"$date": 5})",
      R"({"$binary": {"base64": "AAEC", "subType": "00"}})",
      R"({"b": 1})",
      R"({"b": 1.0})",
      "null",
      R"({"$minKey": 1})",
      R"({"$numberDouble": "NaN"})",
      R"({"b": {"$gt": 1}})",
      R"("missing")",
      "99"};
  return ids;
}

// One of each kind of collection, all with the same documents: of several types and, inserted
// together, enough to lie in groups.
void Fill(Node& node) {
  std::string documents = R"({"_id": 2.5, "n": 0}, {"_id": "a", "n": 0}, {"_id": true, "n": 0},
      {"_id": {"$oid": "000102030405060708090a0b"}, "n": 0}, {"_id": {"$date": 5}, "n": 0},
      {"_id": {"$binary": {"base64": "AAEC", "subType": "00"}}, "n": 0},
      {"_id": {"b": 1}, "n": 0}, {"_id": null, "n": 0}, {"_id": {"$minKey": 1}, "n": 0},
      {"_id": {"$numberDouble": "NaN"}, "n": 0})";
  for (int i = 0; i < 100; ++i) {
    if (i != 99) {
      documents += R"(, {"_id": )" + std::to_string(i) + R"(, "n": 0})";
    }
  }
  const std::string collation = R"("collation": {"locale": "en", "strength": 2})";
  ASSERT_EQ(node.Code(R"({"create": "plain"})"), 0);
  ASSERT_EQ(node.Code(R"({"create": "folded", )" + collation + "}"), 0);
  ASSERT_EQ(node.Code(R"({"create": "capped", "capped": true, "size": 100000})"), 0);
  ASSERT_EQ(
      node.Code(
          R"({"create": "clustered", "clusteredIndex": {"key": {"_id": 1}, "unique": true}})"),
      0);
  for (const char* name : {"plain", "folded", "capped", "clustered"}) {
    ASSERT_EQ(node.Code(R"({"insert": ")" + std::string(name) + R"(", "documents": [)" + documents +
                        "]}"),
              0);
  }
  ASSERT_EQ(
      node.Code(
          R"({"create": "view", "viewOn": "plain", "pipeline": [{"$match": {"_id": {"$ne": 1}}}]})"),
      0);
}

const std::vector<std::string>& Collections() {
  static const std::vector<std::string> names = {"plain",     "folded", "capped",
                                                 "clustered", "view",   "nothing"};
  return names;
}

TEST(ReadById, FindsWhatAFilterFinds) {
  Node node;
  Fill(node);
  const std::vector<std::string> options = {"",
                                            R"(, "limit": 1)",
                                            R"(, "limit": -1)",
                                            R"(, "limit": 2)",
                                            R"(, "batchSize": 0)",
                                            R"(, "batchSize": 1)",
                                            R"(, "batchSize": 2)",
                                            R"(, "batchSize": 1, "singleBatch": true)",
                                            R"(, "skip": 1)",
                                            R"(, "sort": {"n": 1})",
                                            R"(, "projection": {"n": 1, "_id": 0})",
                                            R"(, "hint": {"$natural": 1})",
                                            R"(, "showRecordId": true)",
                                            R"(, "returnKey": true)",
                                            R"(, "collation": {"locale": "en", "strength": 2})",
                                            R"(, "let": {"x": 1})",
                                            R"(, "max": {"_id": 50}, "hint": {"_id": 1})",
                                            R"(, "readConcern": {"level": "majority"})",
                                            R"(, "tailable": true)",
                                            R"(, "maxTimeMS": 100000, "comment": "c")"};
  for (const std::string& collection : Collections()) {
    for (const std::string& id : Ids()) {
      for (const std::string& option : options) {
        const std::string begin = R"({"find": ")" + collection + R"(", "filter": {"_id": )";
        const bson::Document short_way = node.Run(begin + id + "}" + option + "}");
        const bson::Document long_way = node.Run(begin + R"({"$eq": )" + id + "}}" + option + "}");
        const std::string text = bson::ToJson(short_way["cursor"].missing()
                                                  ? short_way["code"]
                                                  : short_way["cursor"].AsDocument()["firstBatch"]);
        EXPECT_EQ(text, bson::ToJson(long_way["cursor"].missing()
                                         ? long_way["code"]
                                         : long_way["cursor"].AsDocument()["firstBatch"]))
            << begin << id << option;
        // The long way does not know that a full batch was all.
        if (option != R"(, "batchSize": 1)" && !short_way["cursor"].missing()) {
          EXPECT_EQ(short_way["cursor"].AsDocument()["id"].AsInt64() == 0,
                    long_way["cursor"].AsDocument()["id"].AsInt64() == 0)
              << begin << id << option;
        }
      }
    }
  }
}

TEST(ReadById, WritesWhatAFilterFinds) {
  const std::vector<std::pair<std::string, std::string>> writes = {
      {R"({"update": "@", "updates": [{"q": {"_id": )", R"(}, "u": {"$inc": {"n": 1}}}]})"},
      {R"({"update": "@", "updates": [{"q": {"_id": )", R"(}, "u": {"n": 7}, "upsert": true}]})"},
      {R"({"update": "@", "updates": [{"q": {"_id": )",
       R"(}, "u": [{"$set": {"m": "$n"}}], "multi": true}]})"},
      {R"({"findAndModify": "@", "query": {"_id": )",
       R"(}, "update": {"$inc": {"n": 1}}, "new": true})"},
      {R"({"findAndModify": "@", "query": {"_id": )",
       R"(}, "update": {"$set": {"m": 1}}, "fields": {"m": 1}, "upsert": true})"},
      {R"({"findAndModify": "@", "query": {"_id": )", R"(}, "remove": true})"},
      {R"({"delete": "@", "deletes": [{"q": {"_id": )", R"(}, "limit": 1}]})"}};
  Node short_way;
  Node long_way;
  Fill(short_way);
  Fill(long_way);
  for (const auto& [begin, end] : writes) {
    for (const char* collection : {"plain", "folded", "clustered", "nothing"}) {
      for (const std::string& id : Ids()) {
        std::string command = begin;
        command.replace(command.find('@'), 1, collection);
        EXPECT_EQ(short_way.Json(command + id + end),
                  long_way.Json(command + R"({"$eq": )" + id + "}" + end))
            << command << id;
      }
      const std::string all = R"({"find": ")" + std::string(collection) +
                              R"(", "sort": {"_id": 1}, "batchSize": 1000})";
      EXPECT_EQ(short_way.Batch(all), long_way.Batch(all)) << begin;
    }
  }
}

TEST(ReadById, IsShownAsThePlanItStandsFor) {
  Node node;
  Fill(node);
  ASSERT_EQ(node.Code(R"({"profile": 2})"), 0);
  node.Run(R"({"find": "plain", "filter": {"_id": 5}})");
  EXPECT_EQ(node.Batch(R"({"find": "system.profile", "filter": {"command.find": "plain"},
      "projection": {"_id": 0, "planSummary": 1, "keysExamined": 1, "docsExamined": 1, "nreturned": 1}})"),
            R"([{"keysExamined":1,"docsExamined":1,"nreturned":1,"planSummary":"IDHACK"}])");
}

}  // namespace
}  // namespace quire::command
