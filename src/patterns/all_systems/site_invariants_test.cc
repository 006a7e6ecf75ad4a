// SPDX-License-Identifier: Apache-2.0
//
// CheckInvariants of content management, comments, ads and the social network: silent after the
// systems' own calls, and not when something else has written.
#include <gtest/gtest.h>

#include <string>

#include "patterns/testing/ads.h"
#include "patterns/testing/breaking.h"
#include "patterns/testing/cms.h"
#include "patterns/testing/comments.h"
#include "patterns/testing/social.h"
#include "quire/patterns/buckets.h"

namespace quire::patterns {
namespace {

using bson::Document;
using bson::ObjectId;

class SiteInvariantsTest : public BothPlaces {};

TEST_P(SiteInvariantsTest, Cms) {
  const Cms cms = CmsOf(&world_);
  ASSERT_TRUE(cms.CreateIndexes().ok());
  Node page = PageNode("d");
  page.tags = {"o"};
  ASSERT_TRUE(cms.CreateNode(page).ok());
  ASSERT_TRUE(cms.UploadPhoto({.section = "photos", .slug = "ph"}, Picture("nine bytes")).ok());
  const Document file = **world_.store.FindOne("cms.assets.files", Doc());
  const std::string chunks = "the chunks of file " + bson::ToJson(file["_id"]);
  const std::string photo = "no whole file of photo photos/ph";
  Breaking breaking(&world_, cms);
  breaking.Delete("cms.assets.files", Doc("_id", file["_id"]), {photo});
  breaking.Delete("cms.assets.chunks", Doc("n", 1), {chunks, photo});
  breaking.Update("cms.assets.files", Doc(), Doc("$inc", Doc("length", 1)), {chunks, photo});
  breaking.Insert("cms.assets.chunks",
                  Doc("files_id", file["_id"], "n", 3, "data", bson::Value::Binary("", 0)),
                  {chunks, photo});
  breaking.Update("cms.nodes", Doc("metadata.slug", "d"), Doc("$push", Doc("metadata.tags", "o")),
                  {"a tag twice on docs/d"});
}

// One discussion, as a system.
struct Discussion {
  Comments comments;
  Result<Lines> CheckInvariants() const { return comments.CheckInvariants("d"); }
};

// Four comments, pages of three; the last replies to the first. Their slugs.
std::vector<std::string> Discuss(World* world, CommentDesign design) {
  OpenDiscussion(world, design);
  const Comments comments = CommentsOf(world, design);
  std::vector<std::string> slugs;
  for (int i = 0; i < 4; ++i) {
    world->clock.Advance(std::chrono::seconds(1));
    slugs.push_back(*comments.Post("d", {.text = "x", .parent = i == 3 ? slugs[0] : ""}));
  }
  return slugs;
}

TEST_P(SiteInvariantsTest, CommentsInDocuments) {
  const auto slugs = Discuss(&world_, CommentDesign::kDocuments);
  const Discussion discussion{CommentsOf(&world_, CommentDesign::kDocuments)};
  Breaking breaking(&world_, discussion);
  breaking.Delete("comments", Doc("slug", slugs[0]), {"without what it replies to: " + slugs[3]});
}

TEST_P(SiteInvariantsTest, CommentsInAnArray) {
  const auto slugs = Discuss(&world_, CommentDesign::kArray);
  const Discussion discussion{CommentsOf(&world_, CommentDesign::kArray)};
  Breaking breaking(&world_, discussion);
  breaking.Update("discussions", Doc(), Doc("$set", Doc("comments.1.slug", slugs[2])),
                  {"slug twice: " + slugs[2]});
  breaking.Update("discussions", Doc(), Doc("$pop", Doc("comments", -1)),
                  {"without what it replies to: " + slugs[3]});
}

TEST_P(SiteInvariantsTest, CommentsInATree) {
  const auto slugs = Discuss(&world_, CommentDesign::kTree);
  const Discussion discussion{CommentsOf(&world_, CommentDesign::kTree)};
  Breaking breaking(&world_, discussion);
  breaking.Update("discussions", Doc(), Doc("$inc", Doc("count", 1)), {"the count of d"});
  breaking.Update("discussions", Doc(), Doc("$set", Doc("replies.0.slug", "other")),
                  {"in the wrong place: " + slugs[3], "without what it replies to: " + slugs[3]});
}

TEST_P(SiteInvariantsTest, CommentsInPages) {
  const auto slugs = Discuss(&world_, CommentDesign::kPages);
  const Discussion discussion{CommentsOf(&world_, CommentDesign::kPages)};
  Breaking breaking(&world_, discussion);
  const Document first = Doc("page", 1);
  const Document last = Doc("page", 2);
  breaking.Update("comment_pages", last, Doc("$inc", Doc("count", 1)), {"the count of page 2"});
  breaking.Update("comment_pages", last, Doc("$set", Doc("page", 3)), {"a gap before page 3"});
  breaking.Update("comment_pages", first, Doc("$inc", Doc("count", -1), "$pop", Doc("comments", 1)),
                  {"the size of page 1"});
  breaking.Update("comment_pages", first, Doc("$set", Doc("comments.1.slug", slugs[2])),
                  {"slug twice: " + slugs[2]});
}

TEST_P(SiteInvariantsTest, Ads) {
  AddThree(&world_);
  const AdNetwork network = NetworkOf(&world_);
  ASSERT_TRUE(network.CreateCampaign(CarCampaign(&world_, 100)).ok());
  ASSERT_TRUE(network.Charge("audi:c1", world_.clock.Now(), 100).ok());
  ASSERT_EQ(Units(network.ChooseAds("cnn", "banner", "u", {"boat"}, 1, true)).size(), 1u);
  const Document profile = **world_.store.FindOne("ad.user", Doc());
  const bson::Value shown = At(profile, "advertisers.mercedes.impressions").AsArray()["0"];
  Breaking breaking(&world_, network);
  const Document banner = Doc("zone_id", "banner");
  breaking.Update("ad.zone", banner, Doc("$set", Doc("ads.0.ecpm", int64_t{1})),
                  {"ads unsorted or twice in zone banner"});
  breaking.Update("ad.zone", banner,
                  Doc("$push", Doc("ads", Doc("campaign_id", "bmw:c9", "ad_unit_id", "12", "ecpm",
                                              int64_t{200}))),
                  {"ads unsorted or twice in zone banner"});
  breaking.Update("ad.user", Doc("_id", "u"),
                  Doc("$push", Doc("advertisers.mercedes.impressions", shown)),
                  {"mercedes:23b too often to u"});
  breaking.Update("campaign.stats", Doc("_id", "audi:c1"),
                  Doc("$inc", Doc("daily_spent." + DayKey(world_.clock.Now()), 1)),
                  {"over budget: audi:c1"});
}

TEST_P(SiteInvariantsTest, Social) {
  const People people = AddPeople(&world_);
  const Social social = SocialOf(&world_);
  const ObjectId post = Send(&world_, people.max, {});
  ASSERT_TRUE(social.AddComment(people.max, post, "t", "1").ok());
  ASSERT_TRUE(social.Block(people.zoe, people.fay).ok());
  const Document page = **world_.store.FindOne("social.wall", Doc());
  const bson::Value entry = page["posts"].AsArray()["0"];
  const std::string of_max = post.ToHex() + " for " + people.max;
  Breaking breaking(&world_, social);
  for (int32_t count : {0, 4}) {
    breaking.Update("social.wall", Doc(), Doc("$set", Doc("count", count)),
                    {"the count of a page of " + people.max});
  }
  breaking.Update("social.wall", Doc(), Doc("$push", Doc("posts", entry), "$inc", Doc("count", 1)),
                  {"post " + post.ToHex() + " twice for " + people.max});
  breaking.Update("social.post", Doc(), Doc("$set", Doc("deleted", true)),
                  {"deleted post " + post.ToHex() + " of " + people.max});
  breaking.Update("social.wall", Doc(), Doc("$set", Doc("posts.0.comments.0.text", "u")),
                  {"comments of " + of_max});
  breaking.Update("social.wall", Doc(), Doc("$inc", Doc("posts.0.comments_shown", 1)),
                  {"comments_shown of " + of_max});
  breaking.Update("social.wall", Doc(), Doc("$inc", Doc("posts.0.comments_total", 1)),
                  {"comments_total of " + of_max});
  const Lines differs = {"followers or blocks differ from their record"};
  const std::string follower = "followers." + people.max;
  breaking.Update("social.user", Doc("_id", people.jared), Doc("$unset", Doc(follower, "")),
                  differs);
  breaking.Update("social.user", Doc("_id", people.jared),
                  Doc("$push", Doc(follower + ".circles", "10gen")), differs);
  breaking.Update("social.user", Doc("_id", people.jared),
                  Doc("$set", Doc(follower + ".circles.0", "python")), differs);
  breaking.Update("social.user", Doc("_id", people.fay),
                  Doc("$pull", Doc("blocked_by", people.zoe)), differs);
}

QUIRE_IN_BOTH_PLACES(SiteInvariantsTest);

}  // namespace
}  // namespace quire::patterns
