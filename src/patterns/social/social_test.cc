// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/social.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

#include "patterns/testing/query_paths.h"
#include "patterns/testing/social.h"

namespace quire::patterns {
namespace {

using bson::Document;
using bson::ObjectId;
using std::chrono::hours;

class SocialTest : public BothPlaces {};

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
  const ObjectId hidden = Send(&world_, people.meghan, {kPublic});
  EXPECT_FALSE(*social.OnOwnWall(people.max, hidden));  // in a circle, and blocked
  EXPECT_FALSE(*social.Incoming(people.max, hidden));
  auto profile = social.Profile(people.jared, people.zoe);
  EXPECT_EQ(profile->name, "Jared");
  EXPECT_EQ(TextAt(profile->profile, "place"), "Graz");
  EXPECT_EQ(profile->followers, 1);
  ExpectSoundSocial(&world_);
}

TEST_P(SocialTest, TheGraphRefusesAndRepeats) {
  const People people = AddPeople(&world_);
  Social social = SocialOf(&world_);
  EXPECT_TRUE(social.Circle(people.max, people.jared, "10gen").ok());  // again
  const Document jared = **world_.store.FindOne("social.user", Doc("_id", people.jared));
  EXPECT_EQ(At(jared, "followers." + people.max + ".circles").AsArray().Count(), 1u);
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
  ExpectSoundSocial(&world_);
  EXPECT_TRUE(social.Uncircle(people.max, people.jared, "10gen").ok());
  EXPECT_TRUE(social.Uncircle(people.max, people.jared, "10gen").ok());
  EXPECT_FALSE(*social.Visible(people.jared, Send(&world_, people.max, {"10gen"})));
  ExpectSoundSocial(&world_);
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
  ExpectSoundSocial(&world_);
}

// Followers get what is public, members what is for their circle; nobody on either side of a block.
TEST_P(SocialTest, NewsGoToTheRecipients) {
  const People people = AddPeople(&world_);
  Social social = SocialOf(&world_);
  ASSERT_TRUE(social.Circle(people.zoe, people.max, "z").ok());
  ASSERT_TRUE(social.Circle(people.max, people.fay, "10gen").ok());
  ASSERT_TRUE(social.Block(people.fay, people.max).ok());
  ASSERT_TRUE(social.Circle(people.meghan, people.max, "z").ok());
  ASSERT_TRUE(social.Block(people.max, people.meghan).ok());
  struct {
    std::vector<std::string> circles;
    std::set<std::string> get;
  } const kCases[] = {
      {{kPublic}, {people.zoe}},
      {{"10gen"}, {people.jared, people.bernie}},
      {{"python"}, {}},
      {{kAllCircles}, {people.jared, people.bernie}},
      {{kAllCircles, kPublic}, {people.jared, people.bernie, people.zoe}},
      {{kFriendsOfFriends}, {}},
  };
  for (const auto& row : kCases) {
    const ObjectId post = Send(&world_, people.max, row.circles);
    std::set<std::string> got;
    auto pages = world_.store.Find("social.news", Doc("posts.id", post));
    for (const Document& page : *pages) {
      EXPECT_TRUE(got.insert(std::string(TextAt(page, "user_id"))).second);
    }
    EXPECT_EQ(got, row.get);
  }
}

// Where the last page ended, and before it, posts are deleted before the next is read.
TEST_P(SocialTest, ReadingGoesOnWhereAPostWasDeleted) {
  const People people = AddPeople(&world_);
  Social social(world_.client, world_.database, {.seams = world_.seams()});
  std::vector<ObjectId> posts;
  for (int i = 0; i < 6; ++i) {
    posts.push_back(*social.Post({.author = people.max, .detail = Doc("text", std::to_string(i))}));
  }
  const auto first = social.Read(Feed::kWall, people.max, people.max, {.limit = 3});
  EXPECT_EQ(Texts(first->posts), (std::vector<std::string>{"5", "4", "3"}));
  auto rest = [&] {
    return Texts(
        social.Read(Feed::kWall, people.max, people.max, {.limit = 9, .after = first->next})
            ->posts);
  };
  EXPECT_EQ(rest(), (std::vector<std::string>{"2", "1", "0"}));
  ASSERT_TRUE(social.DeletePost(people.max, posts[3]).ok());
  EXPECT_EQ(rest(), (std::vector<std::string>{"2", "1", "0"}));
  ASSERT_TRUE(social.DeletePost(people.max, posts[1]).ok());
  EXPECT_EQ(rest(), (std::vector<std::string>{"2", "0"}));
  ASSERT_TRUE(social.DeletePost(people.max, posts[4]).ok());
  EXPECT_EQ(rest(), (std::vector<std::string>{"2", "0"}));
  for (const Document& forged : {Doc("month", "202009", "seq", 0, "index", -1, "id", posts[0]),
                                 Doc("month", "202009", "seq", 0, "index", 1, "id", 7)}) {
    EXPECT_TRUE(Is(
        social.Read(Feed::kWall, people.max, people.max, {.after = EncodePageEnd(forged)}).status(),
        Error::kBadCursor));
  }
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
  const PageRequest forged{.after = EncodePageEnd(Doc("index", -1))};
  EXPECT_TRUE(Is(social.AllComments(people.max, post, forged).status(), Error::kBadCursor));
  ExpectSoundSocial(&world_);
}

TEST_P(SocialTest, DocumentsHaveTheirFields) {
  const People people = AddPeople(&world_);
  const ObjectId post = Send(&world_, people.max, {"10gen"});
  for (const char* id : {"1", "2", "3", "4"}) {
    ASSERT_TRUE(SocialOf(&world_).AddComment(people.jared, post, id, id).ok());
  }
  const Document max = **world_.store.FindOne("social.user", Doc("_id", people.max));
  EXPECT_EQ(TextAt(max, "circles.10gen." + people.jared + ".name"), "Jared");
  const Document jared = **world_.store.FindOne("social.user", Doc("_id", people.jared));
  EXPECT_EQ(TextAt(jared, "followers." + people.max + ".name"), "Max");
  EXPECT_EQ(At(jared, "followers." + people.max + ".circles").AsArray()["0"].AsString(), "10gen");
  EXPECT_EQ(TextAt(jared, "circles.x%2E%24y." + people.fay + ".name"), "Fay");
  const Document record = **world_.store.FindOne("social.post", Doc("_id", post));
  EXPECT_EQ(TextAt(record, "by.name"), "Max");
  EXPECT_EQ(TextAt(record, "to"), people.max);
  EXPECT_EQ(TextAt(record, "fanout.state"), "done");
  EXPECT_EQ(record["comments"].AsArray().Count(), 4u);
  EXPECT_FALSE(record.view().Has("dirty"));
  for (const auto& [feed, user] :
       {std::pair{"social.wall", people.max}, std::pair{"social.news", people.jared},
        std::pair{"social.news", people.bernie}}) {
    const auto page = *world_.store.FindOne(feed, Doc("user_id", user));
    ASSERT_TRUE(page) << feed;
    EXPECT_EQ(TextAt(*page, "month"), "202009");
    EXPECT_EQ(IntegerAt(*page, "seq"), 0);
    EXPECT_EQ(IntegerAt(*page, "count"), 1);
    const bson::View entry = (*page)["posts"].AsArray()["0"].AsDocument();
    EXPECT_EQ(entry["id"].AsObjectId(), post);
    EXPECT_EQ(entry["ts"].AsDate(), world_.clock.Now());
    EXPECT_EQ(TextAt(entry, "by.id"), people.max);
    EXPECT_EQ(TextAt(entry, "type"), "status");
    EXPECT_EQ(IntegerAt(entry, "comments_total"), 4);
    EXPECT_EQ(IntegerAt(entry, "comments_shown"), 3);
    ASSERT_EQ(entry["comments"].AsArray().Count(), 3u);
    EXPECT_EQ(TextAt(entry["comments"].AsArray()["0"].AsDocument(), "text"), "2");
  }
  EXPECT_EQ(*world_.store.Count("social.news", Doc("user_id", people.meghan)), 0);
}

// A page that was full stays so, though posts of it were deleted: nothing changes its place.
TEST_P(SocialTest, The201stPostOpensAPage) {
  const People people = AddPeople(&world_);
  Social social(world_.client, world_.database, {.seams = world_.seams()});
  ASSERT_TRUE(world_.store
                  .Insert("social.wall", Doc("user_id", people.zoe, "month", "202009", "seq", 0,
                                             "count", 199, "posts", List()))
                  .ok());
  std::vector<ObjectId> posts;
  for (int i = 0; i < 3; ++i) {
    posts.push_back(*social.Post({.author = people.zoe, .detail = Doc("n", i)}));
  }
  auto pages = [&] {
    return *world_.store.Find("social.wall", Doc("user_id", people.zoe), {.sort = Doc("seq", 1)});
  };
  ASSERT_EQ(pages().size(), 2u);
  EXPECT_EQ(IntegerAt(pages()[0], "count"), 200);
  EXPECT_EQ(IntegerAt(pages()[1], "count"), 2);
  ASSERT_TRUE(social.DeletePost(people.zoe, posts[0]).ok());
  EXPECT_EQ(IntegerAt(pages()[0], "count"), 200);
  EXPECT_EQ(pages()[0]["posts"].AsArray().Count(), 0u);
  ASSERT_TRUE(social.Post({.author = people.zoe}).ok());
  EXPECT_EQ(IntegerAt(pages()[1], "count"), 3);
}

TEST_P(SocialTest, SizesAreBounded) {
  const People people = AddPeople(&world_);
  const Social social = SocialOf(&world_);
  auto post = [&](size_t bytes) {
    return social.Post({.author = people.max, .detail = Doc("text", std::string(bytes, 'x'))});
  };
  EXPECT_TRUE(Is(post(48 * 1024).status(), Error::kDocumentTooLarge));
  EXPECT_EQ(*world_.store.Count("social.post", Doc()), 0);
  const auto made = post(47 * 1024);
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  auto comment = [&](size_t bytes, const std::string& id) {
    return social.AddComment(people.max, *made, std::string(bytes, 'x'), id);
  };
  EXPECT_TRUE(Is(comment(8 * 1024 + 1, "1"), Error::kTextTooLong));
  EXPECT_TRUE(comment(8 * 1024, "1").ok());
  EXPECT_TRUE(Is(comment(1, ""), Error::kInvalidName));
  EXPECT_TRUE(Is(comment(1, std::string(257, 'x')), Error::kInvalidName));
  EXPECT_TRUE(Is(social.AddUser(std::string(257, 'x')).status(), Error::kInvalidName));
  EXPECT_EQ(ReadAll(&world_, Feed::kWall, people.max, people.max).at(0).comments_total, 1);
}

// However large posts may be, a document of a feed holds what fits.
TEST_P(SocialTest, LargePostsTakeMorePages) {
  const People people = AddPeople(&world_);
  Social social(world_.client, world_.database,
                {.max_post = 7 << 20, .max_text = 1 << 18, .seams = world_.seams()});
  for (int i = 0; i < 3; ++i) {
    auto post = social.Post(
        {.author = people.max,
         .detail = Doc("n", i, "text", std::string((7 << 20) - 1000, static_cast<char>('a' + i)))});
    ASSERT_TRUE(post.ok()) << post.status().ToString();
    for (const char* id : {"1", "2", "3"}) {
      Status made = social.AddComment(people.max, *post, std::string(1 << 18, 'c'), id);
      ASSERT_TRUE(made.ok()) << made.ToString();
    }
  }
  const auto wall = ReadAll(&world_, Feed::kWall, people.max, people.max);
  ASSERT_EQ(wall.size(), 3u);
  EXPECT_EQ(IntegerAt(wall[0].detail, "n"), 2);
  EXPECT_EQ(wall[0].comments.size(), 3u);
  EXPECT_EQ(world_.All("social.wall").size(), 3u);
}

// Deleted posts are looked after for a day: more of them than the job takes at a time.
TEST_P(SocialTest, EveryDeletionIsFinished) {
  const People people = AddPeople(&world_);
  std::vector<ObjectId> posts;
  for (int i = 0; i < 5; ++i) {
    posts.push_back(Send(&world_, people.max, {"10gen"}));
  }
  for (size_t i = 0; i < posts.size(); ++i) {
    world_.clock.Advance(std::chrono::seconds(1));
    TestCrash crash;
    crash.at = i == 4 ? "social.delete_post.c1" : "";
    (void)SocialOf(&world_, world_.seams(&crash)).DeletePost(people.max, posts[i]);
  }
  EXPECT_EQ(*world_.store.Count("social.wall", Doc("posts.id", posts[4])), 1);
  EXPECT_EQ(SocialOf(&world_).ResumeFanout(2)->changed, 3);  // a wall, the news of two
  ExpectSoundSocial(&world_);
}

// One that cannot be done (a page that something else has broken) does not keep the job from the
// others.
TEST_P(SocialTest, OneFailureDoesNotStopTheJobs) {
  const People people = AddPeople(&world_);
  for (const std::string* author : {&people.zoe, &people.fay, &people.max}) {
    TestCrash crash;
    crash.at = "social.post.c1";
    (void)SocialOf(&world_, world_.seams(&crash)).Post({.author = *author, .circles = {"10gen"}});
    world_.clock.Advance(std::chrono::seconds(1));
  }
  ASSERT_TRUE(world_.store
                  .Insert("social.wall", Doc("user_id", people.zoe, "month", "202009", "seq", 0,
                                             "count", 0, "posts", 5))
                  .ok());
  world_.clock.Advance(std::chrono::minutes(5));
  auto report = SocialOf(&world_).ResumeFanout();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->errors, 1);
  EXPECT_EQ(report->changed, 2);
  EXPECT_EQ(ReadAll(&world_, Feed::kNews, people.jared, people.jared).size(), 1u);
  EXPECT_EQ(*world_.store.Count("social.post", Doc("fanout.state", "new")), 1);
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
  SettleSocial(&world_);
  EXPECT_EQ(*world_.store.Count("social.post", Doc("fanout.state", "purge")), 8);
  world_.clock.Advance(hours(25));
  SettleSocial(&world_);
  EXPECT_EQ(*world_.store.Count("social.post", Doc("fanout.state", "purge")), 0);
  ExpectSoundSocial(&world_);
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
  SettleSocial(&world_);
  ExpectSoundSocial(&world_);
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
  QueryPaths paths;
  Seams seams = world_.seams();
  seams.queries = &paths;
  const Social social = SocialOf(&world_, seams);
  std::vector<ObjectId> posts;
  for (int i = 0; i < 12; ++i) {
    world_.clock.Advance(hours(24 * 7));
    posts.push_back(*social.Post({.author = people.max,
                                  .detail = Doc("text", "hi"),
                                  .circles = {kAllCircles, kFriendsOfFriends}},
                                 "p" + std::to_string(i)));
    ASSERT_TRUE(social.AddComment(people.jared, posts.back(), "t", "c").ok());
  }
  for (Feed feed : {Feed::kWall, Feed::kNews}) {
    for (int64_t limit : {2, 100}) {
      PageRequest request{.limit = limit};
      do {
        request.after = social.Read(feed, people.jared, people.jared, request)->next;
        ASSERT_TRUE(social.Read(feed, people.max, people.fay, {.limit = limit}, "202010").ok());
      } while (!request.after.empty());
    }
  }
  ASSERT_TRUE(social.AllComments(people.bernie, posts[1], {.limit = 3}).ok());
  ASSERT_TRUE(social.OnOwnWall(people.max, posts[1]).ok());
  ASSERT_TRUE(social.Profile(people.max, people.jared).ok());
  ASSERT_TRUE(social.Circle(people.zoe, people.max, "z", "c").ok());
  ASSERT_TRUE(social.Uncircle(people.zoe, people.max, "z", "u").ok());
  ASSERT_TRUE(social.Block(people.zoe, people.max, "b").ok());
  ASSERT_TRUE(social.Unblock(people.zoe, people.max).ok());
  ASSERT_TRUE(social.DeletePost(people.max, posts[2], "d").ok());
  for (const char* point : {"social.post.c1", "social.circle.c1", "social.comment.c1"}) {
    TestCrash crash;
    crash.at = point;
    Social dying = SocialOf(&world_, world_.seams(&crash));
    (void)dying.Circle(people.fay, people.zoe, "c");
    (void)dying.AddComment(people.max, posts[5], "t", point);
    (void)dying.Post({.author = people.max, .circles = {"10gen"}});
  }
  world_.clock.Advance(hours(25));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(social.ResumeFanout().ok());
    ASSERT_TRUE(social.RefreshPreviews().ok());
    ASSERT_TRUE(social.ReconcileAll(4).ok());
  }
  // Copies of a post that show its last comments are looked at and left alone.
  paths.ExpectIndexed(world_.store, {"find social.wall posts", "find social.news posts"});
}

QUIRE_IN_BOTH_PLACES(SocialTest);

}  // namespace
}  // namespace quire::patterns
