// SPDX-License-Identifier: Apache-2.0
//
// All comments of a discussion in its document, replies inside what they reply to. A removed
// comment keeps its place, so the way to a comment (the positions down to it) is stable.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/try.h"
#include "patterns/comments/storage.h"
#include "patterns/doc.h"

namespace quire::patterns {

namespace {

using bson::Document;

// A comment in its tree, and the field path of its document: "replies.3.replies.0".
struct Found {
  StoredComment stored;
  std::string path;
};

// The slug of what a comment replies to; "" when it replies to none.
std::string_view ParentOf(std::string_view slug) {
  const size_t cut = slug.rfind('/');
  return cut == std::string_view::npos ? std::string_view() : slug.substr(0, cut);
}

// Down the parts of the slug; nothing when a part is not there.
std::optional<Found> Walk(bson::View discussion, std::string_view slug) {
  bson::View at = discussion;
  std::string path;
  for (size_t end = 0; end != std::string_view::npos;) {
    end = slug.find('/', end == 0 ? 0 : end + 1);
    const std::string_view so_far = slug.substr(0, end);
    bool found = false;
    int position = 0;
    for (const bson::Element& reply : at["replies"].AsArray()) {
      if (TextAt(reply.value().AsDocument(), "slug") == so_far) {
        at = reply.value().AsDocument();
        path += (path.empty() ? "replies." : ".replies.") + std::to_string(position);
        found = true;
        break;
      }
      ++position;
    }
    if (!found) {
      return std::nullopt;
    }
  }
  return Found{FromDocument(at), path};
}

// What the chronological list is sorted by.
using Order = std::pair<int64_t, decltype(bson::ObjectId::bytes)>;
Order OrderOf(const StoredComment& stored) {
  return {stored.comment.posted.millis, stored.call.bytes};
}

void Collect(bson::View parent, std::vector<StoredComment>* comments) {
  for (const bson::Element& reply : parent["replies"].AsArray()) {
    comments->push_back(FromDocument(reply.value().AsDocument()));
    Collect(reply.value().AsDocument(), comments);
  }
}

Document WithReplies(const StoredComment& comment) {
  bson::Builder out;
  const Document fields = ToDocument(comment);
  out.AppendFields(fields);
  Put(&out, "replies", List());
  return out.Finish();
}

class CommentTree : public CommentStorage {
 public:
  explicit CommentTree(Store store) : store_(std::move(store)) {}

  std::vector<IndexSpec> Indexes() const override { return {}; }
  std::vector<ShardKeySpec> ShardKeys() const override { return {}; }
  Document NewDiscussion() const override { return Doc("count", int64_t{0}, "replies", List()); }

  // The guard: the parent is at the end of the way that was read, and has no reply of that slug.
  Result<bool> Add(std::string_view discussion, const StoredComment& comment) const override {
    const std::string& slug = comment.comment.slug;
    const std::string parent(ParentOf(slug));
    std::string path;
    bson::Builder filter;
    filter.Append("_id", discussion);
    if (!parent.empty()) {
      ASSIGN_OR_RETURN(auto above, Locate(discussion, parent));
      if (!above) {
        return MakeError(Error::kNoSuchComment, parent);
      }
      path = above->path + ".";
      filter.Append(path + "slug", parent);
    }
    filter.Append(path + "replies.slug", Doc("$ne", slug));
    ASSIGN_OR_RETURN(int64_t pushed,
                     store_.UpdateOne(kDiscussions, filter.Finish(),
                                      Doc("$push", Doc(path + "replies", WithReplies(comment)),
                                          "$inc", Doc("count", int64_t{1}))));
    RETURN_IF_ERROR(store_.seams().After("comments.post.c1"));
    return pushed == 1;
  }

  Result<std::optional<StoredComment>> Find(std::string_view discussion,
                                            std::string_view slug) const override {
    ASSIGN_OR_RETURN(auto found, Locate(discussion, slug));
    return found ? std::optional<StoredComment>(std::move(found->stored)) : std::nullopt;
  }

  Result<bool> Bury(std::string_view discussion, std::string_view slug) const override {
    ASSIGN_OR_RETURN(auto found, Locate(discussion, slug));
    if (!found) {
      return false;
    }
    ASSIGN_OR_RETURN(
        int64_t matched,
        store_.UpdateOne(kDiscussions, Doc("_id", discussion, found->path + ".slug", slug),
                         Tombstone(found->path + ".")));
    return matched == 1;
  }

  // By the place of the last one: a comment that comes late moves the positions of others.
  Result<DiscussionPage> Chronological(std::string_view discussion,
                                       const PageRequest& page) const override {
    ASSIGN_OR_RETURN(std::vector<StoredComment> all, InOrder(discussion));
    auto next = all.begin();
    if (!page.after.empty()) {
      ASSIGN_OR_RETURN(Document end, DecodePageEnd(page.after, {"posted", "call"}));
      if (end["posted"].type() != bson::Type::kDate ||
          end["call"].type() != bson::Type::kObjectId) {
        return MakeError(Error::kBadCursor, "of another list");
      }
      const Order last(end["posted"].AsDate().millis, end["call"].AsObjectId().bytes);
      next = std::find_if(next, all.end(),
                          [&](const StoredComment& one) { return OrderOf(one) > last; });
    }
    DiscussionPage result;
    for (; next != all.end() && static_cast<int64_t>(result.comments.size()) < page.limit; ++next) {
      result.comments.push_back(next->comment);
    }
    if (page.limit > 0 && static_cast<int64_t>(result.comments.size()) == page.limit) {
      const StoredComment& last = *std::prev(next);
      result.next = EncodePageEnd(Doc("posted", last.comment.posted, "call", last.call));
    }
    return result;
  }

  Result<std::vector<DiscussionComment>> From(std::string_view discussion, int64_t skip,
                                              int64_t limit) const override {
    ASSIGN_OR_RETURN(std::vector<StoredComment> all, InOrder(discussion));
    const auto size = static_cast<int64_t>(all.size());
    const int64_t first = std::min(skip, size);
    const int64_t end = first + std::min(limit, size - first);
    std::vector<DiscussionComment> comments;
    for (int64_t i = first; i < end; ++i) {
      comments.push_back(std::move(all[static_cast<size_t>(i)].comment));
    }
    return comments;
  }

  Result<DiscussionPage> Threaded(std::string_view discussion, const std::string& top,
                                  const PageRequest& page) const override {
    ASSIGN_OR_RETURN(std::vector<StoredComment> all, All(discussion));
    std::vector<DiscussionComment> comments;
    for (StoredComment& one : all) {
      comments.push_back(std::move(one.comment));
    }
    return ThreadedPage(std::move(comments), top, page);
  }

  Result<int64_t> Count(std::string_view discussion) const override {
    ASSIGN_OR_RETURN(auto found, store_.FindOne(kDiscussions, Doc("_id", discussion),
                                                {.projection = Doc("count", 1)}));
    return found ? IntegerAt(*found, "count") : 0;
  }

  // Every comment lies in what its slug says it replies to.
  Result<std::vector<std::string>> CheckDocuments(std::string_view discussion) const override {
    std::vector<std::string> wrong;
    ASSIGN_OR_RETURN(auto document, store_.FindOne(kDiscussions, Doc("_id", discussion)));
    std::vector<StoredComment> all;
    if (document) {
      Collect(*document, &all);
      for (const StoredComment& one : all) {
        if (!Walk(*document, one.comment.slug)) {
          wrong.push_back("in the wrong place: " + one.comment.slug);
        }
      }
      if (IntegerAt(*document, "count") != static_cast<int64_t>(all.size())) {
        wrong.push_back("the count of " + std::string(discussion));
      }
    }
    return wrong;
  }

 private:
  Result<std::optional<Found>> Locate(std::string_view discussion, std::string_view slug) const {
    ASSIGN_OR_RETURN(auto document, store_.FindOne(kDiscussions, Doc("_id", discussion)));
    return document ? Walk(*document, slug) : std::nullopt;
  }

  Result<std::vector<StoredComment>> InOrder(std::string_view discussion) const {
    ASSIGN_OR_RETURN(std::vector<StoredComment> all, All(discussion));
    std::sort(all.begin(), all.end(), [](const StoredComment& a, const StoredComment& b) {
      return OrderOf(a) < OrderOf(b);
    });
    return all;
  }

  Result<std::vector<StoredComment>> All(std::string_view discussion) const {
    ASSIGN_OR_RETURN(auto document, store_.FindOne(kDiscussions, Doc("_id", discussion)));
    std::vector<StoredComment> all;
    if (document) {
      Collect(*document, &all);
    }
    return all;
  }

  Store store_;
};

}  // namespace

std::unique_ptr<CommentStorage> MakeCommentTree(const Store& store) {
  return std::make_unique<CommentTree>(store);
}

}  // namespace quire::patterns
