// SPDX-License-Identifier: Apache-2.0
#include "router/stream/stream_merge.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error_codes.h"
#include "quire/doc.h"

namespace quire::router {
namespace {

using engine::MakeResumeToken;
using engine::ResumePoint;

bson::Document MarkAt(uint32_t seconds) {
  return MakeResumeToken(ResumePoint{{seconds, 1}}, {}, bson::View());
}

bson::Document EventAt(uint32_t seconds, int key) {
  ResumePoint point{{seconds, 1}};
  point.event = true;
  const bson::Document identifier = Doc("_id", key);
  return Doc("_id", MakeResumeToken(point, "0123456789abcdef", identifier), "key", key);
}

StreamBatch Batch(std::vector<bson::Document> events, bson::Document token, bool ended = false,
                  bool found = true) {
  auto held = std::make_shared<const std::vector<bson::Document>>(std::move(events));
  StreamBatch batch;
  for (const bson::Document& event : *held) {
    batch.events.push_back(event);
  }
  batch.holder = held;
  batch.token = std::move(token);
  batch.ended = ended;
  batch.found = found;
  return batch;
}

// The keys of the events that may go out.
std::vector<int> Drain(StreamMerge* merge) {
  std::vector<int> keys;
  StreamMerge::Event event;
  while (true) {
    Result<bool> given = merge->Next(&event);
    EXPECT_TRUE(given.ok()) << given.status().ToString();
    if (!given.ok() || !*given) {
      return keys;
    }
    keys.push_back(event.document["key"].AsInt32());
  }
}

TEST(StreamMerge, AnEventWaitsForShardsThatMayHaveEarlierOnes) {
  const bson::Document start = MarkAt(1);
  StreamMerge merge(start);
  const size_t a = merge.Add("a");
  const size_t b = merge.Add("b");
  merge.Take(a, Batch({EventAt(5, 1), EventAt(9, 2)}, MarkAt(9)));
  merge.Take(b, Batch({}, MarkAt(3)));
  EXPECT_TRUE(Drain(&merge).empty());
  EXPECT_TRUE(merge.Holds());
  EXPECT_EQ(merge.Behind(), std::vector<size_t>{b});
  EXPECT_EQ(merge.Reach(), (bson::Timestamp{9, 2}));
  EXPECT_EQ(bson::ToJson(merge.Mark()), bson::ToJson(MarkAt(3)));
  const bson::Document early = EventAt(4, 3);
  merge.Take(b, Batch({early}, bson::Document(early["_id"].AsDocument())));
  EXPECT_EQ(Drain(&merge), std::vector<int>{3});
  merge.Take(b, Batch({}, MarkAt(7)));
  EXPECT_EQ(Drain(&merge), std::vector<int>{1});
  EXPECT_EQ(bson::ToJson(merge.Mark()), bson::ToJson(MarkAt(7)));
  merge.Take(b, Batch({}, MarkAt(10)));
  EXPECT_EQ(Drain(&merge), std::vector<int>{2});
  EXPECT_FALSE(merge.Holds());
  EXPECT_TRUE(merge.Mark().empty());  // a is no further than its last event
}

TEST(StreamMerge, EventsOfOneTimeAreOrderedByWhatTheyName) {
  const bson::Document start = MarkAt(1);
  StreamMerge merge(start);
  const size_t a = merge.Add("a");
  const size_t b = merge.Add("b");
  merge.Take(a, Batch({EventAt(5, 2), EventAt(5, 3)}, MarkAt(8)));
  merge.Take(b, Batch({EventAt(5, 1), EventAt(5, 4)}, MarkAt(8)));
  EXPECT_EQ(Drain(&merge), (std::vector<int>{1, 2, 3, 4}));
}

TEST(StreamMerge, TheEventToResumeAfterIsOnOneShard) {
  const bson::Document start = EventAt(5, 1);
  for (const bool found : {true, false}) {
    StreamMerge merge(start["_id"].AsDocument());
    const size_t a = merge.Add("a");
    const size_t b = merge.Add("b");
    merge.Take(a, Batch({}, MarkAt(9), false, false));
    merge.Take(b, Batch({EventAt(6, 2)}, MarkAt(9), false, found));
    StreamMerge::Event event;
    const Result<bool> given = merge.Next(&event);
    EXPECT_EQ(given.ok(), found);
    if (!found) {
      EXPECT_EQ(given.status().code(), kChangeStreamFatalError);
      EXPECT_TRUE(merge.Mark().empty());
    }
  }
}

TEST(StreamMerge, EndsBehindAnInvalidation) {
  const bson::Document start = MarkAt(1);
  StreamMerge merge(start);
  const size_t a = merge.Add("a");
  const size_t b = merge.Add("b");
  merge.Take(a, Batch({EventAt(5, 1), EventAt(6, 2)}, MarkAt(6), true));
  merge.Take(b, Batch({EventAt(7, 3)}, MarkAt(9)));
  EXPECT_EQ(Drain(&merge), (std::vector<int>{1, 2}));
  EXPECT_TRUE(merge.ended());
  EXPECT_FALSE(merge.Ready());
}

// Batches that arrive in any order give all events once, in their order, and every mark on the way
// is one that a stream can go on from.
TEST(StreamMerge, RandomArrivals) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const size_t shards = 1 + random() % 4;
    const bson::Document start = MarkAt(1);
    StreamMerge merge(start);
    std::vector<std::vector<uint32_t>> logs(shards);  // times of events
    std::vector<size_t> sent(shards, 0);
    std::vector<uint32_t> all;
    for (uint32_t time = 2; time < 60; ++time) {
      logs[random() % shards].push_back(time);
      all.push_back(time);
    }
    for (size_t i = 0; i < shards; ++i) {
      merge.Add("s" + std::to_string(i));
      merge.Take(i, Batch({}, MarkAt(1)));
    }
    std::vector<int> given;
    for (int round = 0; given.size() < all.size(); ++round) {
      ASSERT_LT(round, 10000) << "seed " << seed;
      const size_t shard = random() % shards;
      if (merge.Wants(shard)) {
        std::vector<bson::Document> events;
        size_t count = random() % 4;
        uint32_t upto = 1;
        while (count-- > 0 && sent[shard] < logs[shard].size()) {
          upto = logs[shard][sent[shard]++];
          events.push_back(EventAt(upto, static_cast<int>(upto)));
        }
        const bool end = sent[shard] == logs[shard].size();
        const bool none = events.empty();
        bson::Document token = end    ? MarkAt(100)
                               : none ? MarkAt(logs[shard][sent[shard]])
                                      : bson::Document(events.back()["_id"].AsDocument());
        merge.Take(shard, Batch(std::move(events), std::move(token)));
      }
      for (const int key : Drain(&merge)) {
        given.push_back(key);
      }
      if (const bson::Document mark = merge.Mark(); !mark.empty() && given.size() < all.size()) {
        const auto point = engine::ReadResumeToken(mark);
        ASSERT_TRUE(point.ok());
        const ResumePoint next{{all[given.size()], 1}, true};
        EXPECT_TRUE(*point < next) << "seed " << seed;
      }
    }
    EXPECT_EQ(given, std::vector<int>(all.begin(), all.end())) << "seed " << seed;
  }
}

}  // namespace
}  // namespace quire::router
