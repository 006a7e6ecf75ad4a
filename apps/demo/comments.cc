// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/comments.h"

#include "base/try.h"
#include "demo/demos.h"
#include "patterns/doc.h"

namespace quire::apps {
namespace {

using patterns::CommentDesign;
using patterns::CommentOrder;
using patterns::Comments;
using patterns::Doc;

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
    int64_t count = 0;
    patterns::PageRequest request{.limit = 1000};
    do {
      ASSIGN_OR_RETURN(auto page,
                       comments.GetPage(DiscussionOf(i), CommentOrder::kThreaded, request));
      count += static_cast<int64_t>(page.comments.size());
      request.after = page.next;
    } while (!request.after.empty());
    all += std::to_string(count) + " ";
  }
  return all;
}

Status RunDesign(DesignRun* run, const Design& row, bool compare, std::string* holdings) {
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
  if (holdings->empty()) {
    *holdings = mine;
  } else if (compare) {
    run->Check("no comment is lost: as many as with documents", mine == *holdings);
  }
  return Status::Ok();
}

}  // namespace

Status DemoComments(DemoRun* run) {
  std::string holdings;
  for (const Design& row : kDesigns) {
    RETURN_IF_ERROR(run->Design(row.name, [&](DesignRun* design) {
      return RunDesign(design, row, run->settings().seconds == 0, &holdings);
    }));
  }
  return Status::Ok();
}

}  // namespace quire::apps
