// SPDX-License-Identifier: Apache-2.0
//
// The jobs of the systems: one worker at a time.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "patterns/testing/ads.h"
#include "patterns/testing/cms.h"
#include "patterns/testing/comments.h"
#include "patterns/testing/social.h"
#include "quire/patterns/attributes.h"
#include "quire/patterns/catalog.h"
#include "quire/patterns/categories.h"
#include "quire/patterns/contacts.h"
#include "quire/patterns/game.h"
#include "quire/patterns/inbox.h"
#include "quire/patterns/inventory.h"
#include "quire/patterns/links.h"
#include "quire/patterns/nodes.h"
#include "quire/patterns/orders.h"
#include "quire/patterns/perf.h"
#include "quire/patterns/rollups.h"
#include "quire/patterns/transfers.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::minutes;

struct Job {
  const char* name;  // as its lease has it
  std::function<Result<JobReport>(World*)> run;
};

template <typename System, typename Options>
System Of(World* world, Options options) {
  options.seams = world->seams();
  return System(world->client, world->database, options);
}
Contacts Book(World* world) {
  return Of<Contacts>(world, ContactsOptions{.model = ContactModel::kReferenced});
}
Transfers Bank(World* world) { return Of<Transfers>(world, TransfersOptions{}); }
Game Mud(World* world) { return Of<Game>(world, GameOptions{}); }
Inventory Shop(World* world) { return Of<Inventory>(world, InventoryOptions{}); }
Catalog Products(World* world) { return Of<Catalog>(world, CatalogOptions{.sku_registry = true}); }
Inbox Letters(World* world) { return Of<Inbox>(world, InboxOptions{}); }
Perf Monitoring(World* world) { return Of<Perf>(world, PerfOptions{}); }

Result<JobReport> SweepLinks(World* world) {
  return Links(world->client, world->database, {.seams = world->seams()}).Sweep();
}
Result<JobReport> PurgeLinks(World* world) {
  return Links(world->client, world->database, {.seams = world->seams()}).PurgeKeys();
}

const Job kJobs[] = {
    {"attributes.purge_keys",
     [](World* world) {
       return AttributeCatalog(world->client, world->database, AttributeEncoding::kKeyValue, {},
                               world->seams())
           .PurgeKeys();
     }},
    {"catalog.purge_keys", [](World* world) { return Products(world).PurgeKeys(); }},
    {"catalog.sweep_skus", [](World* world) { return Products(world).SweepSkus(); }},
    {"categories.recover",
     [](World* world) { return Of<Categories>(world, CategoriesOptions{}).Recover(); }},
    {"categories.purge",
     [](World* world) { return Of<Categories>(world, CategoriesOptions{}).Purge(); }},
    {"categories.purge_keys",
     [](World* world) { return Of<Categories>(world, CategoriesOptions{}).Purge(); }},
    {"cms.purge_keys", [](World* world) { return Of<Cms>(world, CmsOptions{}).PurgeKeys(); }},
    {"comments.purge_keys",
     [](World* world) { return Of<Comments>(world, CommentsOptions{}).PurgeKeys(); }},
    {"contacts.purge", [](World* world) { return Book(world).PurgeKeys(); }},
    {"contacts.purge_keys", [](World* world) { return Book(world).PurgeKeys(); }},
    {"contacts.sweep_orphans", [](World* world) { return Book(world).SweepOrphans(minutes(5)); }},
    {"game.cleanup", [](World* world) { return Mud(world).Cleanup(); }},
    {"game.purge", [](World* world) { return Mud(world).Purge(); }},
    {"game.purge_keys", [](World* world) { return Mud(world).Purge(); }},
    {"game.resume_moves", [](World* world) { return Mud(world).ResumeMoves(); }},
    {"game.repair_rooms", [](World* world) { return Mud(world).RepairRooms(); }},
    {"inbox.resume", [](World* world) { return Letters(world).Resume(); }},
    {"inbox.purge", [](World* world) { return Letters(world).Purge(); }},
    {"inbox.purge_keys", [](World* world) { return Letters(world).Purge(); }},
    {"inventory.expire", [](World* world) { return Shop(world).Expire(); }},
    {"inventory.recover", [](World* world) { return Shop(world).Recover(); }},
    {"inventory.cleanup", [](World* world) { return Shop(world).Cleanup(); }},
    {"inventory.purge_keys", [](World* world) { return Shop(world).PurgeKeys(); }},
    {"links.owners.sweep", SweepLinks},
    {"links.owners.purge_keys", PurgeLinks},
    {"nodes.purge_keys",
     [](World* world) {
       return Nodes(world->client, world->database, world->seams()).PurgeKeys();
     }},
    {"orders.purge_keys",
     [](World* world) {
       return Orders(world->client, world->database, world->seams()).PurgeKeys();
     }},
    {"perf.retention", [](World* world) { return Monitoring(world).DropExpired(); }},
    {"perf.rollup", [](World* world) { return Monitoring(world).Rollup(); }},
    {"rollups", [](World* world) { return Of<Rollups>(world, RollupsOptions{}).Run(); }},
    {"rollups",
     [](World* world) {
       return Of<Rollups>(world, RollupsOptions{}).Repair(bson::Date{0}, world->clock.Now());
     }},
    {"rollups",
     [](World* world) { return Of<Rollups>(world, RollupsOptions{}).Close(bson::Date{0}); }},
    {"rollups.purge_keys",
     [](World* world) { return Of<Rollups>(world, RollupsOptions{}).PurgeKeys(); }},
    {"transfers.cleanup", [](World* world) { return Bank(world).Cleanup(); }},
    {"transfers.purge", [](World* world) { return Bank(world).Purge(); }},
    {"transfers.purge_keys", [](World* world) { return Bank(world).Purge(); }},
    {"cms.gc_files", [](World* world) { return CmsOf(world).GcFiles(); }},
    {"cms.gc_chunks", [](World* world) { return CmsOf(world).GcChunks(); }},
    {"comments.recount",
     [](World* world) { return CommentsOf(world, CommentDesign::kPages).RecountAll(); }},
    {"ads.end_campaigns", [](World* world) { return NetworkOf(world).EndCampaigns(); }},
    {"ads.trim_profiles", [](World* world) { return NetworkOf(world).TrimProfiles(); }},
    {"social.fanout", [](World* world) { return SocialOf(world).ResumeFanout(); }},
    {"social.previews", [](World* world) { return SocialOf(world).RefreshPreviews(); }},
    {"social.reconcile", [](World* world) { return SocialOf(world).ReconcileAll(); }},
};

class LeasedJobsTest : public BothPlaces {};

TEST_P(LeasedJobsTest, AreLeftToWhoHasThem) {
  for (const Job& job : kJobs) {
    SCOPED_TRACE(job.name);
    const bson::Date until{world_.clock.Now().millis + 60'000};
    const Document held = Doc("owner", "other", "until", until, "token", int64_t{7});
    ASSERT_TRUE(world_.store.UpdateOne("jobs", Doc("_id", job.name), Doc("$set", held), true).ok());
    auto report = job.run(&world_);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_GE(report->skipped, 1);
    EXPECT_EQ(report->examined, 0);
    auto lease = world_.store.FindOne("jobs", Doc("_id", job.name));
    EXPECT_EQ(IntegerAt(**lease, "token"), 7);
    world_.clock.Advance(minutes(2));
    ASSERT_TRUE(job.run(&world_).ok());
    lease = world_.store.FindOne("jobs", Doc("_id", job.name));
    EXPECT_GT(IntegerAt(**lease, "token"), 7);
    EXPECT_EQ(TextAt(**lease, "owner"), "");  // given back
  }
}

QUIRE_IN_BOTH_PLACES(LeasedJobsTest);

}  // namespace
}  // namespace quire::patterns
