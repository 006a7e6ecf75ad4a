// SPDX-License-Identifier: Apache-2.0
//
// The jobs of content management, comments, ads and the social network: one worker at a time.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "patterns/test_ads.h"
#include "patterns/test_cms.h"
#include "patterns/test_comments.h"
#include "patterns/test_social.h"

namespace quire::patterns {
namespace {

using std::chrono::minutes;

struct Job {
  const char* name;  // as its lease has it
  std::function<Result<JobReport>(World*)> run;
};

const Job kJobs[] = {
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
    ASSERT_TRUE(world_.store
                    .Insert("jobs", Doc("_id", job.name, "owner", "other", "until", until, "token",
                                        int64_t{7}))
                    .ok());
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
