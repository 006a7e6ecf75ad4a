// SPDX-License-Identifier: Apache-2.0
//
// Discussions in every design, for their tests.
#pragma once

#include "patterns/testing/places.h"
#include "quire/patterns/comments.h"

namespace quire::patterns {

inline constexpr CommentDesign kCommentDesigns[] = {
    CommentDesign::kDocuments, CommentDesign::kArray, CommentDesign::kTree, CommentDesign::kPages};

inline Comments CommentsOf(World* world, CommentDesign design, const Seams& seams,
                           bool soft = false) {
  return Comments(world->client, world->database,
                  {.design = design,
                   .page_size = 3,
                   .soft_pages = soft,
                   .max_depth = 4,
                   .max_text = 100,
                   .seams = seams});
}
inline Comments CommentsOf(World* world, CommentDesign design) {
  return CommentsOf(world, design, world->seams());
}

inline void OpenDiscussion(World* world, CommentDesign design) {
  Comments comments = CommentsOf(world, design);
  ASSERT_TRUE(comments.CreateIndexes().ok());
  ASSERT_TRUE(comments.CreateDiscussion("d").ok());
  ASSERT_TRUE(comments.CreateDiscussion("d").ok());
}

}  // namespace quire::patterns
