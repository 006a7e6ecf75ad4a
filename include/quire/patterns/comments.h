// SPDX-License-Identifier: Apache-2.0
//
// Discussions below anything: chronological or threaded, with permalinks. One interface, three ways
// to store them that give the same answers.
//
//   patterns::Comments comments(client, "site", {.design = patterns::CommentDesign::kPages});
//   comments.CreateIndexes();
//   comments.CreateDiscussion("article-7");
//   auto slug = comments.Post("article-7", {.author = {"a1", "Ann"}, .text = "First!"});
//   comments.Post("article-7", {.author = {"b1", "Bob"}, .text = "No.", .parent = *slug});
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/cms.h"
#include "quire/patterns/idempotency.h"
#include "quire/patterns/page.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

enum class CommentDesign {
  kDocuments,  // one document per comment
  kArray,      // all in the discussion's document, one after the other
  kTree,       // all in the discussion's document, replies inside what they reply to
  kPages,      // a document per so many comments
};

struct CommentsOptions {
  CommentDesign design = CommentDesign::kPages;
  int32_t page_size = 100;  // comments in a document of kPages
  // kPages: documents may exceed page_size by as many comments as are posted at once, with one
  // write less at their edges.
  bool soft_pages = false;
  // kPages: comment_pages is sharded by its key. The index of slugs cannot be unique then; a slug
  // is one of 36^8, and those of a repeated call are looked for.
  bool sharded = false;
  int32_t max_depth = 32;       // levels of replies; kTree has at most 32
  size_t max_text = 64 * 1024;  // bytes
  bool reply_to_deleted = true;
  std::chrono::milliseconds lease = std::chrono::minutes(5);  // of the job
  std::string worker = "worker";  // a name of its own for every process that runs it
  Concerns concerns = {};
  Seams seams = {};
};

struct DiscussionComment {
  std::string slug;       // its permalink: parts joined by "/", its parents' first
  std::string full_slug;  // the same with times: sorts as a depth-first walk
  bson::Date posted;
  Author author;  // empty, like the text, once it was removed
  std::string text;
  bool deleted = false;
};

struct DiscussionPage {
  std::vector<DiscussionComment> comments;
  std::string next;  // empty: this was the last page
};

struct NewComment {
  Author author{};
  std::string text{};
  std::string parent{};  // the slug it replies to; empty: none
};

enum class CommentOrder { kChronological, kThreaded };

class CommentStorage;

// Documents: discussions {_id, comments: [...] (kArray) | count, replies: [{..., replies: [...]}]
// (kTree) | num_pages, comment_count (kPages)};
// comments {_id, discussion_id, parent_id, slug, full_slug, posted, author, text, deleted, call};
// comment_pages {_id, discussion_id, page, count, comments: [...]}; idempotency; jobs. Every call
// but CreateDiscussion may return NoSuchDiscussion. Safe for concurrent use.
class Comments {
 public:
  Comments(const Client& client, std::string_view database, CommentsOptions options = {});
  Comments(Comments&&) noexcept;
  Comments& operator=(Comments&&) noexcept;
  ~Comments();

  std::vector<IndexSpec> Indexes() const;
  std::vector<ShardKeySpec> ShardKeys() const;
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes());
  }

  // Ok when there is one already: it can be repeated as it is.
  Status CreateDiscussion(std::string_view id) const;

  // The new comment's slug. Errors: NoSuchComment, ParentDeleted (of the parent), TooDeep,
  // TextTooLong; DocumentTooLarge (kArray, kTree: the discussion is full).
  Result<std::string> Post(std::string_view discussion, const NewComment& comment,
                           const CallKey& key = std::nullopt) const;
  // The comment stays in its place, without text and author. Error: NoSuchComment.
  Status Remove(std::string_view discussion, std::string_view slug,
                const CallKey& key = std::nullopt) const;

  // Error: BadCursor.
  Result<DiscussionPage> GetPage(std::string_view discussion, CommentOrder order,
                                 const PageRequest& page = {}) const;
  // Chronological, from position `skip` on.
  Result<std::vector<DiscussionComment>> GetFrom(std::string_view discussion, int64_t skip,
                                                 int64_t limit) const;
  // Error: NoSuchComment.
  Result<DiscussionComment> Get(std::string_view discussion, std::string_view slug) const;
  Result<DiscussionComment> GetAt(std::string_view discussion, int64_t position) const;
  // The comment and everything below it, threaded. Errors: NoSuchComment, BadCursor.
  Result<DiscussionPage> Subtree(std::string_view discussion, std::string_view slug,
                                 const PageRequest& page = {}) const;
  // Removed ones included. With kPages a cached number.
  Result<int64_t> Count(std::string_view discussion) const;

  // Computes the cached number anew.
  Status Recount(std::string_view discussion) const;
  // Recount for all discussions, `batch` at a time; skipped is 1, and nothing was done, while
  // another worker does.
  Result<JobReport> RecountAll(int64_t batch = 100) const;
  // Forgets keys of calls made `retention` ago. skipped is 1 while another worker does.
  Result<JobReport> PurgeKeys(std::chrono::milliseconds retention = std::chrono::hours(24)) const {
    return calls_.Purge({retention, options_.worker, options_.lease});
  }

  // What is wrong with a discussion, a line each: slugs twice, comments without what they reply to,
  // pages with gaps, not full, or with a wrong count.
  Result<std::vector<std::string>> CheckInvariants(std::string_view discussion) const;

 private:
  Status CheckDiscussion(std::string_view discussion) const;
  Result<bson::Document> PostOnce(std::string_view discussion, const NewComment& comment,
                                  const Claim& claim) const;

  CommentsOptions options_;
  Store store_;
  Idempotency calls_;
  std::unique_ptr<CommentStorage> storage_;
};

}  // namespace quire::patterns
