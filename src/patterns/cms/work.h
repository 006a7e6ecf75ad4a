// SPDX-License-Identifier: Apache-2.0
//
// All of a Cms: its calls, and the steps they are made of.
#pragma once

#include "quire/patterns/cms.h"

namespace quire::patterns {

class Cms::Work {
 public:
  Work(const Client& client, std::string_view database, CmsOptions options = {});
  static std::vector<IndexSpec> Indexes();
  static std::vector<ShardKeySpec> ShardKeys();
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes());
  }
  Result<bson::ObjectId> CreateNode(const Node& node, const CallKey& key = std::nullopt) const;
  Result<bson::ObjectId> UpdateText(std::string_view section, std::string_view slug,
                                    const bson::ObjectId& nonce, std::string_view text,
                                    const CallKey& key = std::nullopt) const;
  Status AddTags(std::string_view section, std::string_view slug,
                 const std::vector<std::string>& tags, const CallKey& key = std::nullopt) const;
  Status RemoveTags(std::string_view section, std::string_view slug,
                    const std::vector<std::string>& tags, const CallKey& key = std::nullopt) const;
  Status Publish(std::string_view section, std::string_view slug, bson::Date when,
                 const CallKey& key = std::nullopt) const;
  Status Unpublish(std::string_view section, std::string_view slug,
                   const CallKey& key = std::nullopt) const;
  Result<bson::ObjectId> UploadPhoto(const Node& node, const Photo& photo,
                                     const CallKey& key = std::nullopt) const;
  Result<bson::ObjectId> ReplacePhoto(std::string_view section, std::string_view slug,
                                      const bson::ObjectId& nonce, const Photo& photo,
                                      const CallKey& key = std::nullopt) const;
  Result<Node> GetNode(std::string_view section, std::string_view slug) const;
  Result<GridFsDownload> OpenPhoto(std::string_view section, std::string_view slug,
                                   const ByteRange& range = {}) const;
  Result<NodePage> ByTag(std::string_view tag, const PageRequest& page = {}) const;
  Result<NodePage> Feed(std::string_view section, const PageRequest& page = {}) const;
  Result<JobReport> GcFiles() const;
  Result<JobReport> GcChunks() const;
  Result<JobReport> PurgeKeys() const {
    return calls_.Purge({options_.tombstone_retention, options_.worker, options_.lease});
  }
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  Result<bson::ObjectId> Insert(const Node& node, const Claim& claim) const;
  // The bytes, as a file that nothing shows but that may be shown from now on.
  Result<GridFsFile> Stage(std::string_view operation, std::string_view section,
                           std::string_view slug, const Photo& photo) const;
  Result<bson::Document> UploadOnce(const Node& node, const Photo& photo, const Claim& claim) const;
  Result<bson::Document> ReplaceOnce(std::string_view section, std::string_view slug,
                                     const bson::ObjectId& nonce, const Photo& photo,
                                     const Claim& claim) const;
  Status SetState(const bson::Value& file, std::string_view from, std::string_view to) const;
  Status Edit(std::string_view operation, std::string_view section, std::string_view slug,
              const bson::Document& update, const CallKey& key) const;
  Result<NodePage> Published(const bson::Document& filter, const PageRequest& page) const;
  Result<bool> Shown(const bson::Value& file) const;
  Result<JobReport> CollectFiles() const;

  CmsOptions options_;
  Store store_;
  GridFs assets_;
  Idempotency calls_;
};

}  // namespace quire::patterns
