// SPDX-License-Identifier: Apache-2.0
//
// Cursors that nobody asks for a while: what is left of them, and the snapshot they read.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/error_codes.h"
#include "command/testing/harness.h"
#include "engine/engine.h"
#include "run/cursor.h"

namespace quire::command {
namespace {

constexpr auto kNow = std::chrono::milliseconds(-1);

class IdleCursor : public testing::Test {
 protected:
  void Insert(int count, int size) {
    for (int i = 0; i < count; ++i) {
      node_.Run(R"({"insert": "c", "documents": [{"_id": )" + std::to_string(i) + R"(, "t": ")" +
                std::string(static_cast<size_t>(size), 'x') + R"("}]})");
    }
  }
  int64_t Open(const std::string& more) {
    bson::Document reply = node_.Run(R"({"find": "c", "batchSize": 2)" + more + "}");
    return reply["cursor"].AsDocument()["id"].AsInt64();
  }
  // The ids of all batches that are left.
  std::vector<int64_t> Rest(int64_t cursor, int batch = 3) {
    std::vector<int64_t> ids;
    while (cursor != 0) {
      bson::Document reply =
          node_.Run(R"({"getMore": {"$numberLong": ")" + std::to_string(cursor) +
                    R"("}, "collection": "c", "batchSize": )" + std::to_string(batch) + "}");
      EXPECT_EQ(reply["ok"].AsDouble(), 1.0) << bson::ToJson(reply);
      bson::View part = reply["cursor"].AsDocument();
      for (const bson::Element& e : part["nextBatch"].AsArray()) {
        ids.push_back(e.value().AsDocument()["_id"].AsInt32());
      }
      cursor = part["id"].AsInt64();
    }
    return ids;
  }
  int HoldingSnapshots() {
    int count = 0;
    node_.engine().cursors().ForEachIdle(
        [&](const run::Cursor& c) { count += c.source->HoldsSnapshot() ? 1 : 0; });
    return count;
  }
  // Until nothing more happens.
  void Release() {
    for (int i = 0; i < 50 && HoldingSnapshots() > 0; ++i) {
      node_.engine().cursors().ReleaseSnapshots(kNow);
    }
  }

  Node node_;
};

TEST_F(IdleCursor, TakesWhatIsLeftAndGivesItsSnapshotBack) {
  Insert(10, 10);
  for (const char* more :
       {R"(, "sort": {"_id": 1})", R"(, "hint": {"_id": 1})", R"(, "sort": {"t": 1, "_id": 1})"}) {
    int64_t cursor = Open(more);
    EXPECT_EQ(HoldingSnapshots(), 1);
    Release();
    EXPECT_EQ(HoldingSnapshots(), 0) << more;
    EXPECT_EQ(Rest(cursor), (std::vector<int64_t>{2, 3, 4, 5, 6, 7, 8, 9})) << more;
  }
}

TEST_F(IdleCursor, ShowsWhatWasThereWhenItWasOpened) {
  Insert(10, 10);
  int64_t cursor = Open(R"(, "sort": {"_id": 1})");
  Release();
  node_.Run(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})");
  EXPECT_EQ(Rest(cursor).size(), 8U);
}

TEST_F(IdleCursor, ALargeRestKeepsItsSnapshotAndLosesNothing) {
  Insert(100, 100'000);
  int64_t cursor = Open(R"(, "sort": {"_id": 1})");
  Release();
  EXPECT_EQ(HoldingSnapshots(), 1);
  std::vector<int64_t> ids = Rest(cursor, 10);
  ASSERT_EQ(ids.size(), 98U);
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(ids[i], static_cast<int64_t>(i) + 2);
  }
}

TEST_F(IdleCursor, AGetMoreAtThatMomentWaits) {
  Insert(200, 10);
  int64_t cursor = Open(R"(, "sort": {"_id": 1})");
  std::atomic<bool> stop{false};
  std::thread releaser([&] {
    while (!stop) {
      node_.engine().cursors().ReleaseSnapshots(kNow);
    }
  });
  EXPECT_EQ(Rest(cursor, 1).size(), 198U);
  stop = true;
  releaser.join();
}

TEST_F(IdleCursor, DiesWithItsCollection) {
  Insert(10, 10);
  int64_t cursor = Open(R"(, "sort": {"_id": 1})");
  Release();
  node_.Run(R"({"drop": "c"})");
  bson::Document reply = node_.Run(R"({"getMore": {"$numberLong": ")" + std::to_string(cursor) +
                                   R"("}, "collection": "c"})");
  EXPECT_EQ(reply["ok"].AsDouble(), 0.0);
}

// The time of a find counts on in its getMores.
TEST(Cursor, MaxTimeIsThatOfAllBatches) {
  Node node;
  ASSERT_EQ(node.Code(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})"), 0);
  const bson::Document first = node.Run(R"({"find": "c", "batchSize": 1, "maxTimeMS": 60000})");
  const int64_t id = first["cursor"].AsDocument()["id"].AsInt64();
  const std::string more = R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
                           R"("}, "collection": "c", "batchSize": 1})";
  EXPECT_EQ(node.Code(more), 0);
  {
    OpContext op;
    auto cursor = node.engine().cursors().Pin(id, &op);
    ASSERT_TRUE(cursor.ok());
    ASSERT_TRUE((*cursor)->time_left);
    EXPECT_LT(*(*cursor)->time_left, std::chrono::minutes(1));
    (*cursor)->time_left = OpContext::Clock::duration(0);
    node.engine().cursors().Unpin(*cursor);
  }
  EXPECT_EQ(node.Code(more), kMaxTimeMSExpired);
}

}  // namespace
}  // namespace quire::command
