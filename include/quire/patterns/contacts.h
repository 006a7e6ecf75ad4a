// SPDX-License-Identifier: Apache-2.0
//
// A contact book in two models: the numbers inside the contact, or in documents of their own. Both
// give the same answers.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/error.h"
#include "quire/patterns/idempotency.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

enum class ContactModel { kEmbedded, kReferenced };

struct ContactsOptions {
  ContactModel model = ContactModel::kEmbedded;
  Backend backend = Backend::kCompensating;  // of Delete in the referenced model
  // How long keys, and what keyed calls removed, are remembered: longer than any write may be
  // delayed.
  std::chrono::milliseconds tombstone_retention = std::chrono::hours(24);
  std::string worker = "worker";  // a name of its own for every process that runs the job
  std::chrono::milliseconds lease = std::chrono::minutes(5);
  Concerns concerns = {};
  Seams seams = {};
};

struct Contact {
  std::string id;
  std::string name;
  std::string zip_code;
  std::vector<std::string> numbers;  // sorted, each once
};

// Documents: embedded contacts {_id, name, zip_code, numbers: [...]}; referenced contacts {_id,
// name, zip_code} and numbers {_id, contact_id, number, at}; idempotency; jobs. What calls with a
// key have touched has `call` or `marks`, and stays with `removed` (and `removed_by`), unseen by
// readers, when it is deleted, until PurgeKeys. Ids are never used again after a contact was
// deleted. Safe for concurrent use.
class Contacts {
 public:
  Contacts(const Client& client, std::string_view database, ContactsOptions options = {});

  std::vector<IndexSpec> Indexes() const;
  std::vector<ShardKeySpec> ShardKeys() const;
  Status CreateIndexes() const;
  Result<std::vector<std::string>> MissingIndexes() const;

  // Without numbers. Error: DuplicateKey.
  Status Create(std::string_view id, std::string_view name, std::string_view zip_code,
                const CallKey& key = std::nullopt) const;
  // Error: NotFound.
  Result<Contact> Get(std::string_view id) const;
  // The contacts with that number, by id.
  Result<std::vector<Contact>> FindByNumber(std::string_view number) const;
  // A number that is there already stays once; one that is not there is removed without error.
  // Error: NotFound (no such contact).
  Status AddNumber(std::string_view id, std::string_view number,
                   const CallKey& key = std::nullopt) const;
  Status RemoveNumber(std::string_view id, std::string_view number,
                      const CallKey& key = std::nullopt) const;
  // Error: NotFound.
  Status Delete(std::string_view id, const CallKey& key = std::nullopt) const;

  // Deletes numbers older than `grace` whose contact is gone: what crashed deletions left, which no
  // reader sees. Nothing to do in the embedded model.
  Result<JobReport> SweepOrphans(std::chrono::milliseconds grace) const;
  // Forgets keys, and what was removed, after the retention. skipped is above 0 while another
  // worker does.
  Result<JobReport> PurgeKeys() const;

  // What is wrong, a line each, once nothing is under way and SweepOrphans has run: numbers without
  // a contact, numbers twice.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  class Work;
  std::shared_ptr<const Work> work_;
};

}  // namespace quire::patterns
