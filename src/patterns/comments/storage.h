// SPDX-License-Identifier: Apache-2.0
//
// Where the comments of a discussion are: the three designs behind one interface.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/comments.h"

namespace quire::patterns {

inline constexpr char kDiscussions[] = "discussions";

// A comment on its way in or out, with the call that posted it.
struct StoredComment {
  DiscussionComment comment;
  bson::ObjectId call;
};

// {slug, full_slug, posted, author, text, deleted, call}, and back.
bson::Document ToDocument(const StoredComment& stored);
StoredComment FromDocument(bson::View document);
// The comment of the array `comments` that the filter names by its slug.
Result<std::optional<StoredComment>> FindEmbedded(const Store& store, std::string_view collection,
                                                  const bson::Document& filter);
// What removal sets, each field below `prefix`.
bson::Document Tombstone(const std::string& prefix);

// REQUIRES of every call: the discussion exists. Safe for concurrent use.
class CommentStorage {
 public:
  virtual ~CommentStorage() = default;
  virtual std::vector<IndexSpec> Indexes() const = 0;
  virtual std::vector<ShardKeySpec> ShardKeys() const = 0;
  // The fields of a new discussion but its _id.
  virtual bson::Document NewDiscussion() const = 0;
  // False: the slug is taken, nothing was stored.
  virtual Result<bool> Add(std::string_view discussion, const StoredComment& comment) const = 0;
  virtual Result<std::optional<StoredComment>> Find(std::string_view discussion,
                                                    std::string_view slug) const = 0;
  // Whether there was one to remove.
  virtual Result<bool> Bury(std::string_view discussion, std::string_view slug) const = 0;
  // By positions, unless a design has something better.
  virtual Result<DiscussionPage> Chronological(std::string_view discussion,
                                               const PageRequest& page) const;
  virtual Result<std::vector<DiscussionComment>> From(std::string_view discussion, int64_t skip,
                                                      int64_t limit) const = 0;
  // The comment whose full_slug is `top` and those below it, by full_slug; all when it is empty.
  virtual Result<DiscussionPage> Threaded(std::string_view discussion, const std::string& top,
                                          const PageRequest& page) const = 0;
  virtual Result<int64_t> Count(std::string_view discussion) const = 0;
  // Computes what is cached of the discussion anew: whether it was another. Most cache nothing.
  virtual Result<bool> Recount(std::string_view /*discussion*/) const { return false; }
  // What is wrong with the documents of this design; nothing can be unless it says so.
  virtual Result<std::vector<std::string>> CheckDocuments(std::string_view /*discussion*/) const {
    return std::vector<std::string>();
  }
};

std::unique_ptr<CommentStorage> MakeCommentDocuments(const Store& store);
std::unique_ptr<CommentStorage> MakeCommentArray(const Store& store);
std::unique_ptr<CommentStorage> MakeCommentTree(const Store& store);
std::unique_ptr<CommentStorage> MakeCommentPages(const Store& store,
                                                 const CommentsOptions& options);

// A page of Threaded out of all comments of a discussion.
Result<DiscussionPage> ThreadedPage(std::vector<DiscussionComment> all, const std::string& top,
                                    const PageRequest& page);

}  // namespace quire::patterns
