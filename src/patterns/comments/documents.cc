// SPDX-License-Identifier: Apache-2.0
//
// One document per comment.
#include <utility>

#include "base/try.h"
#include "patterns/comments/storage.h"
#include "patterns/doc.h"
#include "patterns/keyset.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kComments[] = "comments";

DiscussionPage PageOf(const Page& page) {
  DiscussionPage result;
  for (const Document& document : page.documents) {
    result.comments.push_back(FromDocument(document).comment);
  }
  result.next = page.next;
  return result;
}

class CommentDocuments : public CommentStorage {
 public:
  explicit CommentDocuments(Store store) : store_(std::move(store)) {}

  std::vector<IndexSpec> Indexes() const override {
    return {{kComments, R"({"discussion_id": 1, "slug": 1})", true},
            {kComments, R"({"discussion_id": 1, "posted": 1, "_id": 1})"},
            {kComments, R"({"discussion_id": 1, "full_slug": 1})"}};
  }
  std::vector<ShardKeySpec> ShardKeys() const override {
    return {{kComments, R"({"discussion_id": 1, "slug": 1})"}};
  }
  Document NewDiscussion() const override { return {}; }

  Result<bool> Add(std::string_view discussion, const StoredComment& comment) const override {
    const std::string& slug = comment.comment.slug;
    const size_t cut = slug.rfind('/');
    const Document fields = ToDocument(comment);
    bson::Builder document;
    document.Append("_id", store_.seams().ids->Next()).Append("discussion_id", discussion);
    if (cut == std::string::npos) {
      document.AppendNull("parent_id");
    } else {
      document.Append("parent_id", std::string_view(slug).substr(0, cut));
    }
    Status inserted = store_.Insert(kComments, document.AppendFields(fields).Finish());
    if (IsDuplicateKey(inserted)) {
      return false;
    }
    RETURN_IF_ERROR(inserted);
    RETURN_IF_ERROR(store_.seams().After("comments.post.c1"));
    return true;
  }

  Result<std::optional<StoredComment>> Find(std::string_view discussion,
                                            std::string_view slug) const override {
    ASSIGN_OR_RETURN(auto found,
                     store_.FindOne(kComments, Doc("discussion_id", discussion, "slug", slug)));
    return found ? std::optional<StoredComment>(FromDocument(*found)) : std::nullopt;
  }

  Result<bool> Bury(std::string_view discussion, std::string_view slug) const override {
    ASSIGN_OR_RETURN(
        int64_t matched,
        store_.UpdateOne(kComments, Doc("discussion_id", discussion, "slug", slug), Tombstone("")));
    return matched == 1;
  }

  Result<DiscussionPage> Chronological(std::string_view discussion,
                                       const PageRequest& page) const override {
    ASSIGN_OR_RETURN(Page found, FindPage(store_, kComments, Doc("discussion_id", discussion),
                                          Doc("posted", 1, "_id", 1), page));
    return PageOf(found);
  }

  Result<std::vector<DiscussionComment>> From(std::string_view discussion, int64_t skip,
                                              int64_t limit) const override {
    ASSIGN_OR_RETURN(
        auto found,
        store_.Find(kComments, Doc("discussion_id", discussion),
                    {.sort = Doc("posted", 1, "_id", 1), .skip = skip, .limit = limit}));
    return PageOf({std::move(found), ""}).comments;
  }

  // "0" is the character after "/": nothing else begins with `top` and a part's fixed width.
  Result<DiscussionPage> Threaded(std::string_view discussion, const std::string& top,
                                  const PageRequest& page) const override {
    Document filter = Doc("discussion_id", discussion);
    if (!top.empty()) {
      filter = Doc("discussion_id", discussion, "full_slug", Doc("$gte", top, "$lt", top + "0"));
    }
    ASSIGN_OR_RETURN(Page found, FindPage(store_, kComments, filter, Doc("full_slug", 1), page));
    return PageOf(found);
  }

  Result<int64_t> Count(std::string_view discussion) const override {
    return store_.Count(kComments, Doc("discussion_id", discussion));
  }

 private:
  Store store_;
};

}  // namespace

std::unique_ptr<CommentStorage> MakeCommentDocuments(const Store& store) {
  return std::make_unique<CommentDocuments>(store);
}

}  // namespace quire::patterns
