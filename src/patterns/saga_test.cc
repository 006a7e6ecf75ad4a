// SPDX-License-Identifier: Apache-2.0
//
// The jobs of the saga engine. What its records go through is tested with transfers and the game.
#include "quire/patterns/saga.h"

#include <string>
#include <utility>
#include <vector>

#include "patterns/testing/places.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::hours;
using std::chrono::minutes;

// A record {_id, part, field} adds 1 to a field of one part. The field `text` is no number: that
// always fails.
std::vector<Participant> Plan(bson::View record) {
  const Document add = Doc("$inc", Doc(TextAt(record, "field"), 1));
  return {{.collection = "parts",
           .id = bson::OwnedValue(record["part"]),
           .guard = {},
           .prepare = {},
           .retire = add,
           .rollback = add}};
}

class SagaTest : public BothPlaces {
 protected:
  Saga At(int64_t batch) {
    return Saga(
        world_.store,
        {.system = "test", .name = "test.add", .records = "records", .plan = Plan, .batch = batch});
  }
  Result<JobReport> Purge(int64_t batch) {
    return At(batch).Purge(Idempotency(world_.store, "test"));
  }

  // A record in that state, and the part that waits for it.
  void Leave(const bson::Value& id, const char* state, const char* field) {
    const bson::Value part = id;
    ASSERT_TRUE(world_.store
                    .Insert("parts", Doc("_id", part, "n", 0, "text", "x", "txns", List(id),
                                         "voided", List()))
                    .ok());
    ASSERT_TRUE(world_.store
                    .Insert("records", Doc("_id", id, "part", part, "field", field, "state", state,
                                           "ts", world_.clock.Now(), "ended", world_.clock.Now()))
                    .ok());
  }
  int64_t InState(const char* state) { return *world_.store.Count("records", Doc("state", state)); }
};

// Those that fail are the oldest, and more than a batch: of one moment, and of several.
TEST_P(SagaTest, CleanupGoesPastWhatFails) {
  const struct {
    const char* state;
    const char* ended;
  } kRows[] = {{"commit", "done"}, {"rollback", "rolled_back"}};
  for (const auto& [state, ended] : kRows) {
    for (bool at_once : {true, false}) {
      SCOPED_TRACE(std::string(state) + (at_once ? " at once" : ""));
      world_.Clear();
      for (int i = 0; i < 7; ++i) {
        Leave(bson::Value(i), state, "text");
        world_.clock.Advance(minutes(at_once ? 0 : 1));
      }
      Leave(bson::Value("last"), state, "n");
      for (int64_t batch : {1, 2, 3}) {
        auto report = At(batch).Cleanup();
        ASSERT_TRUE(report.ok()) << report.status().ToString();
        EXPECT_EQ(report->errors, 7) << batch;
        EXPECT_EQ(report->changed, batch == 1 ? 1 : 0) << batch;
      }
      EXPECT_EQ(InState(state), 7);
      EXPECT_EQ(InState(ended), 1);
    }
  }
}

// Of one moment and with ids of several types, whatever the batches.
TEST_P(SagaTest, EveryRecordHasItsTurnOnce) {
  for (int64_t batch : {1, 2, 5, 100}) {
    world_.Clear();
    const bson::ObjectId object{{1}};
    for (const bson::Value& id : {bson::Value(1), bson::Value("a"), bson::Value(object),
                                  bson::Value(2), bson::Value("b")}) {
      Leave(id, "new", "n");
    }
    world_.clock.Advance(minutes(2));
    auto report = At(batch).Cleanup();
    EXPECT_EQ(report->changed, 10) << batch;  // given up, then undone
    EXPECT_EQ(report->examined, 10) << batch;
    EXPECT_EQ(InState("rolled_back"), 5) << batch;
  }
}

TEST_P(SagaTest, PurgeGoesPastWhatFails) {
  for (int i = 0; i < 4; ++i) {
    Leave(bson::Value(i), "done", "n");
    ASSERT_TRUE(
        world_.store.UpdateOne("parts", Doc("_id", i), Doc("$set", Doc("voided", "no array")))
            .ok());
  }
  Leave(bson::Value("last"), "done", "n");
  world_.clock.Advance(hours(25));
  auto report = Purge(2);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->errors, 4);
  EXPECT_EQ(report->changed, 1);
  EXPECT_EQ(InState("done"), 4);
}

QUIRE_IN_BOTH_PLACES(SagaTest);

}  // namespace
}  // namespace quire::patterns
