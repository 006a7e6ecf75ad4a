// SPDX-License-Identifier: Apache-2.0
#include "router/data/write_parts.h"

#include <gtest/gtest.h>

#include "quire/doc.h"

namespace quire::router {
namespace {

using placement::WriteWay;

WriteStatement To(int32_t index, std::vector<placement::ShardName> shards,
                  WriteWay way = WriteWay::kDirect) {
  return {index, Doc("_id", index), way, std::move(shards), index};
}

std::vector<size_t> All(size_t count) {
  std::vector<size_t> places;
  for (size_t i = 0; i < count; ++i) {
    places.push_back(i);
  }
  return places;
}

using Places = std::vector<size_t>;

TEST(WriteParts, OrderedSendsTheRunOfOneShard) {
  const std::vector<WriteStatement> statements = {To(0, {"a"}), To(1, {"a"}), To(2, {"b"}),
                                                  To(3, {"a"})};
  const auto parts = NextParts(statements, All(4), true);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].shard, "a");
  EXPECT_EQ(parts[0].statements, (Places{0, 1}));
}

TEST(WriteParts, UnorderedSendsToEveryShardAtOnce) {
  const std::vector<WriteStatement> statements = {To(0, {"a"}), To(1, {"b"}), To(2, {"a"}),
                                                  To(3, {"b"})};
  const auto parts = NextParts(statements, All(4), false);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].statements, (Places{0, 2}));
  EXPECT_EQ(parts[1].statements, (Places{1, 3}));
}

TEST(WriteParts, AStatementOfSeveralShardsGoesAlone) {
  const std::vector<WriteStatement> statements = {To(0, {"a", "b"}, WriteWay::kEach), To(1, {"a"})};
  const auto parts = NextParts(statements, All(2), false);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].statements, (Places{0}));
  EXPECT_EQ(parts[1].statements, (Places{0}));
  const auto behind = NextParts(statements, {1}, false);
  ASSERT_EQ(behind.size(), 1U);
}

TEST(WriteParts, OrderedStopsBeforeAStatementOfSeveralShards) {
  const std::vector<WriteStatement> statements = {To(0, {"a"}), To(1, {"a", "b"}, WriteWay::kEach),
                                                  To(2, {"a"})};
  const auto parts = NextParts(statements, All(3), true);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].statements, (Places{0}));
}

TEST(WriteParts, NoPartIsLargerThanAMessage) {
  const std::string text(size_t{5} << 20, 'x');
  std::vector<WriteStatement> statements;
  for (int32_t i = 0; i < 4; ++i) {
    statements.push_back({i, Doc("_id", i, "text", text), WriteWay::kDirect, {"a"}});
  }
  const auto parts = NextParts(statements, All(4), true);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].statements, (Places{0, 1}));
}

TEST(WriteParts, TheCommandKeepsTheRestAndNumbersStatements) {
  const std::vector<WriteStatement> statements = {To(0, {"a"}), To(1, {"b"}), To(2, {"a"})};
  const bson::Document command =
      Doc("insert", "c", "documents", List(), "ordered", false, "stmtIds", List(7));
  const WritePart part{"a", {0, 2}};
  EXPECT_EQ(bson::ToJson(PartCommand(command, "documents", statements, part, true)),
            R"({"insert":"c","ordered":false,"documents":[{"_id":0},{"_id":2}],"stmtIds":[0,2]})");
  EXPECT_EQ(bson::ToJson(PartCommand(command, "documents", statements, part, false)),
            R"({"insert":"c","ordered":false,"documents":[{"_id":0},{"_id":2}]})");
}

TEST(WriteParts, ShardsTellWhatBecameOfAWriteThatNobodyAsksAbout) {
  const std::vector<WriteStatement> statements = {To(0, {"a"})};
  const WritePart part{"a", {0}};
  const bson::Document command =
      Doc("delete", "c", "deletes", List(), "writeConcern", Doc("w", 0, "wtimeout", 5));
  EXPECT_EQ(bson::ToJson(PartCommand(command, "deletes", statements, part, false)),
            R"({"delete":"c","writeConcern":{"w":1,"wtimeout":5},"deletes":[{"_id":0}]})");
}

}  // namespace
}  // namespace quire::router
