// SPDX-License-Identifier: Apache-2.0
//
// All of Contacts: the calls, and the steps they are made of.
#pragma once

#include "quire/patterns/contacts.h"

namespace quire::patterns {

class Contacts::Work {
 public:
  Work(const Client& client, std::string_view database, ContactsOptions options = {});
  std::vector<IndexSpec> Indexes() const;
  std::vector<ShardKeySpec> ShardKeys() const;
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes());
  }
  Status Create(std::string_view id, std::string_view name, std::string_view zip_code,
                const CallKey& key = std::nullopt) const;
  Result<Contact> Get(std::string_view id) const;
  Result<std::vector<Contact>> FindByNumber(std::string_view number) const;
  Status AddNumber(std::string_view id, std::string_view number,
                   const CallKey& key = std::nullopt) const;
  Status RemoveNumber(std::string_view id, std::string_view number,
                      const CallKey& key = std::nullopt) const;
  Status Delete(std::string_view id, const CallKey& key = std::nullopt) const;
  Result<JobReport> SweepOrphans(std::chrono::milliseconds grace) const;
  Result<JobReport> PurgeKeys() const;
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  bool embedded() const { return options_.model == ContactModel::kEmbedded; }
  Result<std::vector<Contact>> WithNumbers(const std::vector<bson::Document>& found) const;
  Status RequireContact(std::string_view id) const;
  Status ChangeEmbedded(std::string_view id, const bson::Document& update,
                        const Claim& claim) const;
  Status AddReferenced(std::string_view id, std::string_view number, const Claim& claim) const;
  Status RemoveReferenced(std::string_view id, std::string_view number, const Claim& claim) const;
  Result<bool> ForgetRemoved(const char* collection, JobReport* report) const;
  Status DeleteSteps(const Store& store, std::string_view id, const Claim& claim) const;

  ContactsOptions options_;
  Store store_;
  Idempotency calls_;
};

}  // namespace quire::patterns
