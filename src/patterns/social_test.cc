// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/social.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

#include "patterns/test_world.h"

namespace quire::patterns {
namespace {

using bson::Document;
using bson::ObjectId;
using std::chrono::hours;
using std::chrono::minutes;

Social SocialOf(World* world, const Seams& seams, int32_t page_size = 3) {
  return Social(world->client, world->database, {.page_size = page_size, .seams = seams});
}
Social SocialOf(World* world) { return SocialOf(world, world->seams()); }

// Max has Jared and Bernie in "10gen", Meghan in "python"; Jared has Fay in "x.$y"; Zoe is alone.
struct People {
  std::string max, jared, bernie, meghan, fay, zoe;
};

People AddPeople(World* world) {
  Social social = SocialOf(world);
  EXPECT_TRUE(social.CreateIndexes().ok());
  auto add = [&](const char* name) {
    auto id = social.AddUser(name, Doc("place", "Graz"));
    EXPECT_TRUE(id.ok()) << id.status().ToString();
    return id.ok() ? *id : "";
  };
  People people{add("Max"), add("Jared"), add("Bernie"), add("Meghan"), add("Fay"), add("Zoe")};
  EXPECT_TRUE(social.Circle(people.max, people.jared, "10gen").ok());
  EXPECT_TRUE(social.Circle(people.max, people.bernie, "10gen").ok());
  EXPECT_TRUE(social.Circle(people.max, people.meghan, "python").ok());
  EXPECT_TRUE(social.Circle(people.jared, people.fay, "x.$y").ok());
  return people;
}

ObjectId Send(World* world, const std::string& author, std::vector<std::string> circles,
              const char* text = "hi", const std::string& to = "") {
  auto id = SocialOf(world).Post(
      {.author = author, .to = to, .detail = Doc("text", text), .circles = std::move(circles)});
  EXPECT_TRUE(id.ok()) << id.status().ToString();
  return id.ok() ? *id : ObjectId();
}

std::vector<FeedPost> ReadAll(World* world, Feed feed, const std::string& user,
                              const std::string& viewer, int64_t limit = 100) {
  std::vector<FeedPost> all;
  PageRequest request{.limit = limit};
  do {
    auto page = SocialOf(world).Read(feed, user, viewer, request);
    EXPECT_TRUE(page.ok()) << page.status().ToString();
    if (!page.ok()) {
      break;
    }
    all.insert(all.end(), page->posts.begin(), page->posts.end());
    request.after = page->next;
  } while (!request.after.empty());
  return all;
}

std::vector<std::string> Texts(const std::vector<FeedPost>& posts) {
  std::vector<std::string> texts;
  for (const FeedPost& post : posts) {
    texts.emplace_back(TextAt(post.detail, "text"));
  }
  return texts;
}

void Settle(World* world) {
  world->clock.Advance(minutes(5));
  Social social = SocialOf(world);
  for (int i = 0; i < 10; ++i) {
    auto fanout = social.ResumeFanout();
    auto previews = social.RefreshPreviews();
    auto graph = social.ReconcileAll();
    ASSERT_TRUE(fanout.ok() && previews.ok() && graph.ok())
        << fanout.status().ToString() << previews.status().ToString() << graph.status().ToString();
    if (fanout->changed + previews->changed + graph->changed == 0) {
      return;
    }
  }
  FAIL() << "the jobs never end";
}

void ExpectSound(World* world) {
  auto wrong = SocialOf(world).CheckInvariants();
  ASSERT_TRUE(wrong.ok()) << wrong.status().ToString();
  EXPECT_TRUE(wrong->empty()) << wrong->front();
}

// At any instant: nobody reads what they may not see (while `quiet`: it may change in between), nor
// anything twice.
void ExpectNothingForbidden(World* world, const People& people, bool quiet) {
  Social social = SocialOf(world);
  for (const std::string* viewer : {&people.max, &people.jared, &people.meghan, &people.zoe}) {
    for (const std::string* owner : {viewer, &people.max}) {
      for (Feed feed : {Feed::kWall, Feed::kNews}) {
        std::set<std::string> ids;
        for (const FeedPost& post : ReadAll(world, feed, *owner, *viewer)) {
          EXPECT_TRUE(!quiet || *social.Visible(*viewer, post.id));
          EXPECT_TRUE(ids.insert(post.id.ToHex()).second);
          EXPECT_LE(post.comments.size(), 3u);
        }
      }
    }
  }
}

class SocialTest : public ::testing::TestWithParam<Place> {
 protected:
  World world_{GetParam()};
};

TEST_P(SocialTest, CirclesDecideWhoSees) {
  const People people = AddPeople(&world_);
  Social social = SocialOf(&world_);
  struct {
    std::vector<std::string> circles;
    std::vector<const std::string*> see;
  } const kCases[] = {
      {{"10gen"}, {&people.max, &people.jared, &people.bernie}},
      {{"python"}, {&people.max, &people.meghan}},
      {{"10gen", "python"}, {&people.max, &people.jared, &people.bernie, &people.meghan}},
      {{kAllCircles}, {&people.max, &people.jared, &people.bernie, &people.meghan}},
      {{kPublic},
       {&people.max, &people.jared, &people.bernie, &people.meghan, &people.fay, &people.zoe}},
      {{kFriendsOfFriends}, {&people.max, &people.fay}},
      {{}, {&people.max}},
      {{"nobody's"}, {&people.max}},
  };
  for (const auto& row : kCases) {
    const ObjectId post = Send(&world_, people.max, row.circles);
    for (const std::string* viewer :
         {&people.max, &people.jared, &people.bernie, &people.meghan, &people.fay, &people.zoe}) {
      const bool expected = std::find(row.see.begin(), row.see.end(), viewer) != row.see.end();
      EXPECT_EQ(*social.Visible(*viewer, post), expected);
      const auto wall = ReadAll(&world_, Feed::kWall, people.max, *viewer);
      EXPECT_EQ(!wall.empty() && wall.front().id == post, expected);
    }
  }
  // A block, either way, hides even what is public; being in a circle does not help.
  const ObjectId open = Send(&world_, people.max, {kPublic, "10gen"});
  ASSERT_TRUE(social.Block(people.jared, people.max).ok());
  ASSERT_TRUE(social.Block(people.max, people.meghan).ok());
  EXPECT_FALSE(*social.Visible(people.jared, open));
  EXPECT_FALSE(*social.Visible(people.meghan, open));
  EXPECT_TRUE(*social.Visible(people.zoe, open));
  EXPECT_FALSE(*social.Incoming(people.jared, open));
  EXPECT_TRUE(*social.Incoming(people.bernie, open));
  EXPECT_TRUE(Is(social.Profile(people.max, people.meghan).status(), Error::kBlocked));
  ASSERT_TRUE(social.Unblock(people.jared, people.max).ok());
  EXPECT_TRUE(*social.Visible(people.jared, open));
  EXPECT_TRUE(*social.OnOwnWall(people.max, open));
  EXPECT_FALSE(*social.OnOwnWall(people.zoe, open));
  const ObjectId answer = Send(&world_, people.bernie, {kPublic});
  EXPECT_TRUE(*social.OnOwnWall(people.max, answer));  // the second of two in a circle
  auto profile = social.Profile(people.jared, people.zoe);
  EXPECT_EQ(profile->name, "Jared");
  EXPECT_EQ(TextAt(profile->profile, "place"), "Graz");
  EXPECT_EQ(profile->followers, 1);
  ExpectSound(&world_);
}

TEST_P(SocialTest, TheGraphRefusesAndRepeats) {
  const People people = AddPeople(&world_);
  Social social = SocialOf(&world_);
  EXPECT_TRUE(social.Circle(people.max, people.jared, "10gen").ok());  // again
  EXPECT_TRUE(Is(social.Circle(people.max, people.max, "c"), Error::kSelfCircle));
  EXPECT_TRUE(Is(social.Circle(people.max, "none", "c"), Error::kNoSuchUser));
  EXPECT_TRUE(Is(social.Circle("none", people.max, "c"), Error::kNoSuchUser));
  EXPECT_TRUE(Is(social.Circle(people.max, people.zoe, ""), Error::kInvalidName));
  EXPECT_TRUE(Is(social.Circle(people.max, people.zoe, kPublic), Error::kInvalidName));
  ASSERT_TRUE(social.Block(people.zoe, people.max).ok());
  EXPECT_TRUE(Is(social.Circle(people.max, people.zoe, "c"), Error::kBlocked));
  EXPECT_TRUE(Is(social.Circle(people.zoe, people.max, "c"), Error::kBlocked));
  EXPECT_TRUE(Is(social.Post({.author = people.max, .to = people.zoe}).status(), Error::kBlocked));
  EXPECT_TRUE(Is(social.Block(people.zoe, people.zoe), Error::kSelfCircle));
  EXPECT_TRUE(Is(social.Post({.author = "none"}).status(), Error::kNoSuchUser));
  EXPECT_TRUE(Is(social.AddUser("").status(), Error::kInvalidName));
  EXPECT_EQ(*social.AddUser("K", {}, "k"), *social.AddUser("K", {}, "k"));
  ExpectSound(&world_);
  EXPECT_TRUE(social.Uncircle(people.max, people.jared, "10gen").ok());
  EXPECT_TRUE(social.Uncircle(people.max, people.jared, "10gen").ok());
  EXPECT_FALSE(*social.Visible(people.jared, Send(&world_, people.max, {"10gen"})));
  ExpectSound(&world_);
}

TEST_P(SocialTest, FeedsArePagedNewestFirst) {
  const People people = AddPeople(&world_);
  std::vector<std::string> expected;
  for (int i = 0; i < 11; ++i) {
    world_.clock.Advance(hours(24 * 7));  // three months, pages of three
    const std::string text = std::to_string(i);
    Send(&world_, i % 4 == 3 ? people.jared : people.max, {i % 2 ? "10gen" : "python"},
         text.c_str(), i % 4 == 3 ? people.max : "");
    expected.insert(expected.begin(), text);
  }
  for (int64_t limit : {1, 2, 3, 4, 100}) {
    EXPECT_EQ(Texts(ReadAll(&world_, Feed::kWall, people.max, people.max, limit)),
              (std::vector<std::string>{"10", "9", "8", "6", "5", "4", "2", "1", "0"}));
    EXPECT_EQ(Texts(ReadAll(&world_, Feed::kWall, people.max, people.jared, limit)),
              (std::vector<std::string>{"9", "7", "5", "3", "1"}));
    EXPECT_EQ(Texts(ReadAll(&world_, Feed::kNews, people.jared, people.jared, limit)),
              (std::vector<std::string>{"9", "5", "1"}));
  }
  Social social = SocialOf(&world_);
  auto early = social.Read(Feed::kWall, people.max, people.max, {.limit = 1}, "202010");
  EXPECT_EQ(Texts(early->posts).size(), 1u);
  EXPECT_NE(Texts(early->posts).at(0), "10");
  EXPECT_TRUE(Is(social.Read(Feed::kWall, people.max, people.max, {.after = "junk"}).status(),
                 Error::kBadCursor));
  EXPECT_TRUE(Is(social.Read(Feed::kWall, people.max, "none", {}).status(), Error::kNoSuchUser));
  auto pages = world_.store.Find("social.wall", Doc("user_id", people.max));
  for (const Document& page : *pages) {
    EXPECT_LE(page["posts"].AsArray().Count(), 3u);
  }
  ExpectSound(&world_);
}

TEST_P(SocialTest, CommentsShowTheLastThree) {
  const People people = AddPeople(&world_);
  Social social(world_.client, world_.database,
                {.page_size = 3, .max_comments = 4, .seams = world_.seams()});
  const ObjectId post = Send(&world_, people.max, {"10gen"});
  for (const char* id : {"1", "2", "2", "3", "4"}) {
    Status made = social.AddComment(people.jared, post, "text" + std::string(id), id);
    EXPECT_TRUE(made.ok()) << made.ToString();
  }
  const auto news = ReadAll(&world_, Feed::kNews, people.bernie, people.bernie);
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].comments_total, 4);
  ASSERT_EQ(news[0].comments.size(), 3u);
  EXPECT_EQ(news[0].comments[0].text, "text2");
  EXPECT_EQ(news[0].comments[2].name, "Jared");
  EXPECT_TRUE(Is(social.AddComment(people.jared, post, "other", "2"), Error::kIdempotencyKeyReuse));
  EXPECT_TRUE(Is(social.AddComment(people.jared, post, "t", "5"), Error::kDocumentTooLarge));
  EXPECT_TRUE(Is(social.AddComment(people.meghan, post, "t", "6"), Error::kForbidden));
  EXPECT_TRUE(Is(social.AddComment("none", post, "t", "6"), Error::kNoSuchUser));
  EXPECT_TRUE(Is(social.AddComment(people.max, ObjectId(), "t", "6"), Error::kNotFound));
  auto page = social.AllComments(people.bernie, post, {.limit = 3});
  ASSERT_EQ(page->comments.size(), 3u);
  page = social.AllComments(people.bernie, post, {.limit = 3, .after = page->next});
  ASSERT_EQ(page->comments.size(), 1u);
  EXPECT_EQ(page->comments[0].id, "4");
  EXPECT_TRUE(page->next.empty());
  EXPECT_TRUE(Is(social.AllComments(people.zoe, post, {}).status(), Error::kForbidden));
  ExpectSound(&world_);
}

TEST_P(SocialTest, DeletedPostsAreGone) {
  const People people = AddPeople(&world_);
  Social social = SocialOf(&world_);
  std::vector<ObjectId> posts;
  for (int i = 0; i < 8; ++i) {  // several pages become empty: no index may mind
    world_.clock.Advance(hours(24 * 20));
    posts.push_back(Send(&world_, people.max, {"10gen"}));
  }
  EXPECT_TRUE(Is(social.DeletePost(people.jared, posts[0]), Error::kForbidden));
  for (const ObjectId& post : posts) {
    Status deleted = social.DeletePost(people.max, post);
    EXPECT_TRUE(deleted.ok()) << deleted.ToString();
  }
  EXPECT_TRUE(Is(social.DeletePost(people.max, posts[0]), Error::kNotFound));
  EXPECT_TRUE(Is(social.AddComment(people.max, posts[0], "t", "1"), Error::kNotFound));
  EXPECT_FALSE(*social.Visible(people.max, posts[0]));
  EXPECT_TRUE(ReadAll(&world_, Feed::kNews, people.jared, people.jared).empty());
  Settle(&world_);
  EXPECT_EQ(*world_.store.Count("social.post", Doc("fanout.state", "purge")), 8);
  world_.clock.Advance(hours(25));
  Settle(&world_);
  EXPECT_EQ(*world_.store.Count("social.post", Doc("fanout.state", "purge")), 0);
  ExpectSound(&world_);
}

TEST_P(SocialTest, SurvivesEveryCrashAndLateWrite) {
  People people;
  ObjectId old;  // a post that is in all feeds before
  using Operation = std::function<Status(const Social&)>;
  struct {
    const char* name;
    Operation run;
    bool again;  // the caller repeats it after an error, and it also runs through an address
    int min_runs;
  } const kOperations[] = {
      {"post",
       [&](const Social& social) {
         return social.Post({.author = people.max, .circles = {kAllCircles}}, "k").status();
       },
       true, 20},
      {"post once",
       [&](const Social& social) {
         return social.Post({.author = people.max, .circles = {"10gen", kPublic}}).status();
       },
       false, 20},
      {"delete", [&](const Social& social) { return social.DeletePost(people.max, old); }, false,
       12},
      {"comment",
       [&](const Social& social) { return social.AddComment(people.jared, old, "t", "c4"); }, true,
       15},
      {"circle", [&](const Social& social) { return social.Circle(people.zoe, people.max, "z"); },
       false, 8},
      {"uncircle",
       [&](const Social& social) { return social.Uncircle(people.max, people.jared, "10gen"); },
       false, 12},
      {"block", [&](const Social& social) { return social.Block(people.meghan, people.max); },
       false, 8},
      {"unblock", [&](const Social& social) { return social.Unblock(people.bernie, people.max); },
       false, 8},
  };
  for (const auto& operation : kOperations) {
    if (GetParam() == Place::kServed && !operation.again) {
      continue;
    }
    SCOPED_TRACE(operation.name);
    CrashCase test;
    test.setup = [&](World* world) {
      people = AddPeople(world);
      old = Send(world, people.max, {kAllCircles}, "old");
      ASSERT_TRUE(SocialOf(world).Block(people.bernie, people.max).ok());
      for (const char* id : {"c1", "c2", "c3"}) {
        ASSERT_TRUE(SocialOf(world).AddComment(people.max, old, id, id).ok());
      }
    };
    test.operation = [&](World* world, const Seams& seams) {
      Status first = operation.run(SocialOf(world, seams));
      if (operation.again && !first.ok()) {
        Status again = operation.run(SocialOf(world));
        EXPECT_TRUE(again.ok()) << again.ToString();
      }
      return first;
    };
    test.settle = Settle;
    test.always = [&](World* world) { ExpectNothingForbidden(world, people, true); };
    test.settled = [&](World* world) {
      // A paused client's last writes may come after the jobs: they run again.
      Settle(world);
      ExpectSound(world);
      EXPECT_EQ(*world->store.Count("social.post", Doc("fanout.state", "new")), 0);
      auto posts = world->store.Find("social.post", Doc("deleted", Doc("$exists", false)));
      for (const Document& post : *posts) {
        EXPECT_EQ(*world->store.Count("social.wall", Doc("posts.id", post["_id"])), 1);
        EXPECT_EQ(*world->store.Count("social.news",
                                      Doc("user_id", people.meghan, "posts.id", post["_id"])),
                  TextAt(post, "detail.text") == "old" || operation.again ? 1 : 0);
      }
    };
    EXPECT_GE(RunCrashCase(GetParam(), test), operation.min_runs);
  }
}

TEST_P(SocialTest, ManyPostersAndReadersSeeEachPostOnce) {
  const People people = AddPeople(&world_);
  std::vector<std::thread> threads;
  std::atomic<int> sent{0};
  std::atomic<int> kept{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Social social = SocialOf(&world_);
      for (int i = 0; i < 12; ++i) {
        auto post = social.Post({.author = people.max,
                                 .detail = Doc("text", std::to_string(t * 100 + i)),
                                 .circles = {kAllCircles}});
        ASSERT_TRUE(post.ok()) << post.status().ToString();
        sent += 1;
        for (int c = 0; c < 2; ++c) {
          Status made = social.AddComment(people.jared, *post, "c", "c" + std::to_string(c));
          EXPECT_TRUE(made.ok()) << made.ToString();
        }
        if (i % 4 == 0) {
          EXPECT_TRUE(social.DeletePost(people.max, *post).ok());
        } else {
          kept += 1;
        }
      }
    });
  }
  threads.emplace_back([&] {
    Social social(world_.client, world_.database,
                  {.page_size = 3, .grace = std::chrono::milliseconds(0), .seams = world_.seams()});
    for (int i = 0; i < 10; ++i) {
      world_.clock.Advance(std::chrono::seconds(70));
      EXPECT_TRUE(social.ResumeFanout().ok());
      EXPECT_TRUE(social.RefreshPreviews().ok());
      EXPECT_TRUE(social.ReconcileAll().ok());
      ExpectNothingForbidden(&world_, people, false);
    }
  });
  threads.emplace_back([&] {
    Social social = SocialOf(&world_);
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(social.Circle(people.zoe, people.fay, "c" + std::to_string(i % 3)).ok());
      EXPECT_TRUE(social.Uncircle(people.zoe, people.fay, "c" + std::to_string(i % 2)).ok());
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  Settle(&world_);
  ExpectSound(&world_);
  EXPECT_EQ(sent.load(), 48);
  for (const std::string* user : {&people.jared, &people.bernie, &people.meghan}) {
    EXPECT_EQ(ReadAll(&world_, Feed::kNews, *user, *user, 7).size(),
              static_cast<size_t>(kept.load()));
  }
}

TEST_P(SocialTest, QueriesUseTheIndexes) {
  EXPECT_EQ(SocialOf(&world_).MissingIndexes()->size(), Social::Indexes().size());
  const People people = AddPeople(&world_);
  EXPECT_TRUE(SocialOf(&world_).MissingIndexes()->empty());
  EXPECT_EQ(Social::ShardKeys().size(), 5u);
  ObjectId post;
  for (int i = 0; i < 10; ++i) {
    post = Send(&world_, people.max, {"10gen"});
  }
  const bson::Date now = world_.clock.Now();
  const Document kFinds[] = {
      Doc("find", "social.wall", "filter",
          Doc("user_id", people.max, "month", "202009", "seq", Doc("$lt", 2)), "sort",
          Doc("month", -1, "seq", -1), "limit", 1),
      Doc("find", "social.wall", "filter",
          Doc("user_id", people.max, "month", Doc("$lt", "202010")), "sort",
          Doc("month", -1, "seq", -1), "limit", 1),
      Doc("find", "social.news", "filter", Doc("user_id", people.jared, "posts.id", post)),
      Doc("find", "social.news", "filter", Doc("posts.id", post)),
      Doc("find", "social.news", "filter",
          Doc("posts", Doc("$elemMatch", Doc("id", post, "comments_total", Doc("$gte", 0))))),
      Doc("find", "social.post", "filter", Doc("fanout.state", "new", "fanout.ts", Doc("$lt", now)),
          "sort", Doc("fanout.ts", 1)),
      Doc("find", "social.post", "filter", Doc("fanout.state", "purge"), "sort",
          Doc("fanout.ts", 1)),
      Doc("find", "social.post", "filter", Doc("dirty", Doc("$lt", now)), "sort", Doc("dirty", 1)),
      Doc("find", "social.user", "filter", Doc("_id", Doc("$gt", "")), "sort", Doc("_id", 1)),
  };
  for (const Document& find : kFinds) {
    Explained explained = Explain(world_.store, find);
    EXPECT_EQ(explained.plan.find("COLLSCAN"), std::string::npos) << explained.plan;
    EXPECT_EQ(explained.plan.find("\"SORT\""), std::string::npos) << explained.plan;
    EXPECT_LE(explained.keys, explained.returned + 2) << bson::ToJson(find.view());
  }
}

INSTANTIATE_TEST_SUITE_P(Places, SocialTest, ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
