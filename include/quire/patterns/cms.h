// SPDX-License-Identifier: Apache-2.0
//
// The content of a site: pages, blog entries and photos in one collection of nodes, the photos'
// bytes in GridFS.
//
//   patterns::Cms cms(client, "site");
//   cms.CreateIndexes();
//   auto nonce = cms.CreateNode({.section = "blog", .slug = "hello", .type = "blog-entry",
//                                .title = "Hello", .author = {"a1", "Ann"}, .detail = detail});
//   auto saved = cms.UpdateText("blog", "hello", *nonce, "new text");
//   // EditConflict when someone else saved meanwhile: status().extra() has what is stored
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/gridfs.h"
#include "quire/patterns/idempotency.h"
#include "quire/patterns/page.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

struct CmsOptions {
  // How long files that nothing shows are kept, and then as tombstones: longer than any upload.
  std::chrono::milliseconds tombstone_retention = std::chrono::hours(24);
  int32_t chunk_size = 255 * 1024;
  std::chrono::milliseconds lease = std::chrono::minutes(5);  // of the jobs
  std::string worker = "worker";  // a name of its own for every process that runs jobs
  Concerns concerns = {};
  Seams seams = {};
};

struct Author {
  std::string id{};
  std::string name{};
};

struct Node {
  std::string section{};
  std::string slug{};  // unique in its section
  std::string type{};  // basic-page, blog-entry, photo
  std::string title{};
  Author author{};
  std::vector<std::string> tags{};
  std::optional<bson::Date> published{};  // none: a draft
  bson::Document detail{};  // page {text}; blog entry {text, publish_on}; photo {file_id...}
  // Set by the system.
  bson::ObjectId nonce{};  // another one after every edit
  bson::Date created{};
  bson::Date updated{};
};

struct NodePage {
  std::vector<Node> nodes;
  std::string next;  // empty: this was the last page
};

struct Photo {
  std::string filename{};
  std::string content_type{};
  int32_t width = 0;
  int32_t height = 0;
  std::string uploaded_by{};
  // The next bytes; none at the end.
  std::function<Result<std::string>()> read{};
};

// Documents: cms.nodes {_id, metadata: {nonce, section, slug, type, title, created, updated,
// published, author, tags, detail}, marks}; cms.assets.files and .chunks (GridFS) with metadata
// {node_key, state: staged | live | dead, at, uploaded_by}; idempotency; jobs (see lease.h). Safe
// for concurrent use.
class Cms {
 public:
  Cms(const Client& client, std::string_view database, CmsOptions options = {});

  static std::vector<IndexSpec> Indexes();
  static std::vector<ShardKeySpec> ShardKeys();
  Status CreateIndexes() const;
  Result<std::vector<std::string>> MissingIndexes() const;

  // A page or a blog entry: its nonce. Errors: InvalidName (no section or slug), UnknownType,
  // MissingField, WrongType (of the detail), SlugTaken.
  Result<bson::ObjectId> CreateNode(const Node& node, const CallKey& key = std::nullopt) const;
  // If the node is the version of `nonce`: its next nonce. Errors: NotFound; WrongType (a photo has
  // no text); ConflictError, whose extra() is {nonce, detail} of the version that is stored.
  Result<bson::ObjectId> UpdateText(std::string_view section, std::string_view slug,
                                    const bson::ObjectId& nonce, std::string_view text,
                                    const CallKey& key = std::nullopt) const;
  // Changes of tags and comments need no nonce: they do not conflict with edits of the text. Error:
  // NotFound.
  Status AddTags(std::string_view section, std::string_view slug,
                 const std::vector<std::string>& tags, const CallKey& key = std::nullopt) const;
  Status RemoveTags(std::string_view section, std::string_view slug,
                    const std::vector<std::string>& tags, const CallKey& key = std::nullopt) const;
  Status Publish(std::string_view section, std::string_view slug, bson::Date when,
                 const CallKey& key = std::nullopt) const;
  Status Unpublish(std::string_view section, std::string_view slug,
                   const CallKey& key = std::nullopt) const;

  // A new photo node; `node.type` and `node.detail` are set here. A repeated key stands for the
  // same bytes. Errors: InvalidName, SlugTaken.
  Result<bson::ObjectId> UploadPhoto(const Node& node, const Photo& photo,
                                     const CallKey& key = std::nullopt) const;
  // Another picture in the place of that of version `nonce`; the old one is shown until then.
  // Errors: NotFound, WrongType (not a photo), ConflictError.
  Result<bson::ObjectId> ReplacePhoto(std::string_view section, std::string_view slug,
                                      const bson::ObjectId& nonce, const Photo& photo,
                                      const CallKey& key = std::nullopt) const;

  // Error: NotFound.
  Result<Node> GetNode(std::string_view section, std::string_view slug) const;
  // Errors: NotFound, WrongType (not a photo).
  Result<GridFsDownload> OpenPhoto(std::string_view section, std::string_view slug,
                                   const ByteRange& range = {}) const;
  // What is published by now, newest first. Error: BadCursor.
  Result<NodePage> ByTag(std::string_view tag, const PageRequest& page = {}) const;
  Result<NodePage> Feed(std::string_view section, const PageRequest& page = {}) const;

  // Files that nothing shows are marked dead after the retention, and removed after another.
  // skipped is 1 while another worker does.
  Result<JobReport> GcFiles() const;
  // Chunks of uploads that crashed.
  Result<JobReport> GcChunks() const;
  // Forgets keys after the retention. skipped is 1 while another worker does.
  Result<JobReport> PurgeKeys() const;

  // What is wrong, a line each: photos without their file, files whose chunks do not add up, tags
  // twice.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  class Work;
  std::shared_ptr<const Work> work_;
};

struct FeedInfo {
  std::string title;
  std::string link;  // the site's address, without a slash at its end
};
// The nodes as an Atom feed: title, link, id, updated and author of each.
std::string AtomFeed(const FeedInfo& info, const std::vector<Node>& nodes);

}  // namespace quire::patterns
