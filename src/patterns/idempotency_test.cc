// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/idempotency.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/try.h"
#include "patterns/testing/world.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::hours;

class IdempotencyTest : public ::testing::TestWithParam<Place> {
 protected:
  World world_{GetParam()};
};

// A call that adds n to the counter, once per key, and returns what it was told to.
Result<Document> Add(const Store& store, const CallKey& key, int32_t n, const Status& refuse = {}) {
  Idempotency calls(store, "test");
  return calls.Once("test.add", key, Doc("n", n), [&](const Claim& claim) -> Result<Document> {
    RETURN_IF_ERROR(refuse);
    RETURN_IF_ERROR(store
                        .UpdateOne("counters", Unmarked(Doc("_id", "c"), claim),
                                   Marking(Doc("$inc", Doc("sum", n)), claim))
                        .status());
    RETURN_IF_ERROR(store.seams().After("test.add.c1"));
    return Doc("added", n);
  });
}

int64_t Sum(const Store& store) {
  auto counter = store.FindOne("counters", Doc("_id", "c"));
  return counter.ok() && *counter ? IntegerAt(**counter, "sum") : -1;
}

TEST_P(IdempotencyTest, AKeyStandsForOneCall) {
  const Store& store = world_.store;
  ASSERT_TRUE(store.Insert("counters", Doc("_id", "c", "sum", 0)).ok());
  for (int i = 0; i < 3; ++i) {
    auto added = Add(store, "k", 5);
    ASSERT_TRUE(added.ok()) << added.status().ToString();
    EXPECT_EQ(IntegerAt(*added, "added"), 5);
    EXPECT_EQ(ErrorName(Add(store, "k", 6).status()), "IdempotencyKeyReuse");
    EXPECT_TRUE(Add(store, std::nullopt, 1).ok());
  }
  EXPECT_EQ(Sum(store), 8);
  EXPECT_EQ(ErrorName(Add(store, "", 1).status()), "InvalidName");
  Idempotency calls(store, "test");
  EXPECT_EQ(ErrorName(calls.DoOnce("test.other", "k", Doc("n", 5),
                                   [](const Claim&) { return Status::Ok(); })),
            "IdempotencyKeyReuse");
  EXPECT_TRUE(Idempotency(store, "other")
                  .DoOnce("test.other", "k", Doc(), [](const Claim&) { return Status::Ok(); })
                  .ok());
}

TEST_P(IdempotencyTest, FinalErrorsAreKeptOthersLeaveItOpen) {
  const Store& store = world_.store;
  ASSERT_TRUE(store.Insert("counters", Doc("_id", "c", "sum", 0)).ok());
  const Status conflict = MakeError(Error::kConflict, "rev 7").WithExtra(Doc("rev", 7).bytes());
  EXPECT_FALSE(Add(store, "final", 1, conflict).ok());
  Status again = Add(store, "final", 1).status();
  EXPECT_EQ(again.message(), "Conflict: rev 7");
  EXPECT_EQ(IntegerAt(bson::View(again.extra().data()), "rev"), 7);
  EXPECT_FALSE(Add(store, "open", 1, Status(6, "unreachable")).ok());
  EXPECT_FALSE(Add(store, "open", 1, MakeError(Error::kContention, "")).ok());
  EXPECT_TRUE(Add(store, "open", 1).ok());
  EXPECT_EQ(Sum(store), 1);
}

TEST_P(IdempotencyTest, RepeatedThroughEveryCrashItHappensOnce) {
  CrashCase test;
  test.setup = [](World* world) {
    ASSERT_TRUE(world->store.Insert("counters", Doc("_id", "c", "sum", 0)).ok());
  };
  test.operation = [](World* world, const Seams& seams) {
    Status first = Add(Store(world->client, world->database, seams), "k", 5).status();
    EXPECT_TRUE(Add(world->store, "k", 5).ok());
    EXPECT_EQ(Sum(world->store), 5);
    return first;
  };
  test.settle = [](World* world) { EXPECT_TRUE(Add(world->store, "k", 5).ok()); };
  test.always = [](World* world) { EXPECT_LE(Sum(world->store), 5); };
  test.settled = [](World* world) { EXPECT_EQ(Sum(world->store), 5); };
  EXPECT_GE(RunCrashCase(GetParam(), test), 15);
}

TEST_P(IdempotencyTest, ManyCallersAtOnce) {
  ASSERT_TRUE(world_.store.Insert("counters", Doc("_id", "c", "sum", 0)).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(Add(world_.store, "k" + std::to_string(i), 1).ok());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(Sum(world_.store), 20);
}

TEST_P(IdempotencyTest, PurgeForgets) {
  ASSERT_TRUE(world_.store.CreateIndexes({Idempotency::Index()}).ok());
  Idempotency calls(world_.store, "test");
  auto nothing = [](const Claim&) { return Status::Ok(); };
  ASSERT_TRUE(calls.DoOnce("test.a", "k", Doc("n", 1), nothing).ok());
  EXPECT_EQ(calls.Purge()->changed, 0);
  world_.clock.Advance(hours(25));
  EXPECT_EQ(calls.Purge()->changed, 1);
  EXPECT_TRUE(calls.DoOnce("test.a", "k", Doc("n", 2), nothing).ok());
  Explained explained =
      Explain(world_.store, Doc("find", "idempotency", "filter",
                                Doc("system", "test", "at", Doc("$lt", world_.clock.Now())), "sort",
                                Doc("at", 1)));
  EXPECT_NE(explained.plan.find("IXSCAN"), std::string::npos) << explained.plan;
  EXPECT_EQ(explained.plan.find("\"SORT\""), std::string::npos) << explained.plan;
}

// Systems of one database may remember their calls for different times.
TEST_P(IdempotencyTest, PurgeForgetsTheCallsOfItsSystemAlone) {
  auto nothing = [](const Claim&) { return Status::Ok(); };
  for (const char* system : {"a", "b"}) {
    ASSERT_TRUE(Idempotency(world_.store, system).DoOnce("call", "k", Doc(), nothing).ok());
  }
  world_.clock.Advance(hours(2));
  EXPECT_EQ(Idempotency(world_.store, "a").Purge({.retention = hours(1)})->changed, 1);
  ASSERT_EQ(world_.All("idempotency").size(), 1u);
  EXPECT_EQ(TextAt(world_.All("idempotency")[0], "_id"), "b/k");
}

// R7: one worker at a time, some hundred keys at a time, the lease renewed between.
TEST_P(IdempotencyTest, PurgeIsLeasedAndBatched) {
  constexpr int kKeys = 1001;
  std::vector<Document> keys;
  for (int i = 0; i < kKeys; ++i) {
    keys.push_back(
        Doc("_id", "test/" + std::to_string(i), "system", "test", "at", world_.clock.Now()));
  }
  ASSERT_TRUE(world_.client.GetDatabase(world_.database)
                  .GetCollection("idempotency")
                  .InsertMany(keys)
                  .ok());
  world_.clock.Advance(hours(25));
  TestCrash first_batch;
  first_batch.number = 1;
  const Store crashing(world_.client, world_.database, world_.seams(&first_batch));
  EXPECT_TRUE(Is(Idempotency(crashing, "test").Purge({.worker = "a"}).status(), Error::kCrashed));
  const auto left = static_cast<int64_t>(world_.All("idempotency").size());
  EXPECT_GT(left, 500);
  EXPECT_LT(left, kKeys);
  Idempotency calls(world_.store, "test");
  auto held = calls.Purge({.worker = "b"});
  EXPECT_EQ(held->skipped, 1);
  EXPECT_EQ(held->changed, 0);
  world_.clock.Advance(std::chrono::minutes(6));
  auto purged = calls.Purge({.worker = "b"});
  EXPECT_EQ(purged->examined, left);
  EXPECT_EQ(purged->changed, left);
  EXPECT_EQ(purged->skipped, 0);
}

// A key is purged and stands for a new call before the deletion of a late worker arrives.
TEST_P(IdempotencyTest, ALatePurgeLeavesNewCalls) {
  auto nothing = [](const Claim&) { return Status::Ok(); };
  ASSERT_TRUE(Idempotency(world_.store, "test").DoOnce("test.a", "k", Doc("n", 1), nothing).ok());
  world_.clock.Advance(hours(25));
  TestFaults faults;
  faults.at = 2;  // the lease, then the deletion
  faults.before = [&] {
    Idempotency calls(world_.store, "test");
    EXPECT_EQ(calls.Purge()->changed, 1);
    EXPECT_TRUE(calls.DoOnce("test.a", "k", Doc("n", 2), nothing).ok());
  };
  const Store late(world_.client, world_.database, world_.seams(nullptr, &faults));
  EXPECT_EQ(Idempotency(late, "test").Purge()->skipped, 1);
  EXPECT_EQ(world_.All("idempotency").size(), 1u);
}

// R11, for every system: the store names it.
TEST_P(IdempotencyTest, TooLargeADocumentChangesNothing) {
  const std::string half(9 << 20, 'x');
  ASSERT_TRUE(world_.store.Insert("big", Doc("_id", 1, "a", List(half))).ok());
  auto grown = world_.store.UpdateOne("big", Doc("_id", 1), Doc("$push", Doc("a", half)));
  EXPECT_EQ(ErrorName(grown.status()), "DocumentTooLarge") << grown.status().ToString();
  EXPECT_EQ((*world_.store.FindOne("big", Doc("_id", 1)))->view()["a"].AsArray().Count(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Places, IdempotencyTest,
                         ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
