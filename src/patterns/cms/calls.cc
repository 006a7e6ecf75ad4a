// SPDX-License-Identifier: Apache-2.0
//
// The calls of Cms, each in its Work.
#include <utility>

#include "patterns/cms/work.h"

namespace quire::patterns {

Cms::Cms(const Client& client, std::string_view database, CmsOptions options)
    : work_(std::make_shared<const Work>(client, database, std::move(options))) {}

std::vector<IndexSpec> Cms::Indexes() { return Work::Indexes(); }
std::vector<ShardKeySpec> Cms::ShardKeys() { return Work::ShardKeys(); }
Status Cms::CreateIndexes() const { return work_->CreateIndexes(); }
Result<std::vector<std::string>> Cms::MissingIndexes() const { return work_->MissingIndexes(); }
Result<bson::ObjectId> Cms::CreateNode(const Node& node, const CallKey& key) const {
  return work_->CreateNode(node, key);
}
Result<bson::ObjectId> Cms::UpdateText(std::string_view section, std::string_view slug,
                                       const bson::ObjectId& nonce, std::string_view text,
                                       const CallKey& key) const {
  return work_->UpdateText(section, slug, nonce, text, key);
}
Status Cms::AddTags(std::string_view section, std::string_view slug,
                    const std::vector<std::string>& tags, const CallKey& key) const {
  return work_->AddTags(section, slug, tags, key);
}
Status Cms::RemoveTags(std::string_view section, std::string_view slug,
                       const std::vector<std::string>& tags, const CallKey& key) const {
  return work_->RemoveTags(section, slug, tags, key);
}
Status Cms::Publish(std::string_view section, std::string_view slug, bson::Date when,
                    const CallKey& key) const {
  return work_->Publish(section, slug, when, key);
}
Status Cms::Unpublish(std::string_view section, std::string_view slug, const CallKey& key) const {
  return work_->Unpublish(section, slug, key);
}
Result<bson::ObjectId> Cms::UploadPhoto(const Node& node, const Photo& photo,
                                        const CallKey& key) const {
  return work_->UploadPhoto(node, photo, key);
}
Result<bson::ObjectId> Cms::ReplacePhoto(std::string_view section, std::string_view slug,
                                         const bson::ObjectId& nonce, const Photo& photo,
                                         const CallKey& key) const {
  return work_->ReplacePhoto(section, slug, nonce, photo, key);
}
Result<Node> Cms::GetNode(std::string_view section, std::string_view slug) const {
  return work_->GetNode(section, slug);
}
Result<GridFsDownload> Cms::OpenPhoto(std::string_view section, std::string_view slug,
                                      const ByteRange& range) const {
  return work_->OpenPhoto(section, slug, range);
}
Result<NodePage> Cms::ByTag(std::string_view tag, const PageRequest& page) const {
  return work_->ByTag(tag, page);
}
Result<NodePage> Cms::Feed(std::string_view section, const PageRequest& page) const {
  return work_->Feed(section, page);
}
Result<JobReport> Cms::GcFiles() const { return work_->GcFiles(); }
Result<JobReport> Cms::GcChunks() const { return work_->GcChunks(); }
Result<JobReport> Cms::PurgeKeys() const { return work_->PurgeKeys(); }
Result<std::vector<std::string>> Cms::CheckInvariants() const { return work_->CheckInvariants(); }

}  // namespace quire::patterns
