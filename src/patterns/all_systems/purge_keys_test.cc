// SPDX-License-Identifier: Apache-2.0
//
// The job that forgets idempotency keys, under crashes, in every system that has it.
#include <functional>

#include "patterns/testing/cms.h"
#include "patterns/testing/comments.h"
#include "quire/patterns/inventory.h"
#include "quire/patterns/orders.h"

namespace quire::patterns {
namespace {

using std::chrono::hours;

struct KeyedSystem {
  const char* name;
  std::function<void(World*)> open;
  // A call that adds one thing; how many there are.
  std::function<Status(World*, const CallKey&)> add;
  std::function<int64_t(World*)> added;
  std::function<Status(World*, const Seams&)> purge;
};

Orders OrdersOf(World* world, const Seams& seams) {
  return Orders(world->client, world->database, seams);
}
Inventory InventoryOf(World* world, const Seams& seams) {
  return Inventory(world->client, world->database, {.seams = seams});
}
Comments DiscussionOf(World* world, const Seams& seams) {
  return CommentsOf(world, CommentDesign::kDocuments, seams);
}

const KeyedSystem kSystems[] = {
    {"orders",
     [](World* world) {
       ASSERT_TRUE(OrdersOf(world, world->seams()).CreateIndexes().ok());
       ASSERT_TRUE(OrdersOf(world, world->seams()).Create("o").ok());
     },
     [](World* world, auto& key) {
       return OrdersOf(world, world->seams()).Add("o", "s", 1, 1, key);
     },
     [](World* world) { return OrdersOf(world, world->seams()).Get("o")->total; },
     [](World* world, auto& seams) { return OrdersOf(world, seams).PurgeKeys().status(); }},
    {"inventory",
     [](World* world) { ASSERT_TRUE(InventoryOf(world, world->seams()).CreateIndexes().ok()); },
     [](World* world, auto& key) {
       return InventoryOf(world, world->seams()).Restock("s", 1, key);
     },
     [](World* world) { return IntegerAt(world->All("product").at(0), "qty"); },
     [](World* world, auto& seams) { return InventoryOf(world, seams).PurgeKeys().status(); }},
    {"comments", [](World* world) { OpenDiscussion(world, CommentDesign::kDocuments); },
     [](World* world, auto& key) {
       return DiscussionOf(world, world->seams()).Post("d", {.text = "text"}, key).status();
     },
     [](World* world) { return *DiscussionOf(world, world->seams()).Count("d"); },
     [](World* world, auto& seams) { return DiscussionOf(world, seams).PurgeKeys().status(); }},
    {"cms", [](World* world) { ASSERT_TRUE(CmsOf(world).CreateIndexes().ok()); },
     [](World* world, auto& key) { return CmsOf(world).CreateNode(PageNode(*key), key).status(); },
     [](World* world) { return *world->store.Count("cms.nodes", Doc()); },
     [](World* world, auto& seams) { return CmsOf(world, seams).PurgeKeys().status(); }},
};

class PurgeKeysTest : public BothPlaces {};

// The old key and its call are forgotten, what the call did stays, and the young key still stands
// for its call.
TEST_P(PurgeKeysTest, SurvivesEveryCrash) {
  for (const KeyedSystem& system : kSystems) {
    SCOPED_TRACE(system.name);
    CrashCase test;
    test.once = [&](World* world) {
      system.open(world);
      ASSERT_TRUE(system.add(world, "old").ok());
      world->clock.Advance(hours(23));
      ASSERT_TRUE(system.add(world, "young").ok());
      world->clock.Advance(hours(2));
    };
    test.operation = system.purge;
    test.settle = [&](World* world) { EXPECT_TRUE(system.purge(world, world->seams()).ok()); };
    test.always = [&](World* world) {
      ASSERT_TRUE(system.add(world, "young").ok());
      EXPECT_EQ(system.added(world), 2);
    };
    test.settled = [](World* world) {
      auto calls = world->All("idempotency");
      ASSERT_EQ(calls.size(), 1u);
      EXPECT_TRUE(TextAt(calls[0], "_id").ends_with("/young"));
    };
    EXPECT_GE(RunCrashCase(GetParam(), test), 6);
  }
}

QUIRE_IN_BOTH_PLACES(PurgeKeysTest);

}  // namespace
}  // namespace quire::patterns
