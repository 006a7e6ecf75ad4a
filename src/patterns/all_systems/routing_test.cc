// SPDX-License-Identifier: Apache-2.0
//
// Content management, comments, ads and the social network on shards: which calls a router sends to
// the shards of one key, and which to all.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "patterns/testing/ads.h"
#include "patterns/testing/cms.h"
#include "patterns/testing/comments.h"
#include "patterns/testing/router.h"
#include "patterns/testing/social.h"

namespace quire::patterns {
namespace {

using bson::Document;

TEST_P(RoutingTest, Cms) {
  Router router(Cms::ShardKeys());
  const Cms cms = CmsOf(&world_, Through(&router));
  ASSERT_TRUE(cms.CreateIndexes().ok());
  ExpectUniqueOnShards(Cms::Indexes(), Cms::ShardKeys());
  const Node photo{.section = "photos", .slug = "ph"};
  const auto now = world_.clock.Now();
  ExpectRoutes(
      &router,
      {{"create", [&] { return cms.CreateNode(PageNode("d"), "c").ok(); }},
       {"create again", [&] { return !cms.CreateNode(PageNode("d")).ok(); }},
       {"get", [&] { return cms.GetNode("docs", "d").ok(); }},
       {"edit",
        [&] {
          return cms.UpdateText("docs", "d", cms.GetNode("docs", "d")->nonce, "t", "u").ok();
        }},
       {"edit late", [&] { return !cms.UpdateText("docs", "d", {}, "t").ok(); }},
       {"tag", [&] { return cms.AddTags("docs", "d", {"t"}, "t").ok(); }},
       {"publish", [&] { return cms.Publish("docs", "d", now).ok(); }},
       {"upload", [&] { return cms.UploadPhoto(photo, Picture("bytes"), "p").ok(); }},
       {"upload again", [&] { return !cms.UploadPhoto(photo, Picture("bytes")).ok(); }},
       {"replace",
        [&] {
          const auto nonce = cms.GetNode("photos", "ph")->nonce;
          return cms.ReplacePhoto("photos", "ph", nonce, Picture("more"), "r").ok();
        }},
       {"read", [&] { return PhotoBytes(cms, "ph") == "more"; }},
       {"feed", [&] { return cms.Feed("blog").ok(); }},
       {"by tag", [&] { return cms.ByTag("t")->nodes.size() == 1; }, {"cms.nodes"}}});
}

TEST_P(RoutingTest, Comments) {
  for (CommentDesign design : kCommentDesigns) {
    SCOPED_TRACE(static_cast<int>(design));
    World world(GetParam());
    CommentsOptions options{.design = design, .page_size = 3, .sharded = true};
    options.seams = world.seams();
    Router router(Comments(world.client, world.database, options).ShardKeys());
    options.seams.queries = &router;
    const Comments comments(world.client, world.database, options);
    ASSERT_TRUE(comments.CreateIndexes().ok());
    EXPECT_TRUE(comments.MissingIndexes()->empty());
    ExpectUniqueOnShards(comments.Indexes(), comments.ShardKeys());
    ASSERT_TRUE(comments.CreateDiscussion("d").ok());
    std::string slug;
    auto list = [&](CommentOrder order) {
      auto page = comments.GetPage("d", order, {.limit = 2});
      return comments.GetPage("d", order, {.limit = 9, .after = page->next})->comments.size() == 4;
    };
    ExpectRoutes(&router,
                 {{"post",
                   [&] {
                     for (int i = 0; i < 5; ++i) {
                       slug = *comments.Post("d", {.text = "x"}, "k" + std::to_string(i));
                     }
                     return *comments.Post("d", {.text = "x"}, "k4") == slug;
                   }},
                  {"reply", [&] { return comments.Post("d", {.text = "y", .parent = slug}).ok(); }},
                  {"list", [&] { return list(CommentOrder::kChronological); }},
                  {"threads", [&] { return list(CommentOrder::kThreaded); }},
                  {"from", [&] { return comments.GetFrom("d", 4, 9)->size() == 2; }},
                  {"get", [&] { return comments.Get("d", slug).ok(); }},
                  {"below", [&] { return comments.Subtree("d", slug)->comments.size() == 2; }},
                  {"remove", [&] { return comments.Remove("d", slug, "r").ok(); }},
                  {"count", [&] { return *comments.Count("d") == 6; }},
                  {"recount", [&] { return comments.Recount("d").ok(); }}});
  }
}

TEST_P(RoutingTest, Ads) {
  AddThree(&world_);
  Router router(AdNetwork::ShardKeys());
  const AdNetwork network = NetworkOf(&world_, Through(&router));
  ExpectUniqueOnShards(AdNetwork::Indexes(), AdNetwork::ShardKeys());
  const auto now = world_.clock.Now();
  bson::ObjectId shown;
  ExpectRoutes(
      &router,
      {{"add",
        [&] {
          return network.AddAd("cnn", "banner", {"x:y", "1", 9}, "a").ok();
        }},
       {"add again",
        [&] {
          return !network.AddAd("cnn", "banner", {"x:y", "1", 9}).ok();
        }},
       {"reprice",
        [&] { return network.UpdateEcpm("cnn", "banner", "bmw:c9", "12", 9, "e").ok(); }},
       {"choose", [&] { return network.ChooseAd("cnn", "banner").ok(); }},
       {"choose with caps",
        [&] {
          shown = network.ChooseAd("cnn", "banner", "u", "c")->at(0).impression;
          return true;
        }},
       {"choose by keywords",
        [&] { return network.ChooseAds("cnn", "banner", "u", {"car"}, 9, false, "k").ok(); }},
       {"click", [&] { return network.Click("u", shown).ok(); }},
       {"profile", [&] { return network.Profile("u", "bmw").ok(); }},
       {"create", [&] { return network.CreateCampaign(CarCampaign(&world_, 9), "n").ok(); }},
       {"charge", [&] { return network.Charge("audi:c1", now, 9, "p").ok(); }},
       {"count", [&] { return network.Count("audi:c1", "side", "7", now, {1}, "i").ok(); }},
       {"counts", [&] { return network.Counts("audi:c1", "side", now).ok(); }},
       {"deactivate", [&] { return network.DeactivateCampaign("audi:c1").ok(); }, {"ad.zone"}},
       {"activate", [&] { return network.ActivateCampaign("audi:c1").ok(); }}});
}

TEST_P(RoutingTest, Social) {
  const People people = AddPeople(&world_);
  Router router(Social::ShardKeys());
  const Social social = SocialOf(&world_, Through(&router));
  ExpectUniqueOnShards(Social::Indexes(), Social::ShardKeys());
  const std::set<std::string> feeds = {"social.wall", "social.news"};
  bson::ObjectId post;
  ExpectRoutes(
      &router,
      {{"add user", [&] { return social.AddUser("New", {}, "a").ok(); }},
       {"circle", [&] { return social.Circle(people.zoe, people.max, "c", "c").ok(); }},
       {"uncircle", [&] { return social.Uncircle(people.zoe, people.max, "c").ok(); }},
       {"block", [&] { return social.Block(people.zoe, people.max).ok(); }},
       {"post",
        [&] {
          post = *social.Post(
              {.author = people.max, .circles = {kAllCircles, kPublic, kFriendsOfFriends}}, "p");
          return true;
        }},
       {"news",
        [&] {
          return social.Read(Feed::kNews, people.jared, people.jared, {})->posts.size() == 1;
        }},
       {"wall",
        [&] { return social.Read(Feed::kWall, people.max, people.fay, {})->posts.size() == 1; }},
       {"visible", [&] { return *social.Visible(people.fay, post); }},
       {"profile", [&] { return social.Profile(people.max, people.fay).ok(); }},
       {"comment", [&] { return social.AddComment(people.jared, post, "t", "1").ok(); }, feeds},
       {"comments", [&] { return social.AllComments(people.jared, post, {}).ok(); }},
       {"delete", [&] { return social.DeletePost(people.max, post, "d").ok(); }, feeds}});
}

QUIRE_IN_BOTH_PLACES(RoutingTest);

}  // namespace
}  // namespace quire::patterns
