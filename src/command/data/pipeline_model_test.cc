// SPDX-License-Identifier: Apache-2.0
//
// Random pipelines over indexed collections: the result is the same with every rewrite on, with
// each one off, with all off, with stages that must spill, and on several threads at once.
// QUIRE_MODEL_SEED repeats a run.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <thread>

#include "command/testing/harness.h"
#include "pipeline/rewrite.h"

namespace quire::command {
namespace {

constexpr int kDocuments = 120;
constexpr int kPipelines = 60;

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  int Below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  std::string Pick(std::initializer_list<const char*> choices) {
    return choices.begin()[Below(static_cast<int>(choices.size()))];
  }

  std::string Scalar() {
    switch (Below(6)) {
      case 0:
        return "null";
      case 1:
        return Pick({R"("x")", R"("y")", R"("")"});
      case 2:
        return "true";
      default:
        return std::to_string(Below(6));
    }
  }

  std::string Document(int id) {
    std::string text = R"({"_id": )" + std::to_string(id) + R"(, "n": )" + std::to_string(Below(9));
    for (const char* name : {"a", "b", "c"}) {
      if (Below(5) > 0) {
        text += R"(, ")" + std::string(name) + R"(": )" + Scalar();
      }
    }
    if (Below(3) > 0) {
      text += R"(, "s": {"x": )" + Scalar() + R"(, "y": )" + Scalar() + "}";
    }
    text += R"(, "t": [)";
    for (int n = Below(4); n > 0; --n) {
      text += Scalar() + (n > 1 ? ", " : "");
    }
    return text + "]}";
  }

  std::string Condition() {
    switch (Below(5)) {
      case 0:
        return Scalar();
      case 1:
        return R"({"$in": [)" + Scalar() + ", " + Scalar() + "]}";
      case 2:
        return R"({"$ne": )" + Scalar() + "}";
      case 3:
        return R"({"$exists": )" + Pick({"true", "false"}) + "}";
      default:
        return R"({")" + Pick({"$gt", "$gte", "$lt", "$lte"}) + R"(": )" +
               std::to_string(Below(6)) + "}";
    }
  }

  std::string Match(std::initializer_list<const char*> fields) {
    std::string text = R"({"$match": {")" + Pick(fields) + R"(": )" + Condition();
    if (Below(2) == 0) {
      text += R"(, "$and": [{")" + Pick(fields) + R"(": )" + Condition() + R"(}, {"$or": [{")" +
              Pick(fields) + R"(": )" + Condition() + R"(}, {")" + Pick(fields) + R"(": )" +
              Condition() + "}]}]";
    }
    return text + "}}";
  }

  // Rows have an _id of their own while nothing was unwound, so a cut after a sort is exact.
  std::string Cut() {
    return R"({"$sort": {")" + Pick({"a", "n", "s.x"}) + R"(": )" + Pick({"1", "-1"}) +
           R"(, "_id": 1}}, {"$skip": )" + std::to_string(Below(4)) + R"(}, {"$limit": )" +
           std::to_string(1 + Below(30)) + "}";
  }

  std::string Group() {
    std::string key =
        Pick({R"("$a")", R"("$b")", R"("$s.x")", R"({"p": "$a", "q": "$b"})", "null"});
    std::string text = R"({"$group": {"_id": )" + key;
    if (Below(3) > 0) {
      text += R"(, "k": {"$sum": 1}, "m": {"$max": "$n"})";
    }
    return text + R"(}}, )" + Match({"_id", "_id.p", "k"});
  }

  std::string Join() {
    std::string text = R"({"$lookup": {"from": "d", "localField": ")" + Pick({"a", "n", "t"}) +
                       R"(", "foreignField": ")" + Pick({"a", "b", "n"}) + R"(", "as": "j"}})";
    if (Below(4) > 0) {
      text += Below(2) == 0
                  ? R"(, {"$unwind": "$j"})"
                  : R"(, {"$unwind": {"path": "$j", "preserveNullAndEmptyArrays": true}})";
      unwound_ = true;
      text += ", " + Match({"j.c", "j.n", "a", "b"});
    } else {
      text += R"(, {"$project": {"j": {"$size": "$j"}, "a": 1, "n": 1}})";
    }
    return text;
  }

  // Rows in an order of their own, so that windows are exact.
  std::string Window() {
    return R"({"$setWindowFields": {"partitionBy": ")" + Pick({"$a", "$b", "$n"}) +
           R"(", "sortBy": {"_id": 1}, "output": {"w": {")" +
           Pick({"$sum", "$max", "$min", "$push", "$avg"}) +
           R"(": "$n", "window": {"documents": )" +
           Pick({R"(["unbounded", "current"])", "[-2, 1]", R"(["current", "unbounded"])"}) +
           "}}}}}";
  }

  std::string Last() {
    switch (Below(6)) {
      case 0:
        return R"({"$sortByCount": ")" + Pick({"$a", "$s.x"}) + R"("})";
      case 1:
        return R"({"$facet": {"x": [{"$match": {"a": )" + Condition() +
               R"(}}, {"$count": "k"}], "y": [{"$group": {"_id": "$b", "k": {"$sum": 1}}}, )" +
               R"({"$sort": {"_id": 1}}]}})";
      case 2:
        return R"({"$bucketAuto": {"groupBy": "$n", "buckets": )" + std::to_string(1 + Below(4)) +
               "}}";
      case 3:
        return R"({"$project": {"n": 1, "a": 1}}, {"$densify": {"field": "n", )"
               R"("partitionByFields": ["a"], "range": {"step": 1, "bounds": "full"}}})";
      case 4:
        return R"({"$count": "k"})";
      default:
        return Group();
    }
  }

  std::string Stage() {
    switch (Below(9)) {
      case 0:
        return R"({"$project": {"c": 0}})";
      case 1:
        return R"({"$addFields": {"c": {"$add": ["$n", 1]}}})";
      case 2:
        unwound_ = true;
        return R"({"$unwind": "$t"})";
      case 3:
        return R"({"$project": {"a": 1, "b": 1, "n": 1, "s": 1, "t": 1}})";
      case 4:
        return unwound_ ? Match({"a", "b"}) : Cut();
      case 5:
        return joined_ ? Match({"n", "s.y"}) : (joined_ = true, Join());
      case 6:
        return unwound_ ? Match({"b", "n"}) : Window();
      default:
        return Match({"a", "b", "c", "n", "s.x", "t", "_id"});
    }
  }

  std::string Pipeline() {
    unwound_ = joined_ = false;
    std::string text = "[" + Stage();
    for (int n = Below(4); n > 0; --n) {
      text += ", " + Stage();
    }
    if (Below(2) == 0) {
      text += ", " + Last();
    }
    return text + "]";
  }

 private:
  std::mt19937_64 random_;
  bool unwound_ = false;
  bool joined_ = false;
};

class Model {
 public:
  explicit Model(Generator* random) {
    for (const char* name : {"c", "d"}) {
      std::string documents;
      for (int id = 0; id < kDocuments; ++id) {
        documents += (id > 0 ? ", " : "") + random->Document(id);
      }
      EXPECT_EQ(0, node_.Code(R"({"insert": ")" + std::string(name) + R"(", "documents": [)" +
                              documents + "]}"));
      EXPECT_EQ(0, node_.Code(R"({"createIndexes": ")" + std::string(name) +
                              R"(", "indexes": [{"key": {"a": 1}, "name": "a"},
                                  {"key": {"b": 1, "n": -1}, "name": "b"}]})"));
    }
  }

  void Set(const std::string& off, int64_t memory) {
    EXPECT_EQ(0, node_.Code(R"({"setParameter": 1, "internalPipelineRewritesOff": ")" + off +
                                R"(", "internalPipelineStageMemoryBytes": )" +
                                std::to_string(memory) + "}",
                            "admin"));
  }

  // The rows in no particular order.
  std::vector<std::string> Run(const std::string& pipeline) {
    request::Client client;
    bson::Document reply = node_.RunAs(
        client,
        R"({"aggregate": "c", "pipeline": )" + pipeline + R"(, "cursor": {"batchSize": 100000}})",
        "test");
    std::vector<std::string> rows;
    if (reply["ok"].AsDouble() != 1) {
      ADD_FAILURE() << reply["errmsg"].AsString();
      return rows;
    }
    for (const bson::Element& row : reply["cursor"].AsDocument()["firstBatch"].AsArray()) {
      rows.push_back(bson::ToJson(row.value()));
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  // The same from several threads at once.
  std::vector<std::vector<std::string>> RunOnThreads(const std::string& pipeline) {
    constexpr size_t kThreads = 3;
    std::vector<std::vector<std::string>> results(kThreads);
    std::vector<std::thread> threads;
    for (std::vector<std::string>& result : results) {
      threads.emplace_back([&] { result = Run(pipeline); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    return results;
  }

 private:
  Node node_;
};

TEST(PipelineModelTest, RewritesSpillingAndThreadsChangeNothing) {
  const char* given = std::getenv("QUIRE_MODEL_SEED");
  uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  SCOPED_TRACE("QUIRE_MODEL_SEED=" + std::to_string(seed));
  Generator random(seed);
  Model model(&random);
  constexpr int64_t kPlenty = 100 << 20;
  constexpr int64_t kLittle = 8 << 10;
  std::string all;
  for (std::string_view name : pipeline::RewriteNames()) {
    all += (all.empty() ? "" : ",") + std::string(name);
  }
  for (int n = 0; n < kPipelines; ++n) {
    std::string pipeline = random.Pipeline();
    SCOPED_TRACE(pipeline);
    model.Set(all, kPlenty);
    std::vector<std::string> want = model.Run(pipeline);
    model.Set(all, kLittle);
    ASSERT_EQ(want, model.Run(pipeline)) << "nothing rewritten, spilling";
    for (int64_t memory : {kPlenty, kLittle}) {
      model.Set("", memory);
      ASSERT_EQ(want, model.Run(pipeline)) << "rewritten, memory " << memory;
      for (const auto& got : model.RunOnThreads(pipeline)) {
        ASSERT_EQ(want, got) << "on several threads, memory " << memory;
      }
    }
    for (std::string_view name : pipeline::RewriteNames()) {
      model.Set(std::string(name), kPlenty);
      ASSERT_EQ(want, model.Run(pipeline)) << "without " << name;
    }
  }
}

}  // namespace
}  // namespace quire::command
