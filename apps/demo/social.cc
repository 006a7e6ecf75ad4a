// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/social.h"

#include "base/try.h"
#include "demo/demos.h"
#include "quire/doc.h"

namespace quire::apps {
namespace {

using patterns::Feed;
using patterns::Social;

constexpr char kCircle[] = "friends";
constexpr int64_t kFriends = 10;
constexpr int64_t kPage = 20;

using Users = std::vector<std::string>;  // by number

Status PostOne(const Social& social, const Users& users, Chance* chance) {
  const std::string& author =
      users[static_cast<size_t>(chance->Below(static_cast<int64_t>(users.size())))];
  const bool open = chance->Below(4) == 0;
  return social
      .Post({.author = author,
             .detail = Doc("text", std::string(100, 'x')),
             .circles = {open ? patterns::kPublic : kCircle}})
      .status();
}

// Comments on the newest post of a user's news.
Status CommentOne(const Social& social, const std::string& user, Worker* w) {
  ASSIGN_OR_RETURN(patterns::FeedPage page, social.Read(Feed::kNews, user, user, {.limit = 1}));
  if (page.posts.empty()) {
    return Status::Ok();
  }
  const std::string id = std::to_string(w->thread) + "-" + std::to_string(w->operation);
  return social.AddComment(user, page.posts[0].id, "well said", id);
}

std::vector<Step> Steps(const Social& social, const Users& users) {
  auto any = [&users](Worker& w) {
    return users[static_cast<size_t>(w.chance.Skewed(static_cast<int64_t>(users.size())))];
  };
  return {
      {"read news", 55,
       [&social, any](Worker& w) {
         const std::string user = any(w);
         return social.Read(Feed::kNews, user, user, {.limit = kPage}).status();
       }},
      {"read a wall", 20,
       [&social, any](Worker& w) {
         return social.Read(Feed::kWall, any(w), any(w), {.limit = kPage}).status();
       }},
      {"post", 12, [&](Worker& w) { return PostOne(social, users, &w.chance); }},
      {"comment", 8, [&social, any](Worker& w) { return CommentOne(social, any(w), &w); }},
      {"circle", 5, [&social, any](Worker& w) { return social.Circle(any(w), any(w), kCircle); }},
  };
}

Status RunNetwork(DesignRun* run) {
  Social social(run->client(), run->database());
  RETURN_IF_ERROR(social.CreateIndexes());
  Users users(static_cast<size_t>(run->size()));
  RETURN_IF_ERROR(run->Load("users", run->size(), [&](int64_t i) {
    ASSIGN_OR_RETURN(users[static_cast<size_t>(i)], social.AddUser(Numbered("User ", i)));
    return Status::Ok();
  }));
  const int64_t friends = std::min(kFriends, run->size() - 1);
  RETURN_IF_ERROR(run->Load("friendships", run->size() * friends, [&](int64_t i) {
    const int64_t self = i / friends;
    const int64_t other = (self + 1 + i % friends) % run->size();
    return social.Circle(users[static_cast<size_t>(self)], users[static_cast<size_t>(other)],
                         kCircle);
  }));
  RETURN_IF_ERROR(run->Load("posts", run->size() * 5, [&](int64_t i) {
    Chance chance(static_cast<uint64_t>(i) + 1);
    return PostOne(social, users, &chance);
  }));
  RETURN_IF_ERROR(run->Work(Steps(social, users)));
  RETURN_IF_ERROR(run->Explain("read news", "social.news", Doc("user_id", users[0]),
                               Doc("month", -1, "seq", -1), 1));
  RETURN_IF_ERROR(social.ResumeFanout().status());
  RETURN_IF_ERROR(social.RefreshPreviews().status());
  RETURN_IF_ERROR(social.ReconcileAll(run->size()).status());
  ASSIGN_OR_RETURN(std::vector<std::string> wrong, social.CheckInvariants());
  run->Check("feeds, previews and followers are what posts say", wrong);
  return Status::Ok();
}

}  // namespace

Status DemoSocial(DemoRun* run) { return run->Design("pages by month", RunNetwork); }

}  // namespace quire::apps
