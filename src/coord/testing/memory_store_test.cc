// SPDX-License-Identifier: Apache-2.0
#include "coord/testing/memory_store.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"

namespace quire::coord {
namespace {

const Deadline kNever = Deadline::max();

Transaction Set(const std::string& value) { return {.writes = {Put("k", value)}, .reads = {"k"}}; }

std::string Value(Store& store) {
  auto listing = store.List({.prefix = "k"}, kNever);
  return listing.ok() && !listing->entries.empty() ? listing->entries[0].value : "";
}

TEST(MemoryStore, LostRequestDoesNothing) {
  MemoryStore store;
  store.SetFaults({.lose_request = 1});
  EXPECT_EQ(store.Transact(Set("1"), kNever).status().code(), kNetworkTimeout);
  store.Settle();
  EXPECT_EQ(Value(store), "");
}

TEST(MemoryStore, LostAnswerWasDone) {
  MemoryStore store;
  store.SetFaults({.lose_answer = 1});
  EXPECT_EQ(store.Transact(Set("1"), kNever).status().code(), kNetworkTimeout);
  EXPECT_EQ(Value(store), "1");
}

TEST(MemoryStore, DelayedRequestArrivesLate) {
  MemoryStore store;
  store.SetFaults({.delay_request = 1});
  EXPECT_EQ(store.Transact(Set("1"), kNever).status().code(), kNetworkTimeout);
  store.SetFaults({});
  EXPECT_EQ(Value(store), "");
  store.Settle();
  EXPECT_EQ(Value(store), "1");
}

TEST(MemoryStore, DuplicateArrivesAfterOthers) {
  MemoryStore store;
  store.SetFaults({.duplicate_request = 1});
  EXPECT_TRUE(store.Transact(Set("1"), kNever).ok());
  store.SetFaults({});
  store.Settle();
  EXPECT_EQ(Value(store), "1");
  auto listing = store.List({.prefix = "k"}, kNever);
  EXPECT_GT(listing->entries[0].modified, listing->entries[0].created);
}

TEST(MemoryStore, StaleListingShowsAnEarlierState) {
  MemoryStore store;
  ASSERT_TRUE(store.Transact(Set("1"), kNever).ok());
  store.SetFaults({.stale_listing = 1});
  EXPECT_EQ(Value(store), "");
  // A transaction's answer is never stale.
  EXPECT_EQ(store.Transact(Set("2"), kNever)->Find("k")->value, "2");
}

TEST(MemoryStore, GoesBack) {
  MemoryStore store;
  const Revision first = store.Transact(Set("1"), kNever)->position.revision;
  store.Keep();
  ASSERT_TRUE(store.Transact(Set("2"), kNever).ok());
  store.GoBack();
  EXPECT_EQ(Value(store), "1");
  EXPECT_EQ(store.Transact(Set("3"), kNever)->position.revision, first + 1);
}

TEST(MemoryStore, AwayAnswersNothing) {
  MemoryStore store;
  store.SetAway(true);
  EXPECT_EQ(store.Transact(Set("1"), kNever).status().code(), kHostUnreachable);
  EXPECT_EQ(store.List({.prefix = "k"}, kNever).status().code(), kHostUnreachable);
}

TEST(MemoryStore, SameSeedSameHistory) {
  auto run = [](uint64_t seed) {
    MemoryStore store(seed);
    store.SetFaults({.lose_request = 0.2,
                     .lose_answer = 0.2,
                     .delay_request = 0.2,
                     .duplicate_request = 0.2,
                     .stale_listing = 0.5});
    std::string history;
    for (int i = 0; i < 200; ++i) {
      auto answer = store.Transact(Set(std::to_string(i)), kNever);
      history += answer.ok() ? std::to_string(answer->position.revision) : "-";
      history += Value(store);
    }
    return history;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

}  // namespace
}  // namespace quire::coord
