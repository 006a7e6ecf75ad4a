// SPDX-License-Identifier: Apache-2.0
//
// What operations and open cursors may hold, and what happens when memory runs out.
#include "base/error_codes.h"
#include "base/memory_charge.h"
#include "command/harness_test.h"
#include "command/memory_guard.h"

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

// What the open cursors keep of their commands, one after the other.
std::string CommandsOfCursors(Node& node) {
  std::string all;
  node.engine().cursors().ForEachIdle(
      [&](const engine::Cursor& cursor) { all += bson::ToJson(cursor.command.view()); });
  return all;
}

TEST(OpenCursorTest, KeepsTheShortPartsOfItsCommand) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})");
  const std::string huge(100'000, 'x');
  node.Run(R"({"find": "c", "batchSize": 1, "filter": {"x": {"$ne": ")" + huge +
           R"("}}, "comment": "mine"})");
  EXPECT_EQ(CommandsOfCursors(node),
            R"({"find":"c","batchSize":1,"comment":"mine","$truncated":"filter"})");
  node.engine().cursors().Clear();
  node.Run(R"({"aggregate": "c", "cursor": {"batchSize": 1}, "pipeline": [{"$match": {}}, {"$match":
               {"x": {"$ne": ")" +
           huge + R"("}}}]})");
  EXPECT_EQ(
      CommandsOfCursors(node),
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
