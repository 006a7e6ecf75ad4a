// SPDX-License-Identifier: Apache-2.0
//
// People, the circles they put each other in, what they post and who may see it.
//
//   patterns::Social social(client, "social");
//   social.CreateIndexes();
//   auto max = social.AddUser("Max");
//   auto jared = social.AddUser("Jared");
//   social.Circle(*max, *jared, "10gen");
//   auto post = social.Post({.author = *max, .type = "status", .detail = text,
//                            .circles = {"10gen"}});
//   auto news = social.Read(patterns::Feed::kNews, *jared, *jared, {.limit = 20});
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/error.h"
#include "quire/patterns/idempotency.h"
#include "quire/patterns/page.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

// Who may see a post, beside the names of its author's circles.
inline constexpr char kPublic[] = "*public*";
inline constexpr char kAllCircles[] = "*circles*";
inline constexpr char kFriendsOfFriends[] = "*fof*";

enum class Feed {
  kWall,  // posts by or to a user
  kNews,  // posts from those who put the user in their circles, or whom the user follows
};

struct NewPost {
  std::string author;
  std::string to{};  // whose wall; "": the author's
  std::string type = "status";
  bson::Document detail{};
  std::vector<std::string> circles{};
};

struct Comment {
  std::string id;  // of the caller's choice: the same comment is made once
  std::string by;
  std::string name;
  bson::Date time;
  std::string text;
};

struct FeedPost {
  bson::ObjectId id;
  std::string by;
  std::string name;
  bson::Date time;
  std::vector<std::string> circles;
  std::string type;
  bson::Document detail;
  int64_t comments_total = 0;
  std::vector<Comment> comments;  // the last three
};

struct FeedPage {
  std::vector<FeedPost> posts;
  std::string next;
};

struct CommentPage {
  std::vector<Comment> comments;
  std::string next;
};

struct SocialProfile {
  std::string id;
  std::string name;
  bson::Document profile;
  int64_t followers = 0;
};

struct SocialOptions {
  // Posts per document of a feed; fewer if so many of the greatest sizes below would not fit in
  // one.
  int32_t page_size = 200;
  int64_t max_post = 48 * 1024;  // bytes of a post: its detail, circles and type
  int64_t max_text = 8 * 1024;   // bytes of a comment
  int32_t max_comments = 500;  // of a post; longer discussions belong in a collection of their own
  std::chrono::milliseconds grace = std::chrono::minutes(1);
  std::chrono::milliseconds tombstone_retention = std::chrono::hours(24);
  std::chrono::milliseconds lease = std::chrono::minutes(1);
  std::string worker = "worker";
  Concerns concerns = {};
  Seams seams = {};
};

// Documents: social.user {_id, name, profile, circles: {circle: {user: {name}}}, followers: {user:
// {name, circles}}, blocked, blocked_by, marks}, social.post {_id, by: {id, name}, to, circles,
// type, ts, detail, comments, comments_total, deleted, fanout: {state, ts}, dirty, marks}, and,
// derived from it, social.wall and social.news {_id, user_id, month, seq, count, posts: [{id, ts,
// by, circles, type, detail, comments_total, comments_shown, comments}]}. Safe for concurrent use.
class Social {
 public:
  Social(const Client& client, std::string_view database, SocialOptions options = {});

  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const;
  Result<std::vector<std::string>> MissingIndexes() const;

  // The new user's id. Errors: InvalidName (empty, or of more than 256 bytes), IdempotencyKeyReuse.
  Result<std::string> AddUser(std::string_view name, const bson::Document& profile = {},
                              const CallKey& key = std::nullopt) const;
  // Puts `other` in a circle of `self`. All of these may be repeated; with a key a repeat that
  // comes late does not undo what was done since. Errors: NoSuchUser, SelfCircle, Blocked (either
  // way), InvalidName (empty, or starts with "*"), IdempotencyKeyReuse.
  Status Circle(std::string_view self, std::string_view other, std::string_view circle,
                const CallKey& key = std::nullopt) const;
  Status Uncircle(std::string_view self, std::string_view other, std::string_view circle,
                  const CallKey& key = std::nullopt) const;
  // Neither sees the other's posts. Errors: NoSuchUser, SelfCircle, IdempotencyKeyReuse.
  Status Block(std::string_view self, std::string_view other,
               const CallKey& key = std::nullopt) const;
  Status Unblock(std::string_view self, std::string_view other,
                 const CallKey& key = std::nullopt) const;

  // Errors: NoSuchUser, Blocked (the wall's owner and the author), DocumentTooLarge (max_post),
  // IdempotencyKeyReuse.
  Result<bson::ObjectId> Post(const NewPost& post, const CallKey& key = std::nullopt) const;
  // Errors: NotFound, Forbidden (by another than its author), IdempotencyKeyReuse.
  Status DeletePost(std::string_view by, const bson::ObjectId& post,
                    const CallKey& key = std::nullopt) const;
  // Errors: NotFound, NoSuchUser, Forbidden (not visible), TextTooLong, InvalidName (an id that is
  // empty or longer than 256 bytes), DocumentTooLarge (max_comments), IdempotencyKeyReuse (another
  // comment has the id).
  Status AddComment(std::string_view viewer, const bson::ObjectId& post, std::string_view text,
                    std::string_view id) const;

  // Errors: NotFound, NoSuchUser.
  Result<bool> Visible(std::string_view viewer, const bson::ObjectId& post) const;
  // Whether the post is by the user or by one in a circle of theirs, and not blocked.
  Result<bool> OnOwnWall(std::string_view user, const bson::ObjectId& post) const;
  // Whether the post is not blocked.
  Result<bool> Incoming(std::string_view user, const bson::ObjectId& post) const;

  // What the viewer may see of a user's feed, newest first, from the month "YYYYMM" of `until` back
  // ("": from the start). Errors: NoSuchUser (the viewer), BadCursor.
  Result<FeedPage> Read(Feed feed, std::string_view user, std::string_view viewer,
                        const PageRequest& page, std::string_view until = "") const;
  // Oldest first. Errors: NotFound, NoSuchUser, Forbidden, BadCursor.
  Result<CommentPage> AllComments(std::string_view viewer, const bson::ObjectId& post,
                                  const PageRequest& page) const;
  // Errors: NoSuchUser, Blocked.
  Result<SocialProfile> Profile(std::string_view user, std::string_view viewer) const;

  // Goes on with posts on their way, and with the removal of deleted ones until no late write can
  // bring them back, `batch` at a time. Forgets keys after the retention.
  Result<JobReport> ResumeFanout(int64_t batch = 100) const;
  // Brings the comments shown in feeds up to date where a crash left them.
  Result<JobReport> RefreshPreviews(int64_t batch = 100) const;
  // Makes followers and blocked_by of a user, and of those it follows or blocks, what the circles
  // and blocks say. How many entries changed.
  Result<int64_t> ReconcileGraph(std::string_view user) const;
  // ReconcileGraph for all users, `batch` at a time.
  Result<JobReport> ReconcileAll(int64_t batch = 100) const;

  // What is wrong, a line each, once nothing is under way and the jobs have run.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  class Work;
  std::shared_ptr<const Work> work_;
};

}  // namespace quire::patterns
