// SPDX-License-Identifier: Apache-2.0
//
// The social network under crashes: every operation at every point, and random histories.
#include <map>
#include <set>

#include "patterns/social/documents.h"
#include "patterns/testing/random_crash.h"
#include "patterns/testing/social.h"

namespace quire::patterns {
namespace {

using bson::Document;
using bson::ObjectId;
using std::chrono::hours;
using std::chrono::minutes;

// The people, and a post by Max with three comments that is in all feeds; Bernie blocks Max.
struct Scene {
  People people;
  ObjectId old;
};

Scene SetScene(World* world) {
  Scene scene;
  scene.people = AddPeople(world);
  scene.old = Send(world, scene.people.max, {kAllCircles}, "old");
  EXPECT_TRUE(SocialOf(world).Block(scene.people.bernie, scene.people.max).ok());
  for (const char* id : {"c1", "c2", "c3"}) {
    EXPECT_TRUE(SocialOf(world).AddComment(scene.people.max, scene.old, id, id).ok());
  }
  return scene;
}

// No post is on its way, and each that is not deleted is on its wall once.
void ExpectSettledFeeds(World* world) {
  ExpectSoundSocial(world);
  EXPECT_EQ(*world->store.Count("social.post", Doc("fanout.state", "new")), 0);
  auto posts = world->store.Find("social.post", Doc());
  for (const Document& post : *posts) {
    EXPECT_EQ(*world->store.Count("social.wall", Doc("posts.id", post["_id"])),
              post.view().Has("deleted") ? 0 : 1);
  }
}

struct Operation {
  const char* name;
  std::function<Status(const Social&, const Scene&, const CallKey&)> run;
  // After the call, or when its key was repeated: what must be so in the end.
  std::function<void(World*, const Scene&)> done;
};

const Document& FindUser(World* world, const std::string& id) {
  static Document user;
  user = **world->store.FindOne("social.user", Doc("_id", id));
  return user;
}

const Operation kOperations[] = {
    {"add user", [](auto& s, auto&, auto& key) { return s.AddUser("New", {}, key).status(); },
     [](World* world, auto&) {
       EXPECT_EQ(*world->store.Count("social.user", Doc("name", "New")), 1);
     }},
    {"post",
     [](auto& s, auto& at, auto& key) {
       return s.Post({.author = at.people.max, .circles = {kAllCircles}}, key).status();
     },
     [](World* world, auto& at) {
       EXPECT_EQ(*world->store.Count("social.post", Doc()), 2);
       for (const std::string* reader : {&at.people.jared, &at.people.meghan}) {
         EXPECT_EQ(ReadAll(world, Feed::kNews, *reader, *reader).size(), 2u);
       }
     }},
    {"post to another",
     [](auto& s, auto& at, auto& key) {
       return s.Post({.author = at.people.jared, .to = at.people.max, .circles = {kPublic}}, key)
           .status();
     },
     [](World* world, auto& at) {
       EXPECT_EQ(ReadAll(world, Feed::kWall, at.people.max, at.people.zoe).size(), 1u);
     }},
    {"delete",
     [](auto& s, auto& at, auto& key) { return s.DeletePost(at.people.max, at.old, key); },
     [](World* world, auto& at) {
       EXPECT_TRUE(ReadAll(world, Feed::kNews, at.people.jared, at.people.jared).empty());
     }},
    {"comment",
     [](auto& s, auto& at, auto&) { return s.AddComment(at.people.jared, at.old, "t", "c4"); },
     [](World* world, auto& at) {
       const auto news = ReadAll(world, Feed::kNews, at.people.meghan, at.people.meghan);
       ASSERT_EQ(news.size(), 1u);
       EXPECT_EQ(news[0].comments_total, 4);
       EXPECT_EQ(news[0].comments.back().id, "c4");
     }},
    {"circle",
     [](auto& s, auto& at, auto& key) { return s.Circle(at.people.zoe, at.people.max, "z", key); },
     [](World* world, auto& at) {
       EXPECT_EQ(MembersOf(FindUser(world, at.people.zoe), "z").size(), 1u);
     }},
    {"uncircle",
     [](auto& s, auto& at, auto& key) {
       return s.Uncircle(at.people.max, at.people.jared, "10gen", key);
     },
     [](World* world, auto& at) {
       EXPECT_EQ(MembersOf(FindUser(world, at.people.max), "10gen").size(), 1u);
     }},
    {"block",
     [](auto& s, auto& at, auto& key) { return s.Block(at.people.meghan, at.people.max, key); },
     [](World* world, auto& at) {
       EXPECT_TRUE(Blocks(FindUser(world, at.people.max), at.people.meghan));
     }},
    {"unblock",
     [](auto& s, auto& at, auto& key) { return s.Unblock(at.people.bernie, at.people.max, key); },
     [](World* world, auto& at) {
       EXPECT_FALSE(Blocks(FindUser(world, at.people.max), at.people.bernie));
     }},
};

class SocialCrashTest : public BothPlaces {};

TEST_P(SocialCrashTest, EveryOperationAtEveryPoint) {
  for (const Operation& operation : kOperations) {
    for (bool keyed : KeyedAt(GetParam())) {
      SCOPED_TRACE(std::string(operation.name) + (keyed ? " with a key" : ""));
      const CallKey key = keyed ? CallKey("k") : CallKey();
      Scene scene;
      CrashCase test;
      test.once = [&](World* world) { scene = SetScene(world); };
      test.operation = [&](World* world, const Seams& seams) {
        return operation.run(SocialOf(world, seams), scene, key);
      };
      if (keyed) {
        test.repeated = ExpectOk;
      }
      test.settle = SettleSocial;
      test.always = [&](World* world) { ExpectNothingForbidden(world, scene.people, true); };
      test.settled = ExpectSettledFeeds;
      test.done = [&](World* world) { operation.done(world, scene); };
      EXPECT_GE(RunCrashCase(GetParam(), test), 6);
    }
  }
}

// A keyed change whose first try comes late does not undo what others have done since.
TEST_P(SocialCrashTest, ALateRepeatUndoesNothing) {
  const People people = AddPeople(&world_);
  TestFaults faults;
  faults.at = 2;  // after the key
  faults.before = [&] {
    Social social = SocialOf(&world_);
    EXPECT_TRUE(social.Circle(people.zoe, people.max, "z", "k").ok());
    EXPECT_TRUE(social.Uncircle(people.zoe, people.max, "z").ok());
  };
  Social late = SocialOf(&world_, world_.seams(nullptr, &faults));
  EXPECT_TRUE(late.Circle(people.zoe, people.max, "z", "k").ok());
  SettleSocial(&world_);
  EXPECT_TRUE(MembersOf(FindUser(&world_, people.zoe), "z").empty());
  ExpectSoundSocial(&world_);
  EXPECT_TRUE(Is(late.Circle(people.zoe, people.fay, "z", "k"), Error::kIdempotencyKeyReuse));
}

// A run of the job that was broken off in the middle hides nothing from the next: that one begins
// where it stopped, but a report without changes says that all users were looked at.
TEST_P(SocialCrashTest, ReconcilingGoesRoundFromWhereItStopped) {
  const People people = AddPeople(&world_);
  TestFaults broken;
  broken.at = 7;  // the lease, four edges, two batches: the second is done, its place kept
  broken.fault = FaultHook::Fault::kLoseAnswer;
  EXPECT_FALSE(SocialOf(&world_, world_.seams(nullptr, &broken)).ReconcileAll(2).ok());
  TestCrash crash;
  crash.at = "social.block.c1";
  Social dying = SocialOf(&world_, world_.seams(&crash));
  EXPECT_TRUE(Is(dying.Block(people.jared, people.fay), Error::kCrashed));
  SettleSocial(&world_);
  EXPECT_TRUE(Blocks(FindUser(&world_, people.fay), people.jared));
  ExpectSoundSocial(&world_);
}

// The jobs themselves: a post that stopped half way, a deleted one, previews and a graph that lag
// behind.
TEST_P(SocialCrashTest, TheJobsAtEveryPoint) {
  const struct {
    const char* name;
    const char* stops_at;
    std::function<Status(const Social&)> run;
  } kJobs[] = {
      {"fan out", "social.post.c2", [](auto& s) { return s.ResumeFanout().status(); }},
      {"purge", "social.delete_post.c1", [](auto& s) { return s.ResumeFanout().status(); }},
      {"previews", "social.comment.c1", [](auto& s) { return s.RefreshPreviews().status(); }},
      {"graph", "social.circle.c1", [](auto& s) { return s.ReconcileAll().status(); }},
      {"blocks", "social.unblock.c1", [](auto& s) { return s.ReconcileAll().status(); }},
  };
  for (const auto& job : kJobs) {
    SCOPED_TRACE(job.name);
    Scene scene;
    CrashCase test;
    test.once = [&](World* world) {
      scene = SetScene(world);
      TestCrash crash;
      crash.at = job.stops_at;
      const Social social = SocialOf(world, world->seams(&crash));
      for (const Operation& operation : kOperations) {
        if (!crash.fired &&
            std::string_view(job.stops_at)
                .starts_with("social." + std::string(operation.name).substr(0, 5))) {
          (void)operation.run(social, scene, CallKey());
        }
      }
      EXPECT_TRUE(crash.fired);
      world->clock.Advance(hours(1));
    };
    test.operation = [&](World* world, const Seams& seams) {
      return job.run(SocialOf(world, seams));
    };
    test.settle = SettleSocial;
    test.always = [&](World* world) { ExpectNothingForbidden(world, scene.people, true); };
    test.settled = ExpectSettledFeeds;
    EXPECT_GE(RunCrashCase(GetParam(), test), 6);
  }
}

QUIRE_IN_BOTH_PLACES(SocialCrashTest);

class RandomSocial : public RandomWorkload {
 public:
  void Setup(World* world) override {
    people_ = AddPeople(world);
    all_ = {people_.max, people_.jared, people_.bernie, people_.meghan, people_.fay, people_.zoe};
    posts_ = {Send(world, people_.max, {kAllCircles}, "old")};
  }

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    const Social social = SocialOf(world, seams);
    const CallKey key =
        chance->OneIn(2) ? CallKey("k" + std::to_string(chance->Below(20))) : CallKey();
    const std::string self = chance->Pick(all_);
    const std::string other = chance->Pick(all_);
    const std::string circle = chance->OneIn(2) ? "10gen" : "python";
    const ObjectId post = chance->Pick(posts_);
    const int action = chance->Below(10);
    chance->Note(self + " does " + std::to_string(action) + " to " + other + " " + post.ToHex() +
                 (key ? " key " + *key : ""));
    switch (action) {
      case 0:
      case 1: {
        const char* to = chance->OneIn(3) ? kPublic : chance->OneIn(2) ? kAllCircles : "10gen";
        auto made = social.Post(
            {.author = self, .to = chance->OneIn(3) ? other : "", .circles = {to}}, key);
        if (made.ok()) {
          posts_.push_back(*made);
        }
        return made.status();
      }
      case 2:
        return social.DeletePost(self, post, key);
      case 3:
      case 4:
        return social.AddComment(self, post, "t", "c" + std::to_string(chance->Below(8)));
      case 5:
        return social.Circle(self, other, circle, key);
      case 6:
        return social.Uncircle(self, other, circle, key);
      case 7:
        return chance->OneIn(3) ? social.Block(self, other, key) : social.Unblock(self, other, key);
      case 8:
        return social.ReconcileAll(2).status();
      default:
        return chance->OneIn(2) ? social.ResumeFanout(2).status()
                                : social.RefreshPreviews(2).status();
    }
  }

  void Settle(World* world) override { SettleSocial(world); }
  void ExpectAlways(World* world) override { ExpectNothingForbidden(world, people_, true); }
  void ExpectSettled(World* world) override { ExpectSettledFeeds(world); }
  void Rest(World* world) override {
    world->clock.Advance(hours(25));
    SettleSocial(world);
  }

 private:
  People people_;
  std::vector<std::string> all_;
  std::vector<ObjectId> posts_;
};

const RandomSystem kRandom("Social", [](Chance*) { return std::make_unique<RandomSocial>(); });

}  // namespace
}  // namespace quire::patterns
