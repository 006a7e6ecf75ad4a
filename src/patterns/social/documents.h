// SPDX-License-Identifier: Apache-2.0
//
// What the sources of the social network share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "patterns/doc.h"
#include "quire/patterns/social.h"

namespace quire::patterns {

inline constexpr char kSocialUsers[] = "social.user";
inline constexpr char kSocialPosts[] = "social.post";
inline constexpr char kSocialWall[] = "social.wall";
inline constexpr char kSocialNews[] = "social.news";
inline constexpr int64_t kShownComments = 3;
inline constexpr size_t kMaxName = 256;  // bytes of a user's name and of a comment's id

// InvalidName when it is empty or longer than kMaxName.
Status CheckShort(std::string_view name);

// The names of a document's fields, decoded; empty when it is none.
std::vector<std::string> NamesIn(const bson::Value& document);
std::vector<std::string> TextsIn(const bson::Value& array);
// The field path of a name that was checked before.
std::string NamePath(std::string_view name);

// The names that the user put in a circle; in any, with "".
std::vector<std::string> MembersOf(bson::View user, std::string_view circle);
bool Blocks(bson::View user, std::string_view other);

Comment CommentOf(bson::View document);
// {comments, comments_shown, comments_total} as feeds show them, of a post's record.
bson::Document PreviewOf(bson::View post);

}  // namespace quire::patterns
