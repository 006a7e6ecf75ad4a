// SPDX-License-Identifier: Apache-2.0
//
// The calls of Contacts, each in its Work.
#include <utility>

#include "patterns/contacts/work.h"

namespace quire::patterns {

Contacts::Contacts(const Client& client, std::string_view database, ContactsOptions options)
    : work_(std::make_shared<const Work>(client, database, std::move(options))) {}

std::vector<IndexSpec> Contacts::Indexes() const { return work_->Indexes(); }
std::vector<ShardKeySpec> Contacts::ShardKeys() const { return work_->ShardKeys(); }
Status Contacts::CreateIndexes() const { return work_->CreateIndexes(); }
Result<std::vector<std::string>> Contacts::MissingIndexes() const {
  return work_->MissingIndexes();
}
Status Contacts::Create(std::string_view id, std::string_view name, std::string_view zip_code,
                        const CallKey& key) const {
  return work_->Create(id, name, zip_code, key);
}
Result<Contact> Contacts::Get(std::string_view id) const { return work_->Get(id); }
Result<std::vector<Contact>> Contacts::FindByNumber(std::string_view number) const {
  return work_->FindByNumber(number);
}
Status Contacts::AddNumber(std::string_view id, std::string_view number, const CallKey& key) const {
  return work_->AddNumber(id, number, key);
}
Status Contacts::RemoveNumber(std::string_view id, std::string_view number,
                              const CallKey& key) const {
  return work_->RemoveNumber(id, number, key);
}
Status Contacts::Delete(std::string_view id, const CallKey& key) const {
  return work_->Delete(id, key);
}
Result<JobReport> Contacts::SweepOrphans(std::chrono::milliseconds grace) const {
  return work_->SweepOrphans(grace);
}
Result<JobReport> Contacts::PurgeKeys() const { return work_->PurgeKeys(); }
Result<std::vector<std::string>> Contacts::CheckInvariants() const {
  return work_->CheckInvariants();
}

}  // namespace quire::patterns
