// SPDX-License-Identifier: Apache-2.0
//
// Posts and comments, and their way into the feeds.
#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "base/try.h"
#include "patterns/keyset.h"
#include "patterns/social/documents.h"
#include "patterns/social/work.h"
#include "quire/patterns/buckets.h"
#include "quire/patterns/lease.h"

namespace quire::patterns {

namespace {

using bson::Document;
using bson::ObjectId;

constexpr int kAttempts = 50;  // of an append: others fill pages meanwhile

// Whose news get a post of the author to those circles.
std::set<std::string> Recipients(bson::View author, bson::View post) {
  std::set<std::string> recipients;
  for (const std::string& circle : TextsIn(post["circles"])) {
    std::vector<std::string> members;
    if (circle == kPublic) {
      members = NamesIn(author["followers"]);
    } else if (circle == kAllCircles) {
      members = MembersOf(author, "");
    } else if (circle != kFriendsOfFriends) {
      members = MembersOf(author, circle);
    }
    recipients.insert(members.begin(), members.end());
  }
  for (auto one = recipients.begin(); one != recipients.end();) {
    one = Blocks(author, *one) ? recipients.erase(one) : std::next(one);
  }
  return recipients;
}

// A post as feeds show it.
Document EntryOf(bson::View post) {
  bson::Builder entry;
  entry.Append("id", post["_id"]).Append("ts", post["ts"]).Append("by", post["by"]);
  entry.Append("circles", post["circles"]).Append("type", post["type"]);
  entry.Append("detail", post["detail"]);
  const Document preview = PreviewOf(post);
  entry.AppendFields(preview);
  return entry.Finish();
}

// The posts of a state, some at a time, the oldest first. `visit` may change them.
Status EachPost(const Store& store, const Document& filter, int64_t batch,
                const std::function<Status(const Document&)>& visit) {
  PageRequest page{.limit = batch};
  do {
    ASSIGN_OR_RETURN(Page found,
                     FindPage(store, kSocialPosts, filter, Doc("fanout.ts", 1, "_id", 1), page));
    for (const Document& post : found.documents) {
      RETURN_IF_ERROR(visit(post));
    }
    page.after = found.next;
  } while (!page.after.empty());
  return Status::Ok();
}

Result<int64_t> OneIfOk(const Status& status) { return status.ok() ? Result<int64_t>(1) : status; }

}  // namespace

Comment CommentOf(bson::View document) {
  return {std::string(TextAt(document, "id")), std::string(TextAt(document, "by.id")),
          std::string(TextAt(document, "by.name")), document["ts"].AsDate(),
          std::string(TextAt(document, "text"))};
}

Document PreviewOf(bson::View post) {
  std::vector<bson::Value> comments;
  for (const bson::Element& comment : post["comments"].AsArray()) {
    comments.push_back(comment.value());
  }
  if (static_cast<int64_t>(comments.size()) > kShownComments) {
    comments.erase(comments.begin(), comments.end() - kShownComments);
  }
  return Doc("comments", ListOf(comments), "comments_shown", static_cast<int32_t>(comments.size()),
             "comments_total", post["comments_total"]);
}

Result<ObjectId> Social::Work::Post(const NewPost& post, const CallKey& key) const {
  const std::string to = post.to.empty() ? post.author : post.to;
  const Document content =
      Doc("to", to, "circles", ListOf(post.circles), "type", post.type, "detail", post.detail);
  if (static_cast<int64_t>(content.bytes().size()) > options_.max_post) {
    return MakeError(Error::kDocumentTooLarge, "a post");
  }
  auto send = [&](const Claim& claim) -> Result<Document> {
    ASSIGN_OR_RETURN(Document author, User(post.author));
    ASSIGN_OR_RETURN(Document owner, User(to));
    if (Blocks(author, to) || Blocks(owner, post.author)) {
      return MakeError(Error::kBlocked, to);
    }
    bson::Builder builder;
    builder.Append("_id", claim.id);
    builder.Append("by", Doc("id", post.author, "name", author["name"])).AppendFields(content);
    builder.Append("ts", store_.Now());
    Put(&builder, "comments", List());
    builder.Append("comments_total", int32_t{0});
    builder.Append("fanout", Doc("state", "new", "ts", store_.Now()));
    Document record = builder.Finish();
    Status status = store_.Insert(kSocialPosts, record);
    if (IsDuplicateKey(status)) {
      ASSIGN_OR_RETURN(auto found, store_.FindOne(kSocialPosts, Doc("_id", claim.id)));
      record = found ? *std::move(found) : std::move(record);
    } else {
      RETURN_IF_ERROR(status);
    }
    RETURN_IF_ERROR(store_.seams().After("social.post.c1"));
    if (TextAt(record, "fanout.state") == "new") {
      RETURN_IF_ERROR(FanOut(record));
    }
    return Doc("id", claim.id);
  };
  const Document arguments = Doc("author", post.author, "content", content);
  ASSIGN_OR_RETURN(Document sent, calls_.Once("social.post", key, arguments, send));
  return sent["id"].AsObjectId();
}

Status Social::Work::FanOut(const Document& post) const {
  RETURN_IF_ERROR(Append(kSocialWall, TextAt(post, "to"), post));
  RETURN_IF_ERROR(store_.seams().After("social.post.c2"));
  ASSIGN_OR_RETURN(auto author, store_.FindOne(kSocialUsers, Doc("_id", At(post, "by.id"))));
  int step = 2;
  for (const std::string& recipient :
       author ? Recipients(*author, post) : std::set<std::string>()) {
    RETURN_IF_ERROR(Append(kSocialNews, recipient, post));
    RETURN_IF_ERROR(store_.seams().After("social.post", ++step));
  }
  RETURN_IF_ERROR(store_
                      .UpdateOne(kSocialPosts, Doc("_id", post["_id"], "fanout.state", "new"),
                                 Doc("$set", Doc("fanout.state", "done")))
                      .status());
  return store_.seams().After("social.post", ++step);
}

// The page exists though the upsert found none: it has the post (or another page has), it is full,
// or another post made it. Afterwards the record is asked again: what happened to it since it was
// read did not find this entry.
Status Social::Work::Append(const char* feed, std::string_view user, const Document& post) const {
  const bson::Value id = post["_id"];
  const std::string month = MonthKey(post["ts"].AsDate());
  ASSIGN_OR_RETURN(auto last, store_.FindOne(feed, Doc("user_id", user, "month", month),
                                             {.projection = Doc("seq", 1),
                                              .sort = Doc("month", -1, "seq", -1)}));
  auto seq = static_cast<int32_t>(last ? IntegerAt(*last, "seq") : 0);
  const Document update = Doc("$push", Doc("posts", EntryOf(post)), "$inc", Doc("count", 1));
  bool appended = false;
  for (int i = 0; !appended && i < kAttempts; ++i) {
    Status status = store_
                        .UpdateOne(feed,
                                   Doc("user_id", user, "month", month, "seq", seq, "count",
                                       Doc("$lt", options_.page_size), "posts.id", Doc("$ne", id)),
                                   update, true)
                        .status();
    appended = status.ok();
    if (!appended && !IsDuplicateKey(status)) {
      return status;
    }
    if (!appended) {
      ASSIGN_OR_RETURN(int64_t there, store_.Count(feed, Doc("user_id", user, "posts.id", id)));
      appended = there > 0;
    }
    if (!appended) {
      ASSIGN_OR_RETURN(int64_t full,
                       store_.Count(feed, Doc("user_id", user, "month", month, "seq", seq, "count",
                                              Doc("$gte", options_.page_size))));
      seq += static_cast<int32_t>(full);
    }
  }
  if (!appended) {
    return MakeError(Error::kContention, user);
  }
  ASSIGN_OR_RETURN(auto now, store_.FindOne(kSocialPosts, Doc("_id", id)));
  if (!now || now->view().Has("deleted")) {
    int64_t changed = 0;
    return Purge(post, &changed);
  }
  return IntegerAt(*now, "comments_total") > IntegerAt(post, "comments_total")
             ? Refresh(bson::OwnedValue(id))
             : Status::Ok();
}

Status Social::Work::Purge(const Document& post, int64_t* changed) const {
  int step = 1;
  for (const char* feed : {kSocialWall, kSocialNews}) {
    ASSIGN_OR_RETURN(int64_t pulled,
                     store_.UpdateMany(feed, Doc("posts.id", post["_id"]),
                                       Doc("$pull", Doc("posts", Doc("id", post["_id"])))));
    RETURN_IF_ERROR(store_.seams().After("social.delete_post", ++step));
    *changed += pulled;
  }
  return Status::Ok();
}

Result<Document> Social::Work::LivePost(const ObjectId& post) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kSocialPosts, Doc("_id", post)));
  if (!found || found->view().Has("deleted")) {
    return MakeError(Error::kNotFound, post.ToHex());
  }
  return *std::move(found);
}

// It stays in the state `purge` until no late write can bring it back into a feed.
Status Social::Work::DeletePost(std::string_view by, const ObjectId& post,
                                const CallKey& key) const {
  auto remove = [&](const Claim& claim) -> Status {
    ASSIGN_OR_RETURN(auto record, store_.FindOne(kSocialPosts, Doc("_id", post)));
    const bool mine = record && Marked(*record, claim);
    if (!record || (record->view().Has("deleted") && !mine)) {
      return MakeError(Error::kNotFound, post.ToHex());
    }
    if (TextAt(*record, "by.id") != by) {
      return MakeError(Error::kForbidden, by);
    }
    RETURN_IF_ERROR(
        store_
            .UpdateOne(kSocialPosts, Doc("_id", post, "deleted", Doc("$exists", false)),
                       Marking(Doc("$set", Doc("deleted", true, "fanout",
                                               Doc("state", "purge", "ts", store_.Now()))),
                               claim))
            .status());
    RETURN_IF_ERROR(store_.seams().After("social.delete_post.c1"));
    int64_t changed = 0;
    return Purge(*record, &changed);
  };
  return calls_.DoOnce("social.delete_post", key, Doc("by", by, "post", post), remove);
}

Status Social::Work::AddComment(std::string_view viewer, const ObjectId& post,
                                std::string_view text, std::string_view id) const {
  RETURN_IF_ERROR(CheckShort(id));
  if (static_cast<int64_t>(text.size()) > options_.max_text) {
    return MakeError(Error::kTextTooLong, std::to_string(text.size()));
  }
  ASSIGN_OR_RETURN(Document who, User(viewer));
  ASSIGN_OR_RETURN(Document record, LivePost(post));
  ASSIGN_OR_RETURN(bool sees, Sees(who, record));
  if (!sees) {
    return MakeError(Error::kForbidden, viewer);
  }
  const Document comment =
      Doc("id", id, "by", Doc("id", viewer, "name", who["name"]), "ts", store_.Now(), "text", text);
  ASSIGN_OR_RETURN(
      int64_t added,
      store_.UpdateOne(kSocialPosts,
                       Doc("_id", post, "deleted", Doc("$exists", false), "comments.id",
                           Doc("$ne", id), "comments_total", Doc("$lt", options_.max_comments)),
                       Doc("$push", Doc("comments", comment), "$inc", Doc("comments_total", 1),
                           "$set", Doc("dirty", store_.Now()))));
  RETURN_IF_ERROR(store_.seams().After("social.comment.c1"));
  if (added == 0) {
    ASSIGN_OR_RETURN(record, LivePost(post));
    bool made = false;
    for (const bson::Element& element : record["comments"].AsArray()) {
      const Comment other = CommentOf(element.value().AsDocument());
      if (other.id == id && (other.by != viewer || other.text != text)) {
        return MakeError(Error::kIdempotencyKeyReuse, id);
      }
      made = made || other.id == id;
    }
    if (!made) {
      return MakeError(Error::kDocumentTooLarge, "a post with too many comments");
    }
  }
  return Refresh(bson::OwnedValue(bson::Value(post)));
}

// The total grows with every comment: an entry that has it, or more, is at least as new.
Status Social::Work::Refresh(const bson::OwnedValue& post) const {
  ASSIGN_OR_RETURN(auto record, store_.FindOne(kSocialPosts, Doc("_id", post)));
  if (!record) {
    return Status::Ok();
  }
  const Document preview = PreviewOf(*record);
  const bson::Value total = preview["comments_total"];
  const Document stale =
      Doc("posts", Doc("$elemMatch", Doc("id", post, "comments_total", Doc("$lt", total))));
  const Document update =
      Doc("$set", Doc("posts.$.comments", preview["comments"], "posts.$.comments_shown",
                      preview["comments_shown"], "posts.$.comments_total", total));
  int step = 1;
  for (const char* feed : {kSocialWall, kSocialNews}) {
    RETURN_IF_ERROR(store_.UpdateMany(feed, stale, update).status());
    RETURN_IF_ERROR(store_.seams().After("social.comment", ++step));
  }
  RETURN_IF_ERROR(store_
                      .UpdateOne(kSocialPosts, Doc("_id", post, "comments_total", total),
                                 Doc("$unset", Doc("dirty", "")))
                      .status());
  return store_.seams().After("social.comment", ++step);
}

Result<JobReport> Social::Work::ResumeFanout(int64_t batch) const {
  return RunLeased(
      Lease(store_, "social.fanout", options_.worker, options_.lease), [&]() -> Result<JobReport> {
        ASSIGN_OR_RETURN(JobReport report, calls_.Purge({options_.tombstone_retention,
                                                         options_.worker, options_.lease}));
        const Document late = Doc("$lt", store_.Ago(options_.grace));
        RETURN_IF_ERROR(
            EachPost(store_, Doc("fanout.state", "new", "fanout.ts", late), batch,
                     [&](const Document& post) { return report.Count(OneIfOk(FanOut(post))); }));
        RETURN_IF_ERROR(
            EachPost(store_, Doc("fanout.state", "purge"), batch,
                     [&](const Document& post) { return report.Count(PurgeAgain(post)); }));
        return report;
      });
}

// Until no write of before the deletion can still come.
Result<int64_t> Social::Work::PurgeAgain(const Document& post) const {
  int64_t changed = 0;
  RETURN_IF_ERROR(Purge(post, &changed));
  if (At(post, "fanout.ts").AsDate() < store_.Ago(options_.tombstone_retention)) {
    ASSIGN_OR_RETURN(
        int64_t done,
        store_.UpdateOne(kSocialPosts, Doc("_id", post["_id"], "fanout.state", "purge"),
                         Doc("$set", Doc("fanout.state", "done"))));
    RETURN_IF_ERROR(store_.seams().After("social.delete_post", 4));
    changed += done;
  }
  return changed;
}

Result<JobReport> Social::Work::RefreshPreviews(int64_t batch) const {
  return RunLeased(
      Lease(store_, "social.previews", options_.worker, options_.lease),
      [&]() -> Result<JobReport> {
        JobReport report;
        ASSIGN_OR_RETURN(
            auto stale,
            store_.Find(kSocialPosts, Doc("dirty", Doc("$lt", store_.Ago(options_.grace))),
                        {.sort = Doc("dirty", 1), .limit = batch}));
        for (const Document& post : stale) {
          RETURN_IF_ERROR(report.Count(OneIfOk(Refresh(bson::OwnedValue(post["_id"])))));
        }
        return report;
      });
}

}  // namespace quire::patterns
