// SPDX-License-Identifier: Apache-2.0
//
// What users see.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/try.h"
#include "patterns/social/documents.h"
#include "patterns/social/work.h"
#include "patterns/walk.h"

namespace quire::patterns {

namespace {

using bson::Document;
using bson::ObjectId;

FeedPost PostOf(bson::View entry) {
  FeedPost post;
  post.id = entry["id"].AsObjectId();
  post.by = TextAt(entry, "by.id");
  post.name = TextAt(entry, "by.name");
  post.time = entry["ts"].AsDate();
  post.circles = TextsIn(entry["circles"]);
  post.type = TextAt(entry, "type");
  post.detail = Document(entry["detail"].AsDocument());
  post.comments_total = IntegerAt(entry, "comments_total");
  for (const bson::Element& comment : entry["comments"].AsArray()) {
    post.comments.push_back(CommentOf(comment.value().AsDocument()));
  }
  return post;
}

std::vector<bson::View> EntriesOf(const Document& page) {
  std::vector<bson::View> entries;
  for (const bson::Element& entry : page["posts"].AsArray()) {
    entries.push_back(entry.value().AsDocument());
  }
  return entries;
}

// How many of the page's entries come after (that is, before in time) where the last page ended.
// Where that post was deleted, those older than it: ids are given in the order of time, and others
// that were deleted may have moved the place.
size_t Remaining(const std::vector<bson::View>& entries, const bson::Value& last, int64_t index) {
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i]["id"].BinaryEquals(last)) {
      return i;
    }
  }
  size_t remaining = std::min(entries.size(), static_cast<size_t>(index));
  while (remaining > 0 &&
         entries[remaining - 1]["id"].AsObjectId().bytes > last.AsObjectId().bytes) {
    --remaining;
  }
  return remaining;
}

// What feeds show of each post, by its id; nothing of a deleted one.
using Previews = std::map<std::string, std::optional<Document>>;

// `seen` has the posts of each user in pages before.
void CheckEntries(const Document& page, const Previews& previews, std::set<std::string>* seen,
                  std::vector<std::string>* wrong) {
  const std::string user(TextAt(page, "user_id"));
  for (bson::View entry : EntriesOf(page)) {
    const std::string id = entry["id"].AsObjectId().ToHex();
    if (!seen->insert(user + "/" + id).second) {
      wrong->push_back("post " + id + " twice for " + user);
    }
    auto preview = previews.find(id);
    if (preview == previews.end() || !preview->second) {
      wrong->push_back("deleted post " + id + " of " + user);
      continue;
    }
    for (const char* field : {"comments", "comments_shown", "comments_total"}) {
      if (!entry[field].BinaryEquals((*preview->second)[field])) {
        wrong->push_back(std::string(field) + " of " + id + " for " + user);
      }
    }
  }
}

using Edges = std::multiset<std::string>;

// The circles and blocks of a user as they are recorded, and those of others as they are followed.
void AddEdges(const Document& user, Edges* recorded, Edges* followed) {
  const std::string id(TextAt(user, "_id"));
  for (const std::string& circle : NamesIn(user["circles"])) {
    for (const std::string& member : MembersOf(user, circle)) {
      recorded->insert(id + "/" + circle + "/" + member);
    }
  }
  for (const std::string& follower : NamesIn(user["followers"])) {
    for (const std::string& circle :
         TextsIn(At(user, "followers." + NamePath(follower) + ".circles"))) {
      followed->insert(follower + "/" + circle + "/" + id);
    }
  }
  for (const std::string& other : TextsIn(user["blocked"])) {
    recorded->insert(id + " blocks " + other);
  }
  for (const std::string& other : TextsIn(user["blocked_by"])) {
    followed->insert(other + " blocks " + id);
  }
}

}  // namespace

Result<bool> Social::Work::Visible(std::string_view viewer, const ObjectId& post) const {
  ASSIGN_OR_RETURN(Document who, User(viewer));
  ASSIGN_OR_RETURN(auto record, store_.FindOne(kSocialPosts, Doc("_id", post)));
  return record ? Sees(who, *record) : MakeError(Error::kNotFound, post.ToHex());
}

Result<bool> Social::Work::OnOwnWall(std::string_view user, const ObjectId& post) const {
  ASSIGN_OR_RETURN(Document who, User(user));
  ASSIGN_OR_RETURN(Document record, LivePost(post));
  const std::string_view author = TextAt(record, "by.id");
  const std::vector<std::string> members = MembersOf(who, "");
  return !Blocks(who, author) &&
         (author == user || std::find(members.begin(), members.end(), author) != members.end());
}

Result<bool> Social::Work::Incoming(std::string_view user, const ObjectId& post) const {
  ASSIGN_OR_RETURN(Document who, User(user));
  ASSIGN_OR_RETURN(Document record, LivePost(post));
  return !Blocks(who, TextAt(record, "by.id"));
}

// The newest page, of a month up to `until` when that is not empty.
Result<std::optional<Document>> Social::Work::NewestPage(const char* feed, std::string_view user,
                                                         std::string_view until) const {
  return store_.FindOne(
      feed,
      until.empty() ? Doc("user_id", user) : Doc("user_id", user, "month", Doc("$lte", until)),
      {.sort = Doc("month", -1, "seq", -1)});
}

// The next older page: of the same month, or of an earlier one.
Result<std::optional<Document>> Social::Work::OlderPage(const char* feed,
                                                        const Document& page) const {
  const FindOptions newest{.sort = Doc("month", -1, "seq", -1)};
  const bson::Value user = page["user_id"];
  if (IntegerAt(page, "seq") > 0) {
    ASSIGN_OR_RETURN(auto same, store_.FindOne(feed,
                                               Doc("user_id", user, "month", page["month"], "seq",
                                                   Doc("$lt", page["seq"])),
                                               newest));
    if (same) {
      return same;
    }
  }
  return store_.FindOne(feed, Doc("user_id", user, "month", Doc("$lt", page["month"])), newest);
}

// A post may be deleted while its entries are still being removed: the records have the last word.
Result<FeedPage> Social::Work::Read(Feed feed, std::string_view user, std::string_view viewer,
                                    const PageRequest& page, std::string_view until) const {
  const char* collection = feed == Feed::kWall ? kSocialWall : kSocialNews;
  ASSIGN_OR_RETURN(Document who, User(viewer));
  std::optional<Document> at;
  Document after;
  int64_t index = 0;
  if (page.after.empty()) {
    ASSIGN_OR_RETURN(at, NewestPage(collection, user, until));
  } else {
    ASSIGN_OR_RETURN(after, DecodePageEnd(page.after, {"month", "seq", "index", "id"}));
    ASSIGN_OR_RETURN(index, PlaceIn(after, "index", 0));
    if (after["id"].type() != bson::Type::kObjectId) {
      return MakeError(Error::kBadCursor, "id");
    }
    ASSIGN_OR_RETURN(at, store_.FindOne(collection, Doc("user_id", user, "month", after["month"],
                                                        "seq", after["seq"])));
  }
  FeedPage result;
  while (at && page.limit > 0) {
    const std::vector<bson::View> entries = EntriesOf(*at);
    std::vector<bson::Value> ids;
    for (bson::View entry : entries) {
      ids.push_back(entry["id"]);
    }
    ASSIGN_OR_RETURN(auto gone,
                     store_.Find(kSocialPosts, Doc("_id", Doc("$in", ListOf(ids)), "deleted", true),
                                 {.projection = Doc("_id", 1)}));
    std::set<std::string> deleted;
    for (const Document& one : gone) {
      deleted.insert(one["_id"].AsObjectId().ToHex());
    }
    for (size_t i = after.empty() ? entries.size() : Remaining(entries, after["id"], index);
         i-- > 0;) {
      bson::View entry = entries[i];
      ASSIGN_OR_RETURN(bool sees, Sees(who, entry));
      if (!sees || deleted.contains(entry["id"].AsObjectId().ToHex())) {
        continue;
      }
      result.posts.push_back(PostOf(entry));
      if (static_cast<int64_t>(result.posts.size()) == page.limit) {
        result.next = EncodePageEnd(Doc("month", (*at)["month"], "seq", (*at)["seq"], "index",
                                        static_cast<int64_t>(i), "id", entry["id"]));
        return result;
      }
    }
    after = Document();
    const Document done = *std::move(at);
    ASSIGN_OR_RETURN(at, OlderPage(collection, done));
  }
  return result;
}

Result<CommentPage> Social::Work::AllComments(std::string_view viewer, const ObjectId& post,
                                              const PageRequest& page) const {
  int64_t from = 0;
  if (!page.after.empty()) {
    ASSIGN_OR_RETURN(Document after, DecodePageEnd(page.after, {"index"}));
    ASSIGN_OR_RETURN(from, PlaceIn(after, "index", 0));
  }
  ASSIGN_OR_RETURN(Document who, User(viewer));
  ASSIGN_OR_RETURN(Document record, LivePost(post));
  ASSIGN_OR_RETURN(bool sees, Sees(who, record));
  if (!sees) {
    return MakeError(Error::kForbidden, viewer);
  }
  CommentPage result;
  int64_t index = 0;
  for (const bson::Element& comment : record["comments"].AsArray()) {
    if (index++ < from) {
      continue;
    }
    if (static_cast<int64_t>(result.comments.size()) == page.limit) {
      result.next = EncodePageEnd(Doc("index", index - 1));
      break;
    }
    result.comments.push_back(CommentOf(comment.value().AsDocument()));
  }
  return result;
}

Result<SocialProfile> Social::Work::Profile(std::string_view user, std::string_view viewer) const {
  ASSIGN_OR_RETURN(Document found, User(user));
  RETURN_IF_ERROR(User(viewer).status());
  if (Blocks(found, viewer)) {
    return MakeError(Error::kBlocked, user);
  }
  return SocialProfile{std::string(user), std::string(TextAt(found, "name")),
                       Document(found["profile"].AsDocument()),
                       static_cast<int64_t>(NamesIn(found["followers"]).size())};
}

Result<std::vector<std::string>> Social::Work::CheckInvariants() const {
  std::vector<std::string> wrong;
  Previews previews;
  RETURN_IF_ERROR(Walk(store_, kSocialPosts, [&](const Document& record) {
    std::optional<Document>& preview = previews[record["_id"].AsObjectId().ToHex()];
    if (!record.view().Has("deleted")) {
      preview = PreviewOf(record);
    }
    return Status::Ok();
  }));
  for (const char* feed : {kSocialWall, kSocialNews}) {
    std::set<std::string> seen;
    RETURN_IF_ERROR(Walk(store_, feed, [&](const Document& page) {
      if (IntegerAt(page, "count") > options_.page_size ||
          static_cast<int64_t>(EntriesOf(page).size()) > IntegerAt(page, "count")) {
        wrong.push_back("the count of a page of " + std::string(TextAt(page, "user_id")));
      }
      CheckEntries(page, previews, &seen, &wrong);
      return Status::Ok();
    }));
  }
  Edges recorded;
  Edges followed;
  RETURN_IF_ERROR(Walk(store_, kSocialUsers, [&](const Document& user) {
    AddEdges(user, &recorded, &followed);
    return Status::Ok();
  }));
  if (recorded != followed) {
    wrong.emplace_back("followers or blocks differ from their record");
  }
  return wrong;
}

}  // namespace quire::patterns
