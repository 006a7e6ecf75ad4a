// SPDX-License-Identifier: Apache-2.0
//
// Users and the graph between them. `circles` and `blocked` are the record, `followers` and
// `blocked_by` follow them.
#include <algorithm>
#include <set>
#include <utility>

#include "base/try.h"
#include "patterns/social/documents.h"
#include "patterns/social/work.h"
#include "quire/patterns/lease.h"
#include "quire/patterns/names.h"

namespace quire::patterns {

namespace {

using bson::Document;

// A page of a feed holds as many posts as fit whatever comes to them: each its content, its last
// comments, and the rest (ids, names, dates and the fields' own).
constexpr int64_t kMaxPageBytes = 16'000'000;
constexpr int64_t kEntryRest = 4096;

Status CheckCircle(std::string_view circle) {
  RETURN_IF_ERROR(EncodeName(circle).status());
  return circle.starts_with('*') ? MakeError(Error::kInvalidName, circle) : Status::Ok();
}

// The circles of `user` that `other` is in.
std::vector<std::string> CirclesWith(bson::View user, std::string_view other) {
  std::vector<std::string> circles;
  for (const std::string& circle : NamesIn(user["circles"])) {
    const std::vector<std::string> members = MembersOf(user, circle);
    if (std::find(members.begin(), members.end(), other) != members.end()) {
      circles.push_back(circle);
    }
  }
  return circles;
}

}  // namespace

std::vector<std::string> NamesIn(const bson::Value& document) {
  std::vector<std::string> names;
  for (const bson::Element& field : document.is_document() ? document.AsDocument() : bson::View()) {
    names.push_back(DecodeName(field.name()));
  }
  return names;
}

std::vector<std::string> TextsIn(const bson::Value& array) {
  std::vector<std::string> texts;
  for (const bson::Element& one : array.is_array() ? array.AsArray() : bson::View()) {
    texts.emplace_back(one.value().AsString());
  }
  return texts;
}

std::string NamePath(std::string_view name) {
  Result<std::string> encoded = EncodeName(name);
  return encoded.ok() ? *encoded : "%";
}

std::vector<std::string> MembersOf(bson::View user, std::string_view circle) {
  if (!circle.empty()) {
    return NamesIn(At(user, "circles." + NamePath(circle)));
  }
  std::set<std::string> members;
  for (const std::string& one : NamesIn(user["circles"])) {
    for (std::string& member : NamesIn(At(user, "circles." + NamePath(one)))) {
      members.insert(std::move(member));
    }
  }
  return {members.begin(), members.end()};
}

bool Blocks(bson::View user, std::string_view other) {
  return Holds(user["blocked"], bson::Value(other)) ||
         Holds(user["blocked_by"], bson::Value(other));
}

Status CheckShort(std::string_view name) {
  return name.empty() || name.size() > kMaxName
             ? MakeError(Error::kInvalidName, name.empty() ? "empty" : "too long")
             : Status::Ok();
}

Social::Work::Work(const Client& client, std::string_view database, SocialOptions options)
    : options_(std::move(options)),
      store_(client, database, options_.seams, options_.concerns),
      calls_(store_, "social") {
  const int64_t entry = options_.max_post + kShownComments * options_.max_text + kEntryRest;
  options_.page_size = static_cast<int32_t>(
      std::clamp<int64_t>(options_.page_size, 1, std::max<int64_t>(kMaxPageBytes / entry, 1)));
}

const std::vector<IndexSpec>& Social::Work::Indexes() {
  static constexpr char kPages[] = R"({"user_id": 1, "month": -1, "seq": -1})";
  static constexpr char kOnce[] = R"({"user_id": 1, "posts.id": 1})";
  static constexpr char kPost[] = R"({"posts.id": 1})";
  // A page that has lost all posts has no id: two such pages of a user are no duplicates.
  static constexpr char kWithPosts[] =
      R"({"partialFilterExpression": {"posts.id": {"$exists": true}}})";
  static const std::vector<IndexSpec> kIndexes = {
      {kSocialWall, kPages, true},
      {kSocialWall, kOnce, true, -1, kWithPosts},
      {kSocialWall, kPost},
      {kSocialNews, kPages, true},
      {kSocialNews, kOnce, true, -1, kWithPosts},
      {kSocialNews, kPost},
      {kSocialPosts, R"({"fanout.state": 1, "fanout.ts": 1, "_id": 1})"},
      {kSocialPosts, R"({"by.id": 1, "ts": -1})"},
      {kSocialPosts, R"({"dirty": 1})", false, -1, R"({"sparse": true})"},
      {kSocialPosts, R"({"deleted": 1, "_id": 1})", false, -1,
       R"({"partialFilterExpression": {"deleted": true}})"},
      Idempotency::Index()};
  return kIndexes;
}

const std::vector<ShardKeySpec>& Social::Work::ShardKeys() {
  static const std::vector<ShardKeySpec> kKeys = {{kSocialUsers, R"({"_id": 1})"},
                                                  {kSocialWall, R"({"user_id": 1})"},
                                                  {kSocialNews, R"({"user_id": 1})"},
                                                  {kSocialPosts, R"({"_id": "hashed"})"},
                                                  Idempotency::ShardKey()};
  return kKeys;
}

Result<Document> Social::Work::User(std::string_view id) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kSocialUsers, Doc("_id", id)));
  return found ? Result<Document>(*std::move(found)) : MakeError(Error::kNoSuchUser, id);
}

Result<std::string> Social::Work::AddUser(std::string_view name, const Document& profile,
                                          const CallKey& key) const {
  RETURN_IF_ERROR(CheckShort(name));
  auto add = [&](const Claim& claim) -> Result<Document> {
    const std::string id = claim.id.ToHex();
    Status status = store_.Insert(kSocialUsers,
                                  Doc("_id", id, "name", name, "profile", profile, "circles", Doc(),
                                      "followers", Doc(), "blocked", List(), "blocked_by", List()));
    if (!IsDuplicateKey(status)) {
      RETURN_IF_ERROR(status);
    }
    RETURN_IF_ERROR(store_.seams().After("social.add_user.c1"));
    return Doc("id", id);
  };
  ASSIGN_OR_RETURN(Document added,
                   calls_.Once("social.add_user", key, Doc("name", name, "profile", profile), add));
  return std::string(TextAt(added, "id"));
}

// Whether two users may be related at all.
Status Social::Work::Relate(std::string_view self, std::string_view other) const {
  if (self == other) {
    return MakeError(Error::kSelfCircle, self);
  }
  RETURN_IF_ERROR(User(self).status());
  return User(other).status();
}

// False: the guard failed, or this call made the change before and others have changed it since.
Result<bool> Social::Work::ChangeSelf(const Document& filter, const Document& update,
                                      const Claim& claim) const {
  ASSIGN_OR_RETURN(int64_t matched,
                   store_.UpdateOne(kSocialUsers, Unmarked(filter, claim), Marking(update, claim)));
  return matched == 1;
}

Status Social::Work::Circle(std::string_view self, std::string_view other, std::string_view circle,
                            const CallKey& key) const {
  RETURN_IF_ERROR(CheckCircle(circle));
  return calls_.DoOnce("social.circle", key, Doc("self", self, "other", other, "circle", circle),
                       [&](const Claim& claim) { return CircleOnce(self, other, circle, claim); });
}

// What follows the record is written while the record says so; a late write against it is undone by
// ReconcileGraph.
Status Social::Work::CircleOnce(std::string_view self, std::string_view other,
                                std::string_view circle, const Claim& claim) const {
  RETURN_IF_ERROR(Relate(self, other));
  ASSIGN_OR_RETURN(Document them, User(other));
  const std::string member = "circles." + NamePath(circle) + "." + NamePath(other);
  ASSIGN_OR_RETURN(
      bool changed,
      ChangeSelf(Doc("_id", self, "blocked", Doc("$ne", other), "blocked_by", Doc("$ne", other)),
                 Doc("$set", Doc(member, Doc("name", them["name"]))), claim));
  ASSIGN_OR_RETURN(Document me, User(self));
  if (!changed && !Marked(me, claim)) {
    return MakeError(Error::kBlocked, other);
  }
  RETURN_IF_ERROR(store_.seams().After("social.circle.c1"));
  if (!changed && At(me, member).missing()) {
    return Status::Ok();
  }
  const std::string follower = "followers." + NamePath(self);
  RETURN_IF_ERROR(store_
                      .UpdateOne(kSocialUsers, Doc("_id", other),
                                 Doc("$set", Doc(follower + ".name", me["name"]), "$addToSet",
                                     Doc(follower + ".circles", circle)))
                      .status());
  return store_.seams().After("social.circle.c2");
}

Status Social::Work::Uncircle(std::string_view self, std::string_view other,
                              std::string_view circle, const CallKey& key) const {
  RETURN_IF_ERROR(CheckCircle(circle));
  return calls_.DoOnce(
      "social.uncircle", key, Doc("self", self, "other", other, "circle", circle),
      [&](const Claim& claim) { return UncircleOnce(self, other, circle, claim); });
}

Status Social::Work::UncircleOnce(std::string_view self, std::string_view other,
                                  std::string_view circle, const Claim& claim) const {
  RETURN_IF_ERROR(Relate(self, other));
  const std::string member = "circles." + NamePath(circle) + "." + NamePath(other);
  ASSIGN_OR_RETURN(bool changed,
                   ChangeSelf(Doc("_id", self), Doc("$unset", Doc(member, "")), claim));
  RETURN_IF_ERROR(store_.seams().After("social.uncircle.c1"));
  if (!changed) {
    ASSIGN_OR_RETURN(Document me, User(self));
    if (!At(me, member).missing()) {
      return Status::Ok();
    }
  }
  const std::string follower = "followers." + NamePath(self);
  RETURN_IF_ERROR(store_
                      .UpdateOne(kSocialUsers, Doc("_id", other),
                                 Doc("$pull", Doc(follower + ".circles", circle)))
                      .status());
  RETURN_IF_ERROR(store_.seams().After("social.uncircle.c2"));
  RETURN_IF_ERROR(store_
                      .UpdateOne(kSocialUsers,
                                 Doc("_id", other, follower + ".circles", Doc("$size", 0)),
                                 Doc("$unset", Doc(follower, "")))
                      .status());
  return store_.seams().After("social.uncircle.c3");
}

// `change` is $addToSet or $pull.
Status Social::Work::SetBlock(std::string_view operation, std::string_view change,
                              std::string_view self, std::string_view other,
                              const CallKey& key) const {
  auto set = [&](const Claim& claim) -> Status {
    RETURN_IF_ERROR(Relate(self, other));
    ASSIGN_OR_RETURN(bool changed,
                     ChangeSelf(Doc("_id", self), Doc(change, Doc("blocked", other)), claim));
    RETURN_IF_ERROR(store_.seams().After(operation, 1));
    if (!changed) {
      ASSIGN_OR_RETURN(Document me, User(self));
      if (Holds(me["blocked"], bson::Value(other)) != (change == "$addToSet")) {
        return Status::Ok();
      }
    }
    RETURN_IF_ERROR(
        store_.UpdateOne(kSocialUsers, Doc("_id", other), Doc(change, Doc("blocked_by", self)))
            .status());
    return store_.seams().After(operation, 2);
  };
  return calls_.DoOnce(operation, key, Doc("self", self, "other", other), set);
}

Status Social::Work::Block(std::string_view self, std::string_view other,
                           const CallKey& key) const {
  return SetBlock("social.block", "$addToSet", self, other, key);
}

Status Social::Work::Unblock(std::string_view self, std::string_view other,
                             const CallKey& key) const {
  return SetBlock("social.unblock", "$pull", self, other, key);
}

// The order decides: a block goes before what is public, and being in no circle before "all".
Result<bool> Social::Work::Sees(bson::View viewer, bson::View post) const {
  const std::string_view author = TextAt(post, "by.id");
  if (post.Has("deleted")) {
    return false;
  }
  if (TextAt(viewer, "_id") == author) {
    return true;
  }
  if (Blocks(viewer, author)) {
    return false;
  }
  const std::vector<std::string> to = TextsIn(post["circles"]);
  const std::set<std::string> allowed(to.begin(), to.end());
  if (allowed.contains(kPublic)) {
    return true;
  }
  const std::vector<std::string> mine =
      TextsIn(At(viewer, "followers." + NamePath(author) + ".circles"));
  if (!mine.empty() && allowed.contains(kAllCircles)) {
    return true;
  }
  if (std::any_of(mine.begin(), mine.end(),
                  [&](const std::string& circle) { return allowed.contains(circle); })) {
    return true;
  }
  if (!allowed.contains(kFriendsOfFriends)) {
    return false;
  }
  ASSIGN_OR_RETURN(auto by, store_.FindOne(kSocialUsers, Doc("_id", author)));
  const std::vector<std::string> friends = by ? MembersOf(*by, "") : std::vector<std::string>();
  return std::any_of(friends.begin(), friends.end(), [&](const std::string& one) {
    return !At(viewer, "followers." + NamePath(one)).missing();
  });
}

// Entries of `followers` that the circles of those users do not bear out. Each is changed only
// while it is as it was read.
Result<int64_t> Social::Work::ReconcileFollowers(const Document& user) const {
  int64_t changed = 0;
  for (const std::string& follower : NamesIn(user["followers"])) {
    const std::string path = "followers." + NamePath(follower);
    ASSIGN_OR_RETURN(auto them, store_.FindOne(kSocialUsers, Doc("_id", follower)));
    const std::vector<std::string> circles =
        them ? CirclesWith(*them, TextAt(user, "_id")) : std::vector<std::string>();
    const std::vector<std::string> stored = TextsIn(At(user, path + ".circles"));
    if (!circles.empty() && std::set<std::string>(circles.begin(), circles.end()) ==
                                std::set<std::string>(stored.begin(), stored.end())) {
      continue;
    }
    const Document update =
        circles.empty()
            ? Doc("$unset", Doc(path, ""))
            : Doc("$set", Doc(path, Doc("name", (*them)["name"], "circles", ListOf(circles))));
    ASSIGN_OR_RETURN(
        int64_t matched,
        store_.UpdateOne(kSocialUsers, Doc("_id", user["_id"], path, At(user, path)), update));
    RETURN_IF_ERROR(store_.seams().After("social.reconcile.c1"));
    changed += matched;
  }
  return changed;
}

Result<int64_t> Social::Work::ReconcileFollowed(const Document& user) const {
  int64_t changed = 0;
  const std::string path = "followers." + NamePath(TextAt(user, "_id"));
  for (const std::string& member : MembersOf(user, "")) {
    for (const std::string& circle : CirclesWith(user, member)) {
      ASSIGN_OR_RETURN(
          int64_t matched,
          store_.UpdateOne(kSocialUsers, Doc("_id", member, path + ".circles", Doc("$ne", circle)),
                           Doc("$set", Doc(path + ".name", user["name"]), "$addToSet",
                               Doc(path + ".circles", circle))));
      RETURN_IF_ERROR(store_.seams().After("social.reconcile.c2"));
      changed += matched;
    }
  }
  return changed;
}

Result<int64_t> Social::Work::ReconcileBlocks(const Document& user) const {
  int64_t changed = 0;
  const bson::Value id = user["_id"];
  for (const std::string& other : TextsIn(user["blocked"])) {
    ASSIGN_OR_RETURN(int64_t matched,
                     store_.UpdateOne(kSocialUsers, Doc("_id", other, "blocked_by", Doc("$ne", id)),
                                      Doc("$addToSet", Doc("blocked_by", id))));
    RETURN_IF_ERROR(store_.seams().After("social.reconcile.c3"));
    changed += matched;
  }
  for (const std::string& other : TextsIn(user["blocked_by"])) {
    ASSIGN_OR_RETURN(int64_t blocks, store_.Count(kSocialUsers, Doc("_id", other, "blocked", id)));
    if (blocks == 0) {
      ASSIGN_OR_RETURN(int64_t matched, store_.UpdateOne(kSocialUsers, Doc("_id", id),
                                                         Doc("$pull", Doc("blocked_by", other))));
      RETURN_IF_ERROR(store_.seams().After("social.reconcile.c4"));
      changed += matched;
    }
  }
  return changed;
}

Result<int64_t> Social::Work::ReconcileGraph(std::string_view user) const {
  ASSIGN_OR_RETURN(Document found, User(user));
  ASSIGN_OR_RETURN(int64_t followers, ReconcileFollowers(found));
  ASSIGN_OR_RETURN(int64_t followed, ReconcileFollowed(found));
  ASSIGN_OR_RETURN(int64_t blocks, ReconcileBlocks(found));
  return followers + followed + blocks;
}

Result<JobReport> Social::Work::ReconcileAll(int64_t batch) const {
  return SweepLeased(store_, Lease(store_, "social.reconcile", options_.worker, options_.lease),
                     {kSocialUsers, batch, Doc("_id", 1)},
                     [&](const Document& user, JobReport* report) {
                       return report->Count(ReconcileGraph(TextAt(user, "_id")));
                     });
}

}  // namespace quire::patterns
