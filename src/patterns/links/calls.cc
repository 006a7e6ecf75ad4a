// SPDX-License-Identifier: Apache-2.0
//
// The calls of Links, each in its Work.
#include <utility>

#include "patterns/links/work.h"

namespace quire::patterns {

Links::Links(const Client& client, std::string_view database, LinksOptions options)
    : work_(std::make_shared<const Work>(client, database, std::move(options))) {}

std::vector<IndexSpec> Links::Indexes() const { return work_->Indexes(); }
std::vector<ShardKeySpec> Links::ShardKeys() const { return work_->ShardKeys(); }
Status Links::CreateIndexes() const { return work_->CreateIndexes(); }
Result<std::vector<std::string>> Links::MissingIndexes() const { return work_->MissingIndexes(); }
Status Links::AddOwner(std::string_view id, const bson::Document& fields,
                       const CallKey& key) const {
  return work_->AddOwner(id, fields, key);
}
Status Links::AddTarget(std::string_view id, const bson::Document& fields,
                        const CallKey& key) const {
  return work_->AddTarget(id, fields, key);
}
Result<bson::Document> Links::GetOwner(std::string_view id) const { return work_->GetOwner(id); }
Result<bson::Document> Links::GetTarget(std::string_view id) const { return work_->GetTarget(id); }
Status Links::Link(std::string_view owner, std::string_view target, const CallKey& key) const {
  return work_->Link(owner, target, key);
}
Status Links::Unlink(std::string_view owner, std::string_view target, const CallKey& key) const {
  return work_->Unlink(owner, target, key);
}
Result<Page> Links::TargetsOf(std::string_view owner, const PageRequest& page) const {
  return work_->TargetsOf(owner, page);
}
Result<Page> Links::OwnersOf(std::string_view target, const PageRequest& page) const {
  return work_->OwnersOf(target, page);
}
Status Links::DeleteOwner(std::string_view id, const CallKey& key) const {
  return work_->DeleteOwner(id, key);
}
Status Links::DeleteTarget(std::string_view id, const CallKey& key) const {
  return work_->DeleteTarget(id, key);
}
Result<JobReport> Links::Sweep() const { return work_->Sweep(); }
Result<JobReport> Links::PurgeKeys() const { return work_->PurgeKeys(); }
Result<std::vector<std::string>> Links::CheckInvariants() const { return work_->CheckInvariants(); }

}  // namespace quire::patterns
