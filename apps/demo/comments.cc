// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/comments.h"

#include "base/try.h"
#include "demo/demos.h"
#include "quire/doc.h"

namespace quire::apps {
namespace {

using patterns::CommentDesign;
using patterns::CommentOrder;
using patterns::Comments;

constexpr int64_t kComments = 100;  // of a discussion, at the start
constexpr int64_t kPage = 25;

struct Design {
  const char* name;
  CommentDesign design;
  const char* collection;  // that a discussion is read from
  const char* field;       // that names the discussion there
};
constexpr Design kDesigns[] = {
    {"documents", CommentDesign::kDocuments, "comments", "discussion_id"},
    {"array", CommentDesign::kArray, "discussions", "_id"},
    {"tree", CommentDesign::kTree, "discussions", "_id"},
    {"pages", CommentDesign::kPages, "comment_pages", "discussion_id"},
};

std::string DiscussionOf(int64_t i) { return Numbered("article", i); }

Status PostOne(const Comments& comments, const std::string& discussion) {
  return comments.Post(discussion, {.author = {"a1", "Ann"}, .text = std::string(200, 'x')})
      .status();
}

// Answers the first comment.
Status ReplyOne(const Comments& comments, const std::string& discussion) {
  ASSIGN_OR_RETURN(auto first, comments.GetAt(discussion, 0));
  return comments
      .Post(discussion,
            {.author = {"b1", "Bob"}, .text = std::string(100, 'y'), .parent = first.slug})
      .status();
}

std::vector<Step> Steps(const DesignRun& run, const Comments& comments) {
  auto any = [&run](Worker& w) { return DiscussionOf(w.chance.Skewed(run.size())); };
  return {
      {"post", 15, [&comments, any](Worker& w) { return PostOne(comments, any(w)); }},
      {"reply", 5, [&comments, any](Worker& w) { return ReplyOne(comments, any(w)); }},
      {"first page", 40,
       [&comments, any](Worker& w) {
         return comments.GetPage(any(w), CommentOrder::kChronological, {.limit = kPage}).status();
       }},
      {"threaded page", 20,
       [&comments, any](Worker& w) {
         return comments.GetPage(any(w), CommentOrder::kThreaded, {.limit = kPage}).status();
       }},
      {"comment at", 20,
       [&comments, any](Worker& w) {
         return comments.GetAt(any(w), w.chance.Below(kComments)).status();
       }},
  };
}

// How many comments each discussion has.
Result<std::string> Holdings(const DesignRun& run, const Comments& comments) {
  std::string all;
  for (int64_t i = 0; i < run.size(); ++i) {
    ASSIGN_OR_RETURN(
        int64_t count,
        CountPages([&](const patterns::PageRequest& request, std::string* next) -> Result<size_t> {
          ASSIGN_OR_RETURN(auto page,
                           comments.GetPage(DiscussionOf(i), CommentOrder::kThreaded, request));
          *next = page.next;
          return page.comments.size();
        }));
    all += std::to_string(count) + " ";
  }
  return all;
}

Status RunDesign(DesignRun* run, const Design& row) {
  Comments comments(run->client(), run->database(), {.design = row.design});
  RETURN_IF_ERROR(comments.CreateIndexes());
  RETURN_IF_ERROR(run->Load("discussions", run->size(),
                            [&](int64_t i) { return comments.CreateDiscussion(DiscussionOf(i)); }));
  RETURN_IF_ERROR(run->Load("comments", run->size() * kComments, [&](int64_t i) {
    return PostOne(comments, DiscussionOf(i % run->size()));
  }));
  RETURN_IF_ERROR(run->Work(Steps(*run, comments)));
  RETURN_IF_ERROR(run->Explain("a discussion", row.collection, Doc(row.field, DiscussionOf(0))));
  ASSIGN_OR_RETURN(std::string mine, Holdings(*run, comments));
  ASSIGN_OR_RETURN(std::vector<std::string> missing, comments.MissingIndexes());
  run->Check("every declared index exists", missing);
  run->CheckAlike("no comment is lost: as many as with documents", mine);
  std::vector<std::string> wrong;
  for (int64_t i = 0; i < run->size() && wrong.empty(); ++i) {
    ASSIGN_OR_RETURN(wrong, comments.CheckInvariants(DiscussionOf(i)));
  }
  run->Check("slugs are unique, replies have their parents, pages are full", wrong);
  return Status::Ok();
}

}  // namespace

Status DemoComments(DemoRun* run) { return run->Designs(kDesigns, RunDesign); }

}  // namespace quire::apps
