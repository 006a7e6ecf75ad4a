// SPDX-License-Identifier: Apache-2.0
//
// What the sources of content management share.
#pragma once

#include <optional>
#include <string_view>

#include "patterns/doc.h"
#include "quire/patterns/cms.h"

namespace quire::patterns {

inline constexpr char kCmsNodes[] = "cms.nodes";
inline constexpr char kCmsFiles[] = "cms.assets.files";
inline constexpr char kCmsChunks[] = "cms.assets.chunks";
inline constexpr char kPhotoType[] = "photo";

// Filters of a node, and of one version of it.
bson::Document NodeAt(std::string_view section, std::string_view slug);
bson::Document NodeVersion(std::string_view section, std::string_view slug,
                           const bson::ObjectId& nonce);

// What tells one call with a node from another with its key.
bson::Document NodeArguments(const Node& node);

// InvalidName when the node has no section or no slug.
Status CheckPlace(const Node& node);

// Whether the node was made by that call: the claim's id is its _id.
bool IsOf(const std::optional<bson::Document>& node, const Claim& claim);

// Why an edit that names a version did not find it: NotFound, or ConflictError with what is stored.
Status EditRefusal(const std::optional<bson::Document>& stored, std::string_view slug);

}  // namespace quire::patterns
