// SPDX-License-Identifier: Apache-2.0
//
// Comments in documents of so many each: pages are filled one after the other.
#include <algorithm>
#include <utility>

#include "base/try.h"
#include "patterns/comments/storage.h"
#include "patterns/doc.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kPages[] = "comment_pages";
constexpr int kAttempts = 1000;  // each is a page that others filled meanwhile

void AppendTo(const Document& page, std::vector<DiscussionComment>* comments) {
  for (const bson::Element& comment : page["comments"].AsArray()) {
    comments->push_back(FromDocument(comment.value().AsDocument()).comment);
  }
}

class CommentPages : public CommentStorage {
 public:
  CommentPages(Store store, const CommentsOptions& options)
      : store_(std::move(store)),
        size_(options.page_size),
        soft_(options.soft_pages),
        unique_slugs_(!options.sharded) {}

  std::vector<IndexSpec> Indexes() const override {
    return {{kPages, R"({"discussion_id": 1, "page": 1})", true},
            {kPages, R"({"discussion_id": 1, "comments.slug": 1})", unique_slugs_}};
  }
  std::vector<ShardKeySpec> ShardKeys() const override {
    return {{kPages, R"({"discussion_id": 1, "page": 1})"}};
  }
  Document NewDiscussion() const override {
    return Doc("num_pages", 1, "comment_count", int64_t{0});
  }

  // A page that refuses the comment is full, or was just made by another; or the comment is there.
  Result<bool> Add(std::string_view discussion, const StoredComment& comment) const override {
    const std::string& slug = comment.comment.slug;
    const Document update =
        Doc("$inc", Doc("count", 1), "$push", Doc("comments", ToDocument(comment)));
    ASSIGN_OR_RETURN(int32_t page, Hint(discussion));
    for (int i = 0; i < kAttempts; ++i) {
      auto stored = store_.FindAndUpdate(kPages, Open(discussion, page, slug), update, true);
      if (stored.ok()) {
        RETURN_IF_ERROR(store_.seams().After("comments.post.c1"));
        RETURN_IF_ERROR(Counted(discussion, page, IntegerAt(**stored, "count")));
        return true;
      }
      if (!IsDuplicateKey(stored.status())) {
        return stored.status();
      }
      ASSIGN_OR_RETURN(auto held, Find(discussion, slug));
      if (held) {
        return false;
      }
      ASSIGN_OR_RETURN(auto full, store_.FindOne(kPages,
                                                 Doc("discussion_id", discussion, "page", page,
                                                     "count", Doc("$gte", size_)),
                                                 {.projection = Doc("_id", 1)}));
      if (full) {
        RETURN_IF_ERROR(Advance(discussion, page));
        page += 1;
      }
    }
    return MakeError(Error::kContention, slug);
  }

  Result<std::optional<StoredComment>> Find(std::string_view discussion,
                                            std::string_view slug) const override {
    return FindEmbedded(store_, kPages, Doc("discussion_id", discussion, "comments.slug", slug));
  }

  Result<bool> Bury(std::string_view discussion, std::string_view slug) const override {
    ASSIGN_OR_RETURN(
        int64_t matched,
        store_.UpdateOne(kPages, Doc("discussion_id", discussion, "comments.slug", slug),
                         Tombstone("comments.$.")));
    return matched == 1;
  }

  // Pages may have been filled to another size than this. One that is shorter and is followed by
  // another was read too early, or is of such a size: it is read to its end again before the next.
  Result<DiscussionPage> Chronological(std::string_view discussion,
                                       const PageRequest& page) const override {
    int64_t at = 1;
    int64_t index = 0;
    if (!page.after.empty()) {
      ASSIGN_OR_RETURN(Document end, DecodePageEnd(page.after, {"page", "index"}));
      ASSIGN_OR_RETURN(at, PlaceIn(end, "page", 1));
      ASSIGN_OR_RETURN(index, PlaceIn(end, "index", 0));
    }
    DiscussionPage result;
    bool followed = false;  // another page comes after this one
    while (static_cast<int64_t>(result.comments.size()) < page.limit) {
      const int64_t room = page.limit - static_cast<int64_t>(result.comments.size());
      ASSIGN_OR_RETURN(auto found, Slice(discussion, at, index, room));
      if (!found) {
        return result;
      }
      AppendTo(*found, &result.comments);
      const auto taken = static_cast<int64_t>((*found)["comments"].AsArray().Count());
      const int64_t count = IntegerAt(*found, "count");
      index += taken;
      const bool at_end = taken < room || index == count;
      if (at_end && (followed || count >= size_)) {
        at += 1;
        index = 0;
        followed = false;
      } else if (taken < room) {
        ASSIGN_OR_RETURN(followed, Exists(discussion, at + 1));
        if (!followed) {
          return result;
        }
      }
    }
    result.next = EncodePageEnd(Doc("page", at, "index", index));
    return result;
  }

  // Whole pages are passed by their counts.
  Result<std::vector<DiscussionComment>> From(std::string_view discussion, int64_t skip,
                                              int64_t limit) const override {
    ASSIGN_OR_RETURN(auto pages, store_.Find(kPages, Doc("discussion_id", discussion),
                                             {.projection = Doc("page", 1, "count", 1),
                                              .sort = Doc("page", 1)}));
    std::vector<DiscussionComment> comments;
    for (const Document& page : pages) {
      const int64_t room = limit - static_cast<int64_t>(comments.size());
      const int64_t count = IntegerAt(page, "count");
      if (skip >= count) {
        skip -= count;
        continue;
      }
      if (room <= 0) {
        break;
      }
      ASSIGN_OR_RETURN(auto found, Slice(discussion, IntegerAt(page, "page"), skip, room));
      if (found) {
        AppendTo(*found, &comments);
      }
      skip = 0;
    }
    return comments;
  }

  Result<DiscussionPage> Threaded(std::string_view discussion, const std::string& top,
                                  const PageRequest& page) const override {
    ASSIGN_OR_RETURN(auto pages, store_.Find(kPages, Doc("discussion_id", discussion),
                                             {.sort = Doc("page", 1)}));
    std::vector<DiscussionComment> all;
    for (const Document& one : pages) {
      AppendTo(one, &all);
    }
    return ThreadedPage(std::move(all), top, page);
  }

  Result<int64_t> Count(std::string_view discussion) const override {
    ASSIGN_OR_RETURN(auto found, store_.FindOne(kDiscussions, Doc("_id", discussion)));
    return found ? IntegerAt(*found, "comment_count") : 0;
  }

  // Guarded by the number it replaces: a comment posted meanwhile makes it count again.
  Result<bool> Recount(std::string_view discussion) const override {
    for (int i = 0; i < kAttempts; ++i) {
      ASSIGN_OR_RETURN(int64_t cached, Count(discussion));
      ASSIGN_OR_RETURN(auto sums,
                       store_.Aggregate(kPages, {Doc("$match", Doc("discussion_id", discussion)),
                                                 Doc("$group", Doc("_id", bson::Value::Null(), "n",
                                                                   Doc("$sum", "$count")))}));
      const int64_t counted = sums.empty() ? 0 : IntegerAt(sums.front(), "n");
      ASSIGN_OR_RETURN(
          int64_t written,
          store_.UpdateOne(kDiscussions, Doc("_id", discussion, "comment_count", cached),
                           Doc("$set", Doc("comment_count", counted))));
      if (written == 1) {
        RETURN_IF_ERROR(store_.seams().After("comments.recount.c1"));
        return counted != cached;
      }
    }
    return MakeError(Error::kContention, discussion);
  }

  // Pages come one after the other, each full before the next, and count what they hold.
  Result<std::vector<std::string>> CheckDocuments(std::string_view discussion) const override {
    std::vector<std::string> wrong;
    ASSIGN_OR_RETURN(auto pages, store_.Find(kPages, Doc("discussion_id", discussion),
                                             {.sort = Doc("page", 1)}));
    for (size_t i = 0; i < pages.size(); ++i) {
      const std::string name = "page " + std::to_string(IntegerAt(pages[i], "page"));
      const int64_t count = IntegerAt(pages[i], "count");
      if (IntegerAt(pages[i], "page") != static_cast<int64_t>(i) + 1) {
        wrong.push_back("a gap before " + name);
      }
      if (count != static_cast<int64_t>(pages[i]["comments"].AsArray().Count())) {
        wrong.push_back("the count of " + name);
      }
      if ((i + 1 < pages.size() && count < size_) || (!soft_ && count > size_)) {
        wrong.push_back("the size of " + name);
      }
    }
    return wrong;
  }

 private:
  Document Open(std::string_view discussion, int32_t page, const std::string& slug) const {
    bson::Builder filter;
    filter.Append("discussion_id", discussion).Append("page", page);
    if (!soft_) {
      filter.Append("count", Doc("$lt", size_));
    }
    filter.Append("comments.slug", Doc("$ne", slug));
    return filter.Finish();
  }

  Result<bool> Exists(std::string_view discussion, int64_t page) const {
    ASSIGN_OR_RETURN(auto found,
                     store_.FindOne(kPages, Doc("discussion_id", discussion, "page", page),
                                    {.projection = Doc("_id", 1)}));
    return found.has_value();
  }

  Result<int32_t> Hint(std::string_view discussion) const {
    ASSIGN_OR_RETURN(auto found, store_.FindOne(kDiscussions, Doc("_id", discussion)));
    return found ? static_cast<int32_t>(IntegerAt(*found, "num_pages")) : 1;
  }

  Status Advance(std::string_view discussion, int32_t page) const {
    RETURN_IF_ERROR(store_
                        .UpdateOne(kDiscussions, Doc("_id", discussion, "num_pages", page),
                                   Doc("$inc", Doc("num_pages", 1)))
                        .status());
    return store_.seams().After("comments.next_page.c1");
  }

  Status Counted(std::string_view discussion, int32_t page, int64_t count) const {
    RETURN_IF_ERROR(store_
                        .UpdateOne(kDiscussions, Doc("_id", discussion),
                                   Doc("$inc", Doc("comment_count", int64_t{1})))
                        .status());
    RETURN_IF_ERROR(store_.seams().After("comments.post.c2"));
    return soft_ && count >= size_ ? Advance(discussion, page) : Status::Ok();
  }

  Result<std::optional<Document>> Slice(std::string_view discussion, int64_t page, int64_t index,
                                        int64_t limit) const {
    const Document slice =
        Doc("$slice", List(static_cast<int32_t>(index),
                           static_cast<int32_t>(std::min<int64_t>(limit, INT32_MAX))));
    return store_.FindOne(kPages, Doc("discussion_id", discussion, "page", page),
                          {.projection = Doc("comments", slice)});
  }

  Store store_;
  int32_t size_;
  bool soft_;
  bool unique_slugs_;
};

}  // namespace

std::unique_ptr<CommentStorage> MakeCommentPages(const Store& store,
                                                 const CommentsOptions& options) {
  return std::make_unique<CommentPages>(store, options);
}

}  // namespace quire::patterns
