// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/comments.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "base/try.h"
#include "patterns/comments/storage.h"
#include "patterns/doc.h"
#include "quire/patterns/buckets.h"
#include "quire/patterns/lease.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr int kPartSize = 8;
constexpr int32_t kMaxTreeDepth = 32;  // two levels of BSON each, of a hundred

// The n-th part that a call may give its comment: fixed width, and no character at or below "/",
// which must sort first.
std::string PartOf(const bson::ObjectId& call, int n) {
  uint64_t hash = 14695981039346656037ULL;
  auto mix = [&hash](uint8_t byte) { hash = (hash ^ byte) * 1099511628211ULL; };
  std::for_each(call.bytes.begin(), call.bytes.end(), mix);
  mix(static_cast<uint8_t>(n));
  hash ^= hash >> 31;
  std::string part;
  for (int i = 0; i < kPartSize; ++i, hash /= 36) {
    part += "0123456789abcdefghijklmnopqrstuvwxyz"[hash % 36];
  }
  return part;
}

std::string TimedPart(bson::Date posted, const std::string& part) {
  const CivilTime at = ToCivil(posted);
  char text[96];
  snprintf(text, sizeof text, "%04d.%02d.%02d.%02d.%02d.%02d.%03d:", at.year, at.month, at.day,
           at.hour, at.minute, at.second, static_cast<int>((posted.millis % 1000 + 1000) % 1000));
  return text + part;
}

std::string Below(const std::string& parent, const std::string& part) {
  return parent.empty() ? part : parent + "/" + part;
}

std::unique_ptr<CommentStorage> MakeStorage(const Store& store, const CommentsOptions& options) {
  switch (options.design) {
    case CommentDesign::kDocuments:
      return MakeCommentDocuments(store);
    case CommentDesign::kArray:
      return MakeCommentArray(store);
    case CommentDesign::kTree:
      return MakeCommentTree(store);
    case CommentDesign::kPages:
      break;
  }
  return MakeCommentPages(store, options);
}

Status NoComment(std::string_view slug) { return MakeError(Error::kNoSuchComment, slug); }

// Whether it is the comment `top` or below it; any is when `top` is empty.
bool IsWithin(std::string_view full_slug, std::string_view top) {
  return full_slug.starts_with(top) &&
         (top.empty() || full_slug.size() == top.size() || full_slug[top.size()] == '/');
}

}  // namespace

Document ToDocument(const StoredComment& stored) {
  const DiscussionComment& comment = stored.comment;
  return Doc("slug", comment.slug, "full_slug", comment.full_slug, "posted", comment.posted,
             "author", Doc("id", comment.author.id, "name", comment.author.name), "text",
             comment.text, "deleted", comment.deleted, "call", stored.call);
}

StoredComment FromDocument(bson::View document) {
  StoredComment stored;
  DiscussionComment& comment = stored.comment;
  comment.slug = TextAt(document, "slug");
  comment.full_slug = TextAt(document, "full_slug");
  comment.posted = document["posted"].AsDate();
  comment.author = {std::string(TextAt(document, "author.id")),
                    std::string(TextAt(document, "author.name"))};
  comment.text = TextAt(document, "text");
  comment.deleted = document["deleted"].AsBool();
  stored.call = document["call"].AsObjectId();
  return stored;
}

Result<std::optional<StoredComment>> FindEmbedded(const Store& store, std::string_view collection,
                                                  const bson::Document& filter) {
  ASSIGN_OR_RETURN(auto found,
                   store.FindOne(collection, filter, {.projection = Doc("comments.$", 1)}));
  if (!found) {
    return std::optional<StoredComment>();
  }
  return std::optional<StoredComment>(
      FromDocument((*found)["comments"].AsArray().front().value().AsDocument()));
}

Document Tombstone(const std::string& prefix) {
  return Doc("$set", Doc(prefix + "deleted", true, prefix + "text", bson::Value::Null(),
                         prefix + "author", bson::Value::Null()));
}

Result<DiscussionPage> CommentStorage::Chronological(std::string_view discussion,
                                                     const PageRequest& page) const {
  int64_t position = 0;
  if (!page.after.empty()) {
    ASSIGN_OR_RETURN(Document end, DecodePageEnd(page.after, {"position"}));
    ASSIGN_OR_RETURN(position, PlaceIn(end, "position", 0));
  }
  DiscussionPage result;
  if (page.limit <= 0) {
    return result;
  }
  ASSIGN_OR_RETURN(result.comments, From(discussion, position, page.limit));
  if (static_cast<int64_t>(result.comments.size()) == page.limit) {
    result.next = EncodePageEnd(Doc("position", position + page.limit));
  }
  return result;
}

Result<DiscussionPage> ThreadedPage(std::vector<DiscussionComment> all, const std::string& top,
                                    const PageRequest& page) {
  std::string after;
  if (!page.after.empty()) {
    ASSIGN_OR_RETURN(Document end, DecodePageEnd(page.after, {"full_slug"}));
    after = TextAt(end, "full_slug");
  }
  std::sort(all.begin(), all.end(), [](const DiscussionComment& a, const DiscussionComment& b) {
    return a.full_slug < b.full_slug;
  });
  DiscussionPage result;
  for (DiscussionComment& comment : all) {
    if (comment.full_slug > after && IsWithin(comment.full_slug, top) &&
        static_cast<int64_t>(result.comments.size()) < page.limit) {
      result.comments.push_back(std::move(comment));
    }
  }
  if (page.limit > 0 && static_cast<int64_t>(result.comments.size()) == page.limit) {
    result.next = EncodePageEnd(Doc("full_slug", result.comments.back().full_slug));
  }
  return result;
}

Comments::Comments(const Client& client, std::string_view database, CommentsOptions options)
    : options_(std::move(options)),
      store_(client, database, options_.seams, options_.concerns),
      calls_(store_, "comments"),
      storage_(MakeStorage(store_, options_)) {
  if (options_.design == CommentDesign::kTree) {
    options_.max_depth = std::min(options_.max_depth, kMaxTreeDepth);
  }
}
Comments::Comments(Comments&&) noexcept = default;
Comments& Comments::operator=(Comments&&) noexcept = default;
Comments::~Comments() = default;

std::vector<IndexSpec> Comments::Indexes() const {
  std::vector<IndexSpec> indexes = storage_->Indexes();
  indexes.push_back(Idempotency::Index());
  return indexes;
}

std::vector<ShardKeySpec> Comments::ShardKeys() const {
  std::vector<ShardKeySpec> keys = storage_->ShardKeys();
  keys.push_back({kDiscussions, R"({"_id": "hashed"})"});
  keys.push_back(Idempotency::ShardKey());
  return keys;
}

Status Comments::CreateDiscussion(std::string_view id) const {
  const Document fields = storage_->NewDiscussion();
  bson::Builder discussion;
  discussion.Append("_id", id).AppendFields(fields);
  Status inserted = store_.Insert(kDiscussions, discussion.Finish());
  if (!IsDuplicateKey(inserted)) {
    RETURN_IF_ERROR(inserted);
  }
  return store_.seams().After("comments.create.c1");
}

Status Comments::CheckDiscussion(std::string_view discussion) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kDiscussions, Doc("_id", discussion),
                                              {.projection = Doc("_id", 1)}));
  return found ? Status::Ok() : MakeError(Error::kNoSuchDiscussion, discussion);
}

Result<std::string> Comments::Post(std::string_view discussion, const NewComment& comment,
                                   const CallKey& key) const {
  if (comment.text.size() > options_.max_text) {
    return MakeError(Error::kTextTooLong, std::to_string(comment.text.size()));
  }
  const Document arguments = Doc("discussion", discussion, "author",
                                 Doc("id", comment.author.id, "name", comment.author.name), "text",
                                 comment.text, "parent", comment.parent);
  ASSIGN_OR_RETURN(Document posted,
                   calls_.Once("comments.post", key, arguments, [&](const Claim& claim) {
                     return PostOnce(discussion, comment, claim);
                   }));
  return std::string(TextAt(posted, "slug"));
}

// A repeated call tries the same slugs and finds its comment under one of them.
Result<Document> Comments::PostOnce(std::string_view discussion, const NewComment& comment,
                                    const Claim& claim) const {
  RETURN_IF_ERROR(CheckDiscussion(discussion));
  DiscussionComment parent;
  if (!comment.parent.empty()) {
    ASSIGN_OR_RETURN(parent, Get(discussion, comment.parent));
    if (parent.deleted && !options_.reply_to_deleted) {
      return MakeError(Error::kParentDeleted, comment.parent);
    }
    if (std::count(parent.slug.begin(), parent.slug.end(), '/') + 2 > options_.max_depth) {
      return MakeError(Error::kTooDeep, comment.parent);
    }
  }
  StoredComment stored{{"", "", store_.Now(), comment.author, comment.text, false}, claim.id};
  for (int n = 0; n < 256; ++n) {
    const std::string part = PartOf(claim.id, n);
    stored.comment.slug = Below(parent.slug, part);
    stored.comment.full_slug = Below(parent.full_slug, TimedPart(stored.comment.posted, part));
    if (claim.repeated) {
      ASSIGN_OR_RETURN(auto before, storage_->Find(discussion, stored.comment.slug));
      if (before && before->call == claim.id) {
        return Doc("slug", stored.comment.slug);
      }
    }
    ASSIGN_OR_RETURN(bool added, storage_->Add(discussion, stored));
    if (added) {
      return Doc("slug", stored.comment.slug);
    }
    ASSIGN_OR_RETURN(auto other, storage_->Find(discussion, stored.comment.slug));
    if (claim.keyed && other && other->call == claim.id) {
      return Doc("slug", stored.comment.slug);
    }
  }
  return MakeError(Error::kContention, "no slug is free");
}

// Nothing brings a removed comment back: a repeat finds the same.
Status Comments::Remove(std::string_view discussion, std::string_view slug,
                        const CallKey& key) const {
  auto remove = [&](const Claim&) -> Status {
    RETURN_IF_ERROR(CheckDiscussion(discussion));
    ASSIGN_OR_RETURN(bool removed, storage_->Bury(discussion, slug));
    RETURN_IF_ERROR(store_.seams().After("comments.remove.c1"));
    return removed ? Status::Ok() : NoComment(slug);
  };
  return calls_.DoOnce("comments.remove", key, Doc("discussion", discussion, "slug", slug), remove);
}

Result<DiscussionPage> Comments::GetPage(std::string_view discussion, CommentOrder order,
                                         const PageRequest& page) const {
  RETURN_IF_ERROR(CheckDiscussion(discussion));
  return order == CommentOrder::kThreaded ? storage_->Threaded(discussion, "", page)
                                          : storage_->Chronological(discussion, page);
}

Result<std::vector<DiscussionComment>> Comments::GetFrom(std::string_view discussion, int64_t skip,
                                                         int64_t limit) const {
  RETURN_IF_ERROR(CheckDiscussion(discussion));
  if (limit <= 0) {
    return std::vector<DiscussionComment>();
  }
  return storage_->From(discussion, std::max<int64_t>(skip, 0), limit);
}

Result<DiscussionComment> Comments::Get(std::string_view discussion, std::string_view slug) const {
  RETURN_IF_ERROR(CheckDiscussion(discussion));
  ASSIGN_OR_RETURN(auto found, storage_->Find(discussion, slug));
  return found ? Result<DiscussionComment>(found->comment) : NoComment(slug);
}

Result<DiscussionComment> Comments::GetAt(std::string_view discussion, int64_t position) const {
  ASSIGN_OR_RETURN(auto found, GetFrom(discussion, position, 1));
  return found.empty() || position < 0 ? NoComment(std::to_string(position))
                                       : Result<DiscussionComment>(std::move(found.front()));
}

Result<DiscussionPage> Comments::Subtree(std::string_view discussion, std::string_view slug,
                                         const PageRequest& page) const {
  ASSIGN_OR_RETURN(DiscussionComment top, Get(discussion, slug));
  return storage_->Threaded(discussion, top.full_slug, page);
}

Result<int64_t> Comments::Count(std::string_view discussion) const {
  RETURN_IF_ERROR(CheckDiscussion(discussion));
  return storage_->Count(discussion);
}

Status Comments::Recount(std::string_view discussion) const {
  RETURN_IF_ERROR(CheckDiscussion(discussion));
  return storage_->Recount(discussion).status();
}

Result<JobReport> Comments::RecountAll(int64_t batch) const {
  const Lease lease(store_, "comments.recount", options_.worker, options_.lease);
  return SweepLeased(store_, lease, {kDiscussions, batch, Doc("_id", 1)},
                     [&](const Document& discussion, JobReport* report) -> Status {
                       ASSIGN_OR_RETURN(bool changed, storage_->Recount(TextAt(discussion, "_id")));
                       *report += {.examined = 1, .changed = changed, .skipped = !changed};
                       return Status::Ok();
                     });
}

Result<std::vector<std::string>> Comments::CheckInvariants(std::string_view discussion) const {
  RETURN_IF_ERROR(CheckDiscussion(discussion));
  ASSIGN_OR_RETURN(std::vector<std::string> wrong, storage_->CheckDocuments(discussion));
  PageRequest everything;
  everything.limit = INT32_MAX;
  ASSIGN_OR_RETURN(DiscussionPage list, storage_->Chronological(discussion, everything));
  std::set<std::string> slugs;
  for (const DiscussionComment& comment : list.comments) {
    if (!slugs.insert(comment.slug).second) {
      wrong.push_back("slug twice: " + comment.slug);
    }
  }
  for (const std::string& slug : slugs) {
    const size_t cut = slug.rfind('/');
    if (cut != std::string::npos && !slugs.contains(slug.substr(0, cut))) {
      wrong.push_back("without what it replies to: " + slug);
    }
  }
  return wrong;
}

}  // namespace quire::patterns
