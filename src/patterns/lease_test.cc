// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/lease.h"

#include "patterns/testing/places.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::minutes;

class LeaseTest : public BothPlaces {};

TEST_P(LeaseTest, LeasesKeepOthersOut) {
  Lease mine(world_.store, "job", "me", minutes(5));
  Lease other(world_.store, "job", "you", minutes(5));
  ASSERT_TRUE(mine.Acquire()->has_value());
  EXPECT_FALSE(other.Acquire()->has_value());
  ASSERT_TRUE(mine.Save(Doc("at", 1)).ok());
  ASSERT_TRUE(mine.Acquire()->has_value());  // again, by the same owner
  EXPECT_EQ(mine.token(), 2);
  world_.clock.Advance(minutes(6));
  auto state = other.Acquire();
  ASSERT_TRUE(state.ok() && *state);
  EXPECT_EQ(IntegerAt(**state, "at"), 1);
  EXPECT_TRUE(Is(mine.Save(Doc("at", 2)), Error::kLeaseLost));
  EXPECT_TRUE(mine.Release().ok());
  EXPECT_FALSE(mine.Acquire()->has_value());
  EXPECT_TRUE(other.Release().ok());
  EXPECT_TRUE(mine.Acquire()->has_value());
}

// The numbers that a sweep over documents 0 to 6 visits, until `visits` of them are done.
std::vector<int> Visit(World* world, int64_t batch, size_t visits = 100) {
  std::vector<int> seen;
  auto swept = SweepLeased(world->store, Lease(world->store, "sweep", "me", minutes(5)),
                           {"numbers", batch, Doc("_id", 1)},
                           [&](const Document& one, JobReport* report) -> Status {
                             if (seen.size() == visits) {
                               return MakeError(Error::kCrashed, "here");
                             }
                             seen.push_back(static_cast<int>(IntegerAt(one, "_id")));
                             report->examined += 1;
                             return Status::Ok();
                           });
  EXPECT_EQ(swept.ok(), seen.size() < visits);
  if (swept.ok()) {
    EXPECT_EQ(swept->examined, static_cast<int64_t>(seen.size()));
  }
  return seen;
}

TEST_P(LeaseTest, ASweepVisitsEverythingFromWhereTheLastStopped) {
  using Numbers = std::vector<int>;
  EXPECT_EQ(Visit(&world_, 2), Numbers());
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(world_.store.Insert("numbers", Doc("_id", i)).ok());
  }
  for (int64_t batch : {1, 2, 7, 100}) {
    EXPECT_EQ(Visit(&world_, batch), (Numbers{0, 1, 2, 3, 4, 5, 6})) << batch;
  }
  EXPECT_EQ(Visit(&world_, 2, 5), (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(Visit(&world_, 2, 4), (Numbers{4, 5, 6, 0}));  // 4 was visited, but not its batch
  EXPECT_EQ(Visit(&world_, 3), (Numbers{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Visit(&world_, 1, 3), (Numbers{0, 1, 2}));
  ASSERT_TRUE(world_.store.DeleteOne("numbers", Doc("_id", 2)).ok());
  EXPECT_EQ(Visit(&world_, 2), (Numbers{3, 4, 5, 6, 0, 1}));
  EXPECT_EQ(Visit(&world_, 2), (Numbers{0, 1, 3, 4, 5, 6}));
}

TEST_P(LeaseTest, ASweepEndsWhenItsLeaseIsLost) {
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(world_.store.Insert("numbers", Doc("_id", i)).ok());
  }
  int visited = 0;
  auto late = SweepLeased(world_.store, Lease(world_.store, "sweep", "late", minutes(5)),
                          {"numbers", 2, {}}, [&](const Document&, JobReport*) {
                            if (++visited == 1) {
                              world_.clock.Advance(minutes(6));
                              EXPECT_EQ(Visit(&world_, 2).size(), 4u);
                            }
                            return Status::Ok();
                          });
  EXPECT_TRUE(Is(late.status(), Error::kLeaseLost));
  EXPECT_EQ(visited, 2);
}

TEST_P(LeaseTest, BatchesAreRepeatedWhileTheLeaseIsHeld) {
  auto repeat = [&](const char* worker, int batches, const std::function<void()>& meanwhile) {
    int run = 0;
    return RepeatLeased(Lease(world_.store, "job", worker, minutes(5)),
                        [&, batches](JobReport* report) -> Result<bool> {
                          meanwhile();
                          report->changed += 1;
                          return ++run < batches;
                        });
  };
  // Longer than a lease in all, but no batch is.
  auto whole = repeat("me", 3, [&] {
    world_.clock.Advance(minutes(4));
    EXPECT_EQ(repeat("you", 1, [] {})->skipped, 1);
  });
  EXPECT_EQ(whole->changed, 3);
  int batches = 0;
  auto late = repeat("me", 3, [&] {
    ++batches;
    world_.clock.Advance(minutes(6));
    EXPECT_EQ(repeat("you", 1, [] {})->changed, 1);
  });
  EXPECT_TRUE(Is(late.status(), Error::kLeaseLost));
  EXPECT_EQ(batches, 1);
}

QUIRE_IN_BOTH_PLACES(LeaseTest);

}  // namespace
}  // namespace quire::patterns
