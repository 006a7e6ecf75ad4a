// SPDX-License-Identifier: Apache-2.0
//
// All comments of a discussion in its document.
#include <algorithm>
#include <utility>

#include "base/try.h"
#include "patterns/comments/storage.h"
#include "patterns/doc.h"

namespace quire::patterns {

namespace {

using bson::Document;

std::vector<DiscussionComment> CommentsOf(const std::optional<Document>& document) {
  std::vector<DiscussionComment> comments;
  if (document && (*document)["comments"].is_array()) {
    for (const bson::Element& comment : (*document)["comments"].AsArray()) {
      comments.push_back(FromDocument(comment.value().AsDocument()).comment);
    }
  }
  return comments;
}

// A removed comment keeps its place, so positions are stable.
class CommentArray : public CommentStorage {
 public:
  explicit CommentArray(Store store) : store_(std::move(store)) {}

  std::vector<IndexSpec> Indexes() const override { return {}; }
  std::vector<ShardKeySpec> ShardKeys() const override { return {}; }
  Document NewDiscussion() const override { return Doc("comments", List()); }

  Result<bool> Add(std::string_view discussion, const StoredComment& comment) const override {
    ASSIGN_OR_RETURN(
        int64_t pushed,
        store_.UpdateOne(kDiscussions,
                         Doc("_id", discussion, "comments.slug", Doc("$ne", comment.comment.slug)),
                         Doc("$push", Doc("comments", ToDocument(comment)))));
    RETURN_IF_ERROR(store_.seams().After("comments.post.c1"));
    return pushed == 1;
  }

  Result<std::optional<StoredComment>> Find(std::string_view discussion,
                                            std::string_view slug) const override {
    return FindEmbedded(store_, kDiscussions, Doc("_id", discussion, "comments.slug", slug));
  }

  Result<bool> Bury(std::string_view discussion, std::string_view slug) const override {
    ASSIGN_OR_RETURN(int64_t matched,
                     store_.UpdateOne(kDiscussions, Doc("_id", discussion, "comments.slug", slug),
                                      Tombstone("comments.$.")));
    return matched == 1;
  }

  Result<std::vector<DiscussionComment>> From(std::string_view discussion, int64_t skip,
                                              int64_t limit) const override {
    const Document slice =
        Doc("$slice", List(static_cast<int32_t>(std::min<int64_t>(skip, INT32_MAX)),
                           static_cast<int32_t>(std::min<int64_t>(limit, INT32_MAX))));
    ASSIGN_OR_RETURN(auto found, store_.FindOne(kDiscussions, Doc("_id", discussion),
                                                {.projection = Doc("comments", slice)}));
    return CommentsOf(found);
  }

  Result<DiscussionPage> Threaded(std::string_view discussion, const std::string& top,
                                  const PageRequest& page) const override {
    ASSIGN_OR_RETURN(auto found, store_.FindOne(kDiscussions, Doc("_id", discussion)));
    return ThreadedPage(CommentsOf(found), top, page);
  }

  Result<int64_t> Count(std::string_view discussion) const override {
    ASSIGN_OR_RETURN(
        auto counted,
        store_.Aggregate(kDiscussions, {Doc("$match", Doc("_id", discussion)),
                                        Doc("$project", Doc("n", Doc("$size", "$comments")))}));
    return counted.empty() ? 0 : IntegerAt(counted.front(), "n");
  }

 private:
  Store store_;
};

}  // namespace

std::unique_ptr<CommentStorage> MakeCommentArray(const Store& store) {
  return std::make_unique<CommentArray>(store);
}

}  // namespace quire::patterns
