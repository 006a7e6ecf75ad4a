// SPDX-License-Identifier: Apache-2.0
//
// What operations and open cursors may hold, and what happens when memory runs out.
#include "base/error_codes.h"
#include "base/memory_charge.h"
#include "command/server/memory_guard.h"
#include "command/testing/harness.h"
#include "store/definition_memory.h"

namespace quire::command {

namespace {

// A pipeline whose documents double with every stage.
std::string Doubling(int stages) {
  std::string pipeline;
  for (int i = 0; i < stages; ++i) {
    pipeline += R"({"$replaceRoot": {"newRoot": {"a": "$$ROOT", "b": "$$ROOT"}}}, )";
  }
  return R"({"aggregate": "c", "cursor": {}, "pipeline": [)" + pipeline + R"({"$count": "n"}]})";
}

void Set(Node& node, const std::string& name, int64_t value) {
  EXPECT_EQ(node.Code(R"({"setParameter": 1, ")" + name + R"(": {"$numberLong": ")" +
                          std::to_string(value) + R"("}})",
                      "admin"),
            0);
}

TEST(OperationMemoryTest, StagesTogetherHaveALimit) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  EXPECT_EQ(node.Code(Doubling(15)), 0);
  Set(node, "internalQueryMaxOperationMemoryBytes", 1 << 20);
  EXPECT_EQ(node.Code(Doubling(15)), kExceededMemoryLimit);
  EXPECT_EQ(node.Code(R"({"find": "c"})"), 0);
  Set(node, "internalQueryMaxOperationMemoryBytes", 0);
  EXPECT_EQ(node.Code(Doubling(15)), 0);
}

TEST(OperationMemoryTest, BatchesAndFacetsCount) {
  Node node;
  for (int i = 0; i < 8; ++i) {
    node.Run(R"({"insert": "c", "documents": [{"s": ")" + std::string(400'000, 'x') + R"("}]})");
  }
  Set(node, "internalQueryMaxOperationMemoryBytes", 1 << 20);
  EXPECT_EQ(node.Code(R"({"find": "c"})"), kExceededMemoryLimit);
  EXPECT_EQ(node.Code(R"({"find": "c", "batchSize": 1})"), 0);
  EXPECT_EQ(node.Code(R"({"distinct": "c", "key": "s"})"), 0);
  // Small rows that a branch makes large.
  const std::string facet = R"({"aggregate": "one", "cursor": {}, "pipeline": [{"$facet": {"x": [
      {"$project": {"n": {"$range": [0, 100000]}}}, {"$unwind": "$n"}]}}, {"$count": "n"}]})";
  node.Run(R"({"insert": "one", "documents": [{"_id": 1}]})");
  EXPECT_EQ(node.Code(facet), kExceededMemoryLimit);
  Set(node, "internalQueryMaxOperationMemoryBytes", 0);
  EXPECT_EQ(node.Code(facet), 0);
  EXPECT_EQ(node.Code(R"({"find": "c"})"), 0);
  node.engine().cursors().Clear();
}

// A short pipeline may ask for the same value again and again.
TEST(OperationMemoryTest, OneDocumentHasALimit) {
  Node node;
  std::string elements;
  std::string fields;
  std::string sums;
  std::string values;
  for (int i = 0; i < 150; ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    const std::string name = comma + R"("f)" + std::to_string(i) + R"(": )";
    elements += comma + R"({"a": 1})";
    fields += name + R"("$s")";
    sums += name + R"({"$first": "$s"})";
    values += comma + R"("$s")";
  }
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "t": [)" + elements + R"(], "s": ")" +
           std::string(2'000'000, 'x') + R"("}]})");
  auto run = [&](const std::string& stage) {
    return node.Code(R"({"aggregate": "c", "cursor": {}, "pipeline": [)" + stage + "]}");
  };
  EXPECT_EQ(run(R"({"$set": {"t.x": "$s"}})"), kExceededMemoryLimit);
  EXPECT_EQ(run(R"({"$project": {"t.x": "$s"}})"), kExceededMemoryLimit);
  EXPECT_EQ(run(R"({"$project": {)" + fields + "}}"), kExceededMemoryLimit);
  EXPECT_EQ(run(R"({"$project": {"x": {)" + fields + "}}}"), kExceededMemoryLimit);
  EXPECT_EQ(run(R"({"$project": {"x": [)" + values + "]}}"), kExceededMemoryLimit);
  EXPECT_EQ(run(R"({"$group": {"_id": {)" + fields + "}}}"), kExceededMemoryLimit);
  EXPECT_EQ(run(R"({"$group": {"_id": null, )" + sums + "}}"), kExceededMemoryLimit);
  EXPECT_EQ(run(R"({"$project": {"x": {"$concat": [)" + values + "]}}}"), 16493);
  EXPECT_EQ(run(R"({"$project": {"x": {"$zip": {"inputs": [[1], [2, 3]], "useLongestLength": true,
                     "defaults": ["$s", 0]}}}})"),
            0);
  EXPECT_EQ(node.Code(R"({"findAndModify": "c", "update": [{"$set": {"t.x": "$s"}}]})"),
            kExceededMemoryLimit);
  EXPECT_EQ(node.Code(R"({"find": "c", "projection": {"t.x": "$s"}})"), kExceededMemoryLimit);
}

// The commands that the open cursors keep, as JSON.
std::vector<std::string> KeptCommands(Node& node) {
  std::vector<std::string> kept;
  node.engine().cursors().ForEachIdle(
      [&](const run::Cursor& cursor) { kept.push_back(bson::ToJson(cursor.command)); });
  return kept;
}

TEST(OpenCursorTest, KeepsTheShortPartsOfItsCommand) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})");
  const std::string huge(100'000, 'x');
  node.Run(R"({"find": "c", "batchSize": 1, "filter": {"x": {"$ne": ")" + huge +
           R"("}}, "comment": "mine"})");
  auto kept = KeptCommands(node);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0], R"({"find":"c","batchSize":1,"comment":"mine","$truncated":"filter"})");
  node.engine().cursors().Clear();
  node.Run(R"({"aggregate": "c", "cursor": {"batchSize": 1}, "pipeline": [{"$match": {}}, {"$match":
               {"x": {"$ne": ")" +
           huge + R"("}}}]})");
  kept = KeptCommands(node);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(
      kept[0],
      R"({"aggregate":"c","cursor":{"batchSize":1},"pipeline":[{"$match":{}}],"$truncated":"pipeline"})");
}

TEST(OpenCursorTest, ThereIsAMostOfThem) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})");
  Set(node, "internalQueryMaxOpenCursors", 2);
  EXPECT_EQ(node.Code(R"({"find": "c", "batchSize": 1})"), 0);
  EXPECT_EQ(node.Code(R"({"find": "c", "batchSize": 1})"), 0);
  EXPECT_EQ(node.Code(R"({"find": "c", "batchSize": 1})"), kExceededMemoryLimit);
  EXPECT_EQ(node.Code(R"({"find": "c"})"), 0);
  EXPECT_EQ(node.engine().cursors().size(), 2U);
}

TEST(OpenCursorTest, OneOfALongCommandCountsForSeveral) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})");
  const std::string huge = R"({"find": "c", "batchSize": 1, "filter": {"x": {"$ne": ")" +
                           std::string(100'000, 'x') + R"("}}})";
  Set(node, "internalQueryMaxOpenCursors", 10);
  EXPECT_EQ(node.Code(huge), 0);
  EXPECT_EQ(node.Code(huge), kExceededMemoryLimit);
  EXPECT_EQ(node.Code(R"({"find": "c", "batchSize": 1})"), 0);
  node.engine().cursors().Clear();
  EXPECT_EQ(node.Code(huge), 0);
}

TEST(OwnerCountsTest, CountsWhatIsHeldByEach) {
  run::OwnerCounts counts;
  run::OwnerTicket first = counts.Take("a", 2);
  run::OwnerTicket second = counts.Take("a", 2);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(counts.Take("a", 2), nullptr);
  EXPECT_NE(counts.Take("b", 2), nullptr);
  first.reset();
  EXPECT_NE(counts.Take("a", 2), nullptr);
}

TEST(OwnerCountsTest, SomeCountForSeveral) {
  run::OwnerCounts counts;
  run::OwnerTicket heavy = counts.Take("a", 2, 5);  // the only one
  EXPECT_NE(heavy, nullptr);
  EXPECT_EQ(counts.Take("a", 5), nullptr);
  EXPECT_NE(counts.Take("a", 6), nullptr);
  heavy.reset();
  run::OwnerTicket light = counts.Take("a", 5);
  EXPECT_EQ(counts.Take("a", 5, 5), nullptr);
  EXPECT_NE(counts.Take("a", 5, 4), nullptr);
  EXPECT_EQ(counts.Take("b", 0, 5), nullptr);
}

TEST(SessionLimitTest, OneUserLeavesSessionsToOthers) {
  Node node;
  Set(node, "internalMaxSessionsPerUser", 2);
  auto get = [&](char id, const std::string& owner) {
    auto session = node.engine().sessions().Get(request::SessionKey(std::string(16, id), owner));
    return session.ok() ? 0 : session.status().code();
  };
  const std::string a(32, 'a');
  EXPECT_EQ(get(1, a), 0);
  EXPECT_EQ(get(2, a), 0);
  EXPECT_EQ(get(3, a), kTooManyLogicalSessions);
  EXPECT_EQ(get(1, a), 0);  // one of them
  EXPECT_EQ(get(3, std::string(32, 'b')), 0);
  node.engine().sessions().End(request::SessionKey(std::string(16, 1), a));
  EXPECT_EQ(get(3, a), 0);
}

TEST(PlanMemoryTest, KeepsLittleOfLongQueries) {
  Node node;
  node.Run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"},
                                                {"key": {"b": 1}, "name": "b"}]})");
  std::string documents;
  for (int i = 0; i < 20; ++i) {
    documents += std::string(i == 0 ? "" : ", ") + R"({"a": 1, "b": )" + std::to_string(i) + "}";
  }
  node.Run(R"({"insert": "c", "documents": [)" + documents + "]}");
  auto remembered = [&](const std::string& condition) {
    node.Run(R"({"planCacheClear": "c"})");
    EXPECT_EQ(node.Code(R"({"find": "c", "filter": {"a": 1, "b": 3, )" + condition + "}}"), 0);
    return node.Run(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$planCacheStats": {}}]})");
  };
  auto plans = [](const bson::Document& reply) {
    return reply["cursor"].AsDocument()["firstBatch"].AsArray();
  };
  bson::Document reply = remembered(R"("x": {"$ne": "y"})");
  ASSERT_EQ(plans(reply).Count(), 1U);
  EXPECT_TRUE(plans(reply).front().value().AsDocument().Has("createdFromQuery"));
  reply = remembered(R"("x": {"$ne": ")" + std::string(100'000, 'y') + R"("})");
  ASSERT_EQ(plans(reply).Count(), 1U);
  EXPECT_FALSE(plans(reply).front().value().AsDocument().Has("createdFromQuery"));
  EXPECT_LT(reply.bytes().size(), 10'000U);
  std::string others;
  for (int i = 0; i < 10'000; ++i) {
    others += (i == 0 ? R"({"f)" : R"(, {"f)") + std::to_string(i) + R"(": 1})";
  }
  reply = remembered(R"("$nor": [)" + others + "]");
  EXPECT_EQ(plans(reply).Count(), 0U);
}

TEST(IndexFilterTest, AllOfThemAreBounded) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  auto set = [&](int number, size_t bytes) {
    return node.Code(R"({"planCacheSetFilter": "c", "query": {"f)" + std::to_string(number) +
                     R"(": 1}, "indexes": [")" + std::string(bytes, 'x') + "\"]}");
  };
  int code = 0;
  int made = 0;
  for (; code == 0 && made < 20; ++made) {
    code = set(made, size_t{4} << 20);
  }
  EXPECT_EQ(code, kExceededMemoryLimit);
  EXPECT_LT(made, 10);
  EXPECT_EQ(node.Code(R"({"planCacheClearFilters": "c"})"), 0);
  EXPECT_EQ(set(1, size_t{4} << 20), 0);
  EXPECT_EQ(set(1, size_t{4} << 20), 0);
  node.Run(R"({"drop": "c"})");
}

class DefinitionTest : public testing::Test {
 protected:
  DefinitionTest() { Set(node_, "internalMaxDefinitionMemoryBytes", kMost); }
  ~DefinitionTest() override { Set(node_, "internalMaxDefinitionMemoryBytes", int64_t{256} << 20); }
  // How many times a command with another number can be run, of 20.
  template <typename Command>
  int Times(const Command& command) {
    int done = 0;
    int code = 0;
    for (; code == 0 && done < 20; done += code == 0 ? 1 : 0) {
      code = node_.Code(command(std::to_string(done)));
    }
    EXPECT_EQ(code, kExceededMemoryLimit);
    EXPECT_LE(store::DefinitionMemory().held, kMost);
    return done;
  }

  static constexpr int64_t kMost = int64_t{10} << 20;
  const std::string long_ = R"({"a": ")" + std::string(1 << 20, 'x') + "\"}";
  Node node_;
};

TEST_F(DefinitionTest, OfAllCollectionsAreBounded) {
  EXPECT_EQ(Times([&](const std::string& number) {
              return R"({"create": "c)" + number + R"(", "validator": )" + long_ + "}";
            }),
            3);
  EXPECT_EQ(node_.Code(R"({"create": "plain", "validator": {"a": 1}})"), 0);
  EXPECT_EQ(node_.Code(R"({"collMod": "plain", "validator": )" + long_ + "}"),
            kExceededMemoryLimit);
  EXPECT_EQ(node_.Code(R"({"createIndexes": "plain", "indexes": [{"key": {"a": 1}, "name": "a",
                           "partialFilterExpression": )" +
                       long_ + "}]}"),
            kExceededMemoryLimit);
  EXPECT_EQ(
      node_.Code(R"({"create": "v", "viewOn": "plain", "pipeline": [{"$match": )" + long_ + "}]}"),
      kExceededMemoryLimit);
  // What is there may become shorter, and gives its room back.
  EXPECT_EQ(node_.Code(R"({"collMod": "c0", "validationAction": "warn"})"), 0);
  EXPECT_EQ(node_.Code(R"({"collMod": "c0", "validator": {"a": 1}})"), 0);
  EXPECT_EQ(node_.Code(R"({"drop": "c1"})"), 0);
  EXPECT_EQ(
      node_.Code(R"({"create": "v", "viewOn": "plain", "pipeline": [{"$match": )" + long_ + "}]}"),
      0);
  EXPECT_EQ(node_.Code(R"({"dropDatabase": 1})"), 0);
  EXPECT_EQ(Times([&](const std::string& number) {
              return R"({"createIndexes": "c", "indexes": [{"key": {"a)" + number +
                     R"(": 1}, "name": "a)" + number + R"(", "partialFilterExpression": )" + long_ +
                     "}]}";
            }),
            3);
}

TEST_F(DefinitionTest, OfATransactionCount) {
  EXPECT_EQ(Times([&](const std::string& number) {
              return R"({"create": "c)" + number + R"(", "validator": )" + long_ +
                     R"(, "lsid": {"id": {"$uuid": "7c5a9a1e-0000-4000-8000-000000000001"}},
                        "txnNumber": {"$numberLong": "1"}, "autocommit": false)" +
                     (number == "0" ? R"(, "startTransaction": true})" : "}");
            }),
            3);
}

TEST(MemoryGuardTest, RefusesWorkWhileMemoryIsShort) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  MachineMemory memory{int64_t{8} << 30, int64_t{4} << 30};
  MemoryGuard guard(&node.commands(), [&] { return memory; });
  guard.Look();
  EXPECT_EQ(node.Code(R"({"find": "c"})"), 0);
  memory.available = int64_t{10} << 20;
  guard.Look();
  EXPECT_EQ(node.Code(R"({"find": "c"})"), kExceededMemoryLimit);
  EXPECT_EQ(node.Code(R"({"insert": "c", "documents": [{}]})"), kExceededMemoryLimit);
  EXPECT_EQ(node.Code(R"({"ping": 1})"), 0);
  EXPECT_EQ(node.Code(R"({"killCursors": "c", "cursors": []})"), 0);
  EXPECT_EQ(node.Code(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})"), 0);
  memory.available = int64_t{4} << 30;
  guard.Look();
  EXPECT_EQ(node.Code(R"({"find": "c"})"), 0);
}

TEST(MemoryGuardTest, ReadsTheMachine) {
  MachineMemory memory = ReadMachineMemory();
  EXPECT_GT(memory.limit, 0);
  EXPECT_GT(memory.available, 0);
  EXPECT_LE(memory.available, memory.limit);
}

}  // namespace

}  // namespace quire::command
