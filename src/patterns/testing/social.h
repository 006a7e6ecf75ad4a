// SPDX-License-Identifier: Apache-2.0
//
// A few people of the social network, for its tests.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "patterns/testing/places.h"
#include "quire/patterns/social.h"

namespace quire::patterns {

inline Social SocialOf(World* world, const Seams& seams, int32_t page_size = 3) {
  return Social(world->client, world->database, {.page_size = page_size, .seams = seams});
}
inline Social SocialOf(World* world) { return SocialOf(world, world->seams()); }

// Max has Jared and Bernie in "10gen", Meghan in "python"; Jared has Fay in "x.$y"; Zoe is alone.
struct People {
  std::string max, jared, bernie, meghan, fay, zoe;
};

inline People AddPeople(World* world) {
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

inline bson::ObjectId Send(World* world, const std::string& author,
                           std::vector<std::string> circles, const char* text = "hi",
                           const std::string& to = "") {
  auto id = SocialOf(world).Post(
      {.author = author, .to = to, .detail = Doc("text", text), .circles = std::move(circles)});
  EXPECT_TRUE(id.ok()) << id.status().ToString();
  return id.ok() ? *id : bson::ObjectId();
}

inline std::vector<FeedPost> ReadAll(World* world, Feed feed, const std::string& user,
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

inline std::vector<std::string> Texts(const std::vector<FeedPost>& posts) {
  std::vector<std::string> texts;
  for (const FeedPost& post : posts) {
    texts.emplace_back(TextAt(post.detail, "text"));
  }
  return texts;
}

inline void SettleSocial(World* world) {
  world->clock.Advance(std::chrono::minutes(5));
  const Social social = SocialOf(world);
  RunUntilQuiet({[&] { return social.ResumeFanout(); }, [&] { return social.RefreshPreviews(); },
                 [&] { return social.ReconcileAll(); }});
}

inline void ExpectSoundSocial(World* world) {
  ExpectNothingWrong(SocialOf(world).CheckInvariants());
}

// At any instant: nobody reads what they may not see (while `quiet`: it may change in between), nor
// anything twice.
inline void ExpectNothingForbidden(World* world, const People& people, bool quiet) {
  Social social = SocialOf(world);
  for (const std::string* viewer : {&people.max, &people.jared, &people.meghan}) {
    std::map<std::string, bool> visible;
    for (const std::string& owner : std::set<std::string>{*viewer, people.max}) {
      for (Feed feed : {Feed::kWall, Feed::kNews}) {
        std::set<std::string> ids;
        for (const FeedPost& post : ReadAll(world, feed, owner, *viewer)) {
          const std::string id = post.id.ToHex();
          if (quiet && !visible.contains(id)) {
            visible[id] = *social.Visible(*viewer, post.id);
            EXPECT_TRUE(visible[id]);
          }
          EXPECT_TRUE(ids.insert(id).second);
          EXPECT_LE(post.comments.size(), 3u);
        }
      }
    }
  }
}

}  // namespace quire::patterns
