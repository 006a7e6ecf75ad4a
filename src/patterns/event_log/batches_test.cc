// SPDX-License-Identifier: Apache-2.0
//
// How many messages the bulks of the event log take.
#include <gtest/gtest.h>

#include <algorithm>

#include "patterns/batch_size.h"
#include "patterns/testing/places.h"
#include "quire/patterns/event_log.h"

namespace quire::patterns {
namespace {

using bson::Document;

class EventBatchesTest : public BothPlaces {};

// How many messages an insert of the events took; all of them are stored.
int64_t MessagesFor(World* world, const std::vector<Document>& events) {
  TestCrash points;
  auto report = EventLog(world->client, world->database,
                         {.retention = Retention::kTtl, .seams = world->seams(&points)})
                    .InsertMany(events);
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report.ok() ? report->inserted : 0, static_cast<int64_t>(events.size()));
  return std::count_if(points.seen.begin(), points.seen.end(), [](const std::string& point) {
    return point.starts_with("event_log.insert.");
  });
}

// As much as a message carries goes in one, and a byte more in two.
TEST_P(EventBatchesTest, BulksAreSplitByBytes) {
  constexpr int kEvents = 48;
  for (const size_t more : {0, 1}) {
    World world(GetParam());
    auto event = [&](int id, size_t filler) {
      return Doc("_id", id, "time", world.clock.Now(), "referrer", std::string(filler, 'r'));
    };
    EXPECT_EQ(MessagesFor(&world, {event(-1, 0)}), 1);
    const size_t base = world.All("events").at(0).bytes().size();
    const size_t each = kMaxInsertBytes / kEvents;
    std::vector<Document> events;
    for (int i = 0; i < kEvents - 1; ++i) {
      events.push_back(event(i, each - base));
    }
    events.push_back(event(kEvents, kMaxInsertBytes - (kEvents - 1) * each - base + more));
    EXPECT_EQ(MessagesFor(&world, events), more == 0 ? 1 : 2);
  }
}

TEST_P(EventBatchesTest, BulksAreSplitByNumber) {
  std::vector<Document> events;
  for (size_t i = 0; i <= kMaxInsertDocuments; ++i) {
    events.push_back(Doc("_id", static_cast<int32_t>(i), "time", world_.clock.Now()));
  }
  EXPECT_EQ(MessagesFor(&world_, events), 2);
}

QUIRE_IN_BOTH_PLACES(EventBatchesTest);

TEST(BatchSizeTest, EndsAtTheLimits) {
  BatchSize by_number;
  for (size_t i = 0; i < kMaxInsertDocuments; ++i) {
    ASSERT_TRUE(by_number.Take(Doc())) << i;
  }
  EXPECT_FALSE(by_number.Take(Doc()));
  BatchSize by_bytes;
  const std::string half(kMaxInsertBytes / 2 - Doc("s", "").bytes().size(), 's');
  EXPECT_TRUE(by_bytes.Take(Doc("s", half)));
  EXPECT_FALSE(by_bytes.Take(Doc("s", half + "s")));
  EXPECT_TRUE(by_bytes.Take(Doc("s", half)));
  EXPECT_FALSE(by_bytes.Take(Doc()));
  BatchSize one;
  EXPECT_TRUE(one.Take(Doc("s", half + half + half)));  // the server refuses it
}

}  // namespace
}  // namespace quire::patterns
