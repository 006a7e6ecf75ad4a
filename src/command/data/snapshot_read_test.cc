// SPDX-License-Identifier: Apache-2.0
//
// readConcern "snapshot" outside transactions.
#include <atomic>
#include <thread>
#include <vector>

#include "base/error_codes.h"
#include "command/testing/harness.h"
#include "store/log/note.h"

namespace quire::command {
namespace {

class SnapshotReadTest : public ::testing::Test {
 protected:
  SnapshotReadTest() { Insert(1); }

  void Insert(int id) {
    EXPECT_EQ(node_.Code(R"({"insert": "c", "documents": [{"_id": )" + std::to_string(id) + "}]}"),
              0);
  }
  // {level: "snapshot"}, at a time when one is given.
  static std::string Concern(bson::Timestamp at = {}) {
    std::string concern = R"("readConcern": {"level": "snapshot")";
    if (at != bson::Timestamp{}) {
      concern += R"(, "atClusterTime": {"$timestamp": {"t": )" + std::to_string(at.seconds) +
                 R"(, "i": )" + std::to_string(at.increment) + "}}";
    }
    return concern + "}";
  }
  bson::Document Find(const std::string& concern) {
    return node_.Run(R"({"find": "c", )" + concern + "}");
  }
  static size_t Found(const bson::Document& reply) {
    EXPECT_EQ(reply["ok"].AsDouble(), 1) << bson::ToJson(reply);
    size_t n = 0;
    for (const bson::Element& e : reply["cursor"].AsDocument()["firstBatch"].AsArray()) {
      n += e.present() ? 1 : 0;
    }
    return n;
  }
  static bson::Timestamp TimeOf(const bson::Document& reply) {
    return reply["cursor"].AsDocument()["atClusterTime"].AsTimestamp();
  }
  int Code(const bson::Document& reply) {
    return reply["ok"].AsDouble() == 1 ? 0 : reply["code"].AsInt32();
  }

  Node node_;
};

TEST_F(SnapshotReadTest, IsReadAgainByItsTime) {
  const bson::Document first = Find(Concern());
  ASSERT_EQ(Found(first), 1u);
  const std::string then = Concern(TimeOf(first));
  Insert(2);
  ASSERT_EQ(node_.Code(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"a": 1}}]})"), 0);
  EXPECT_EQ(Found(Find(then)), 1u);
  EXPECT_EQ(TimeOf(Find(then)), TimeOf(first));
  EXPECT_EQ(Found(Find(Concern())), 2u);
  EXPECT_EQ(node_.Batch(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {}},
                         {"$group": {"_id": 1, "n": {"$sum": 1}, "a": {"$max": "$a"}}}], )" +
                        then + "}"),
            R"([{"_id":1,"n":1,"a":null}])");
  const bson::Document distinct = node_.Run(R"({"distinct": "c", "key": "_id", )" + then + "}");
  EXPECT_EQ(bson::ToJson(distinct["values"]), "[1]");
  EXPECT_EQ(distinct["atClusterTime"].AsTimestamp(), TimeOf(first));
}

// The log's last entry refers to the documents.
TEST_F(SnapshotReadTest, IsReadBehindABulkInsert) {
  std::string documents;
  for (int id = 2; id <= 20; ++id) {
    documents += (id > 2 ? "," : "") + (R"({"_id": )" + std::to_string(id) + "}");
  }
  ASSERT_EQ(node_.Code(R"({"insert": "c", "documents": [)" + documents + "]}"), 0);
  const bson::Document first = Find(Concern());
  ASSERT_EQ(Found(first), 20u);
  Insert(21);
  EXPECT_EQ(Found(Find(Concern(TimeOf(first)))), 20u);
}

TEST_F(SnapshotReadTest, ItsCursorSaysItsTime) {
  Insert(2);
  const bson::Document first = node_.Run(R"({"find": "c", "batchSize": 1, )" + Concern() + "}");
  ASSERT_EQ(Found(first), 1u);
  Insert(3);
  const std::string id = std::to_string(first["cursor"].AsDocument()["id"].AsInt64());
  const bson::Document more =
      node_.Run(R"({"getMore": {"$numberLong": ")" + id + R"("}, "collection": "c"})");
  EXPECT_EQ(bson::ToJson(more["cursor"].AsDocument()["nextBatch"]), R"([{"_id":2}])");
  EXPECT_EQ(more["cursor"].AsDocument()["atClusterTime"].AsTimestamp(), TimeOf(first));
}

TEST_F(SnapshotReadTest, RefusesOtherTimes) {
  const bson::Document before = node_.Run(R"({"ping": 1})");
  Insert(2);
  EXPECT_EQ(Code(Find(Concern(before["operationTime"].AsTimestamp()))), kSnapshotTooOld);
  const bson::Document now = node_.Run(R"({"ping": 1})");
  EXPECT_EQ(Found(Find(Concern(now["operationTime"].AsTimestamp()))), 2u);  // nothing since
  EXPECT_EQ(Code(Find(Concern({UINT32_MAX, 1}))), kInvalidOptions);
  EXPECT_EQ(Code(Find(Concern({0, 1}))), kInvalidOptions);
  const bson::Timestamp seen = TimeOf(Find(Concern()));
  Insert(3);
  node_.engine().snapshots().Expire(std::chrono::seconds(-1));
  EXPECT_EQ(Code(Find(Concern(seen))), kSnapshotTooOld);
}

// More reads than there is room for snapshots.
constexpr int kManyReads = 1100;

TEST_F(SnapshotReadTest, WhatFailsTakesNoRoom) {
  const bson::Document before = node_.Run(R"({"ping": 1})");
  const bson::Timestamp never = before["operationTime"].AsTimestamp();
  Insert(2);
  const std::string kept = Concern(TimeOf(Find(Concern())));
  Insert(3);
  for (int i = 0; i < kManyReads; ++i) {
    ASSERT_EQ(Code(Find(Concern(never))), kSnapshotTooOld);
  }
  EXPECT_EQ(Found(Find(kept)), 2u);
}

TEST_F(SnapshotReadTest, ReadsOfTheSameTakeTheRoomOfOne) {
  const std::string kept = Concern(TimeOf(Find(Concern())));
  Insert(2);
  const bson::Document note = bson::Builder().Append("msg", "note").Finish();
  auto write_note = [&] {
    ASSERT_TRUE(store::WriteNote(node_.engine().store(), node_.engine().log(), note,
                                 kv::Durability::kProcess)
                    .ok());
  };
  write_note();
  for (int i = 0; i < kManyReads; ++i) {
    ASSERT_EQ(Found(Find(Concern())), 2u);
  }
  EXPECT_EQ(Found(Find(kept)), 1u);
  const std::string before = Concern(TimeOf(Find(Concern())));
  for (int i = 0; i < kManyReads; ++i) {
    write_note();
    ASSERT_EQ(Found(Find(Concern())), 2u);
  }
  EXPECT_EQ(Found(Find(kept)), 1u);
  Insert(3);
  EXPECT_EQ(Found(Find(before)), 2u);
}

TEST_F(SnapshotReadTest, RefusesOtherCommands) {
  EXPECT_EQ(node_.Code(R"({"count": "c", )" + Concern() + "}"), kInvalidOptions);
  EXPECT_EQ(node_.Code(R"({"killCursors": "c", "cursors": [], )" + Concern() + "}"),
            kInvalidOptions);
  EXPECT_EQ(node_.Code(R"({"insert": "c", "documents": [{}], )" + Concern() + "}"),
            kInvalidOptions);
}

TEST_F(SnapshotReadTest, ShowsCollectionsAsTheyWere) {
  const std::string without_index = Concern(TimeOf(Find(Concern())));
  const std::string by_index = R"("hint": "a", )";
  ASSERT_EQ(node_.Code(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})"),
            0);
  EXPECT_EQ(Found(Find(without_index)), 1u);
  EXPECT_EQ(Code(Find(by_index + without_index)), kBadValue);
  const std::string with_index = Concern(TimeOf(Find(Concern())));
  ASSERT_EQ(node_.Code(R"({"dropIndexes": "c", "index": "a"})"), 0);
  Insert(2);
  EXPECT_EQ(Found(Find(by_index + with_index)), 1u);
  const std::string two = Concern(TimeOf(Find(Concern())));
  ASSERT_EQ(node_.Code(R"({"drop": "c"})"), 0);
  EXPECT_EQ(Found(Find(two)), 2u);
  EXPECT_EQ(Found(Find(by_index + with_index)), 1u);
  const std::string none = Concern(TimeOf(Find(Concern())));
  Insert(3);
  EXPECT_EQ(Found(Find(none)), 0u);
  EXPECT_EQ(Found(Find(two)), 2u);
  EXPECT_EQ(Found(Find(Concern())), 1u);
  ASSERT_EQ(node_.Code(R"({"dropDatabase": 1})"), 0);
  EXPECT_EQ(Found(Find(two)), 2u);
}

// Later writes do not keep a dropped index up to date: no snapshot shows both.
TEST_F(SnapshotReadTest, ItsIndexesHoldItsDocuments) {
  std::atomic<bool> stop = false;
  std::thread changer([&] {
    request::Client client;
    for (int id = 100; !stop; ++id) {
      node_.RunAs(client, R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})",
                  "test");
      node_.RunAs(client, R"({"dropIndexes": "c", "index": "a"})", "test");
      node_.RunAs(client, R"({"insert": "c", "documents": [{"_id": )" + std::to_string(id) + "}]}",
                  "test");
    }
  });
  request::Client reader;
  for (int i = 0; i < 200; ++i) {
    const std::string concern = Concern(
        TimeOf(node_.RunAs(reader, R"({"find": "c", "limit": 1, )" + Concern() + "}", "test")));
    const bson::Document by_index = node_.RunAs(
        reader, R"({"find": "c", "batchSize": 10000, "hint": "a", )" + concern + "}", "test");
    if (Code(by_index) != kBadValue) {
      EXPECT_EQ(Found(by_index),
                Found(node_.RunAs(reader,
                                  R"({"find": "c", "batchSize": 10000, "hint": {"$natural": 1}, )" +
                                      concern + "}",
                                  "test")));
    }
  }
  stop = true;
  changer.join();
}

TEST_F(SnapshotReadTest, ATransactionBeginsAtThePresent) {
  const bson::Timestamp then = TimeOf(Find(Concern()));
  auto begin = [&](int number) {
    return node_.Code(
        R"({"find": "c", "startTransaction": true, "autocommit": false, "txnNumber": {"$numberLong": ")" +
        std::to_string(number) +
        R"("}, "lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}}, )" +
        Concern(then) + "}");
  };
  EXPECT_EQ(begin(1), 0);
  Insert(2);
  EXPECT_EQ(begin(2), kSnapshotTooOld);
}

// A snapshot shows the same again, whatever is written meanwhile.
TEST_F(SnapshotReadTest, HoldsUnderWriters) {
  ASSERT_EQ(node_.Code(R"({"insert": "n", "documents": [{"_id": 1, "v": 0}]})"), 0);
  std::atomic<bool> stop = false;
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&] {
      request::Client client;
      while (!stop) {
        node_.RunAs(client,
                    R"({"update": "n", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"v": 1}}}]})",
                    "test");
      }
    });
  }
  request::Client reader;
  for (int i = 0; i < 50; ++i) {
    const bson::Document first = node_.RunAs(reader, R"({"find": "n", )" + Concern() + "}", "test");
    ASSERT_EQ(Found(first), 1u);
    const bson::Document again =
        node_.RunAs(reader, R"({"find": "n", )" + Concern(TimeOf(first)) + "}", "test");
    EXPECT_EQ(bson::ToJson(again["cursor"].AsDocument()["firstBatch"]),
              bson::ToJson(first["cursor"].AsDocument()["firstBatch"]));
  }
  stop = true;
  for (std::thread& writer : writers) {
    writer.join();
  }
}

}  // namespace
}  // namespace quire::command
