// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/try.h"
#include "patterns/contacts/work.h"
#include "patterns/doc.h"
#include "patterns/walk.h"
#include "quire/patterns/lease.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kContacts[] = "contacts";
constexpr char kNumbers[] = "numbers";
constexpr int kAttempts = 5;
constexpr int64_t kSweepBatch = 500;
constexpr char kSparse[] = R"({"sparse": true})";

// Nobody sees what is removed.
Document Alive(const Document& filter) {
  bson::Builder out;
  out.AppendFields(filter).Append("removed", bson::Value::Null());
  return out.Finish();
}

// No call with a key has touched it: none can come back to it either.
Document Untouched(const Document& filter) {
  bson::Builder out;
  out.AppendFields(filter);
  PutFields(&out, "call", Doc("$exists", false), "marks", Doc("$exists", false));
  return out.Finish();
}

Contact ContactOf(const Document& document) {
  Contact contact{std::string(TextAt(document, "_id")),
                  std::string(TextAt(document, "name")),
                  std::string(TextAt(document, "zip_code")),
                  {}};
  bson::Value numbers = document["numbers"];
  if (numbers.is_array()) {
    for (const bson::Element& number : numbers.AsArray()) {
      contact.numbers.emplace_back(number.value().AsString());
    }
  }
  std::sort(contact.numbers.begin(), contact.numbers.end());
  return contact;
}

}  // namespace

Contacts::Work::Work(const Client& client, std::string_view database, ContactsOptions options)
    : options_(std::move(options)),
      store_(client, database, options_.seams, options_.concerns),
      calls_(store_, "contacts") {}

std::vector<IndexSpec> Contacts::Work::Indexes() const {
  const IndexSpec removed{kContacts, R"({"removed": 1})", false, -1, kSparse};
  if (embedded()) {
    return {{kContacts, R"({"numbers": 1})"}, removed, Idempotency::Index()};
  }
  return {{kNumbers, R"({"contact_id": 1, "number": 1})", true},
          {kNumbers, R"({"number": 1})"},
          {kNumbers, removed.keys, false, -1, kSparse},
          removed,
          Idempotency::Index()};
}

std::vector<ShardKeySpec> Contacts::Work::ShardKeys() const {
  if (embedded()) {
    return {{kContacts, R"({"_id": "hashed"})"}, Idempotency::ShardKey()};
  }
  return {{kContacts, R"({"_id": "hashed"})"},
          {kNumbers, R"({"contact_id": 1})"},
          Idempotency::ShardKey()};
}

Status Contacts::Work::Create(std::string_view id, std::string_view name, std::string_view zip_code,
                              const CallKey& key) const {
  const Document arguments = Doc("_id", id, "name", name, "zip_code", zip_code);
  const Document contact =
      embedded() ? Doc("_id", id, "name", name, "zip_code", zip_code, "numbers", List())
                 : arguments;
  return calls_.DoOnce("contacts.create", key, arguments, [&](const Claim& claim) -> Status {
    RETURN_IF_ERROR(InsertOnce(store_, kContacts, contact, claim));
    return store_.seams().After("contacts.create.c1");
  });
}

Result<std::vector<Contact>> Contacts::Work::WithNumbers(const std::vector<Document>& found) const {
  std::vector<Contact> contacts;
  for (const Document& document : found) {
    contacts.push_back(ContactOf(document));
    if (embedded()) {
      continue;
    }
    ASSIGN_OR_RETURN(auto numbers, store_.Find(kNumbers, Alive(Doc("contact_id", document["_id"])),
                                               {.sort = Doc("contact_id", 1, "number", 1)}));
    for (const Document& number : numbers) {
      contacts.back().numbers.emplace_back(TextAt(number, "number"));
    }
  }
  return contacts;
}

Result<Contact> Contacts::Work::Get(std::string_view id) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kContacts, Alive(Doc("_id", id))));
  if (!found) {
    return MakeError(Error::kNotFound, id);
  }
  ASSIGN_OR_RETURN(auto contacts, WithNumbers({*std::move(found)}));
  return contacts.front();
}

Result<std::vector<Contact>> Contacts::Work::FindByNumber(std::string_view number) const {
  Document filter = Doc("numbers", number);
  if (!embedded()) {
    ASSIGN_OR_RETURN(auto numbers, store_.Find(kNumbers, Alive(Doc("number", number))));
    std::vector<bson::OwnedValue> ids;
    for (const Document& one : numbers) {
      ids.emplace_back(one["contact_id"]);
    }
    filter = Doc("_id", Doc("$in", ListOf(ids)));
  }
  ASSIGN_OR_RETURN(auto found, store_.Find(kContacts, Alive(filter)));
  ASSIGN_OR_RETURN(auto contacts, WithNumbers(found));
  std::sort(contacts.begin(), contacts.end(),
            [](const Contact& a, const Contact& b) { return a.id < b.id; });
  return contacts;
}

Status Contacts::Work::RequireContact(std::string_view id) const {
  ASSIGN_OR_RETURN(auto found,
                   store_.FindOne(kContacts, Alive(Doc("_id", id)), {.projection = Doc("_id", 1)}));
  return found ? Status::Ok() : MakeError(Error::kNotFound, id);
}

Status Contacts::Work::AddNumber(std::string_view id, std::string_view number,
                                 const CallKey& key) const {
  return calls_.DoOnce(
      "contacts.add_number", key, Doc("id", id, "number", number),
      [&](const Claim& claim) -> Status {
        RETURN_IF_ERROR(embedded()
                            ? ChangeEmbedded(id, Doc("$addToSet", Doc("numbers", number)), claim)
                            : AddReferenced(id, number, claim));
        return store_.seams().After("contacts.add_number.c1");
      });
}

Status Contacts::Work::RemoveNumber(std::string_view id, std::string_view number,
                                    const CallKey& key) const {
  return calls_.DoOnce(
      "contacts.remove_number", key, Doc("id", id, "number", number),
      [&](const Claim& claim) -> Status {
        RETURN_IF_ERROR(embedded() ? ChangeEmbedded(id, Doc("$pull", Doc("numbers", number)), claim)
                                   : RemoveReferenced(id, number, claim));
        return store_.seams().After("contacts.remove_number.c1");
      });
}

Status Contacts::Work::ChangeEmbedded(std::string_view id, const Document& update,
                                      const Claim& claim) const {
  ASSIGN_OR_RETURN(
      int64_t matched,
      store_.UpdateOne(kContacts, Unmarked(Alive(Doc("_id", id)), claim), Marking(update, claim)));
  if (matched == 1) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kContacts, Doc("_id", id)));
  return found && Marked(*found, claim) ? Status::Ok() : MakeError(Error::kNotFound, id);
}

// A contact deleted between the two steps leaves an orphan, which nobody sees and the sweeper
// takes.
Status Contacts::Work::AddReferenced(std::string_view id, std::string_view number,
                                     const Claim& claim) const {
  RETURN_IF_ERROR(RequireContact(id));
  const Document place = Doc("contact_id", id, "number", number);
  const Document add = Doc("$set", Doc("at", store_.Now()), "$unset", Doc("removed", 1),
                           "$setOnInsert", Doc("_id", store_.seams().ids->Next()));
  for (int i = 0; i < kAttempts; ++i) {
    Status added =
        store_.UpdateOne(kNumbers, Unmarked(place, claim), Marking(add, claim), true).status();
    if (!IsDuplicateKey(added)) {
      return added;
    }
    ASSIGN_OR_RETURN(auto found, store_.FindOne(kNumbers, place));
    if (found && (claim.keyed ? Marked(*found, claim) : !found->view().Has("removed"))) {
      return Status::Ok();
    }
  }
  return MakeError(Error::kContention, id);
}

Status Contacts::Work::RemoveReferenced(std::string_view id, std::string_view number,
                                        const Claim& claim) const {
  RETURN_IF_ERROR(RequireContact(id));
  const Document place = Doc("contact_id", id, "number", number);
  const Document remove = Marking(Doc("$set", Doc("removed", store_.Now())), claim);
  if (!claim.keyed) {
    ASSIGN_OR_RETURN(int64_t deleted, store_.DeleteOne(kNumbers, Untouched(place)));
    return deleted == 1 ? Status::Ok() : store_.UpdateOne(kNumbers, Alive(place), remove).status();
  }
  // Also of a number that is not there: a repeat must not remove what is added later.
  const Document made = MergeUpdates(
      remove, Doc("$setOnInsert", Doc("_id", store_.seams().ids->Next(), "at", store_.Now())));
  for (int i = 0; i < kAttempts; ++i) {
    Status removed = store_.UpdateOne(kNumbers, Unmarked(place, claim), made, true).status();
    if (!IsDuplicateKey(removed)) {
      return removed;
    }
    ASSIGN_OR_RETURN(auto found, store_.FindOne(kNumbers, place));
    if (found && Marked(*found, claim)) {
      return Status::Ok();
    }
  }
  return MakeError(Error::kContention, id);
}

Status Contacts::Work::Delete(std::string_view id, const CallKey& key) const {
  return calls_.DoOnce("contacts.delete", key, Doc("id", id), [&](const Claim& claim) {
    if (options_.backend == Backend::kTransactional && !embedded()) {
      return store_.Transact([&](const Store& inside) { return DeleteSteps(inside, id, claim); });
    }
    return DeleteSteps(store_, id, claim);
  });
}

Status Contacts::Work::DeleteSteps(const Store& store, std::string_view id,
                                   const Claim& claim) const {
  int64_t deleted = 0;
  if (!claim.keyed) {
    ASSIGN_OR_RETURN(deleted, store.DeleteOne(kContacts, Untouched(Doc("_id", id))));
  }
  if (deleted == 0) {
    ASSIGN_OR_RETURN(
        deleted, store.UpdateOne(kContacts, Alive(Doc("_id", id)),
                                 Doc("$set", Doc("removed", store.Now(), "removed_by", claim.id),
                                     "$unset", Doc("numbers", 1))));
  }
  if (deleted == 0) {
    ASSIGN_OR_RETURN(auto found, store.FindOne(kContacts, Doc("_id", id, "removed_by", claim.id)));
    if (!found) {
      return MakeError(Error::kNotFound, id);
    }
  }
  RETURN_IF_ERROR(store.seams().After("contacts.delete.c1"));
  if (embedded()) {
    return Status::Ok();
  }
  RETURN_IF_ERROR(store.DeleteMany(kNumbers, Doc("contact_id", id)).status());
  return store.seams().After("contacts.delete.c2");
}

Result<JobReport> Contacts::Work::SweepOrphans(std::chrono::milliseconds grace) const {
  if (embedded()) {
    return JobReport{};
  }
  auto sweep = [&](const Document& number) -> Result<int64_t> {
    if (number["at"].AsDate() >= store_.Ago(grace)) {
      return 0;
    }
    Status alive = RequireContact(TextAt(number, "contact_id"));
    if (!Is(alive, Error::kNotFound)) {
      return alive.ok() ? Result<int64_t>(0) : alive;
    }
    const Document it = Doc("_id", number["_id"], "contact_id", number["contact_id"]);
    ASSIGN_OR_RETURN(int64_t deleted, store_.DeleteOne(kNumbers, it));
    RETURN_IF_ERROR(store_.seams().After("contacts.sweep_orphans.c1"));
    return deleted;
  };
  return SweepLeased(
      store_, Lease(store_, "contacts.sweep_orphans", options_.worker, options_.lease),
      {.collection = kNumbers, .batch = kSweepBatch, .projection = {}},
      [&](const Document& number, JobReport* report) { return report->Count(sweep(number)); });
}

// Whether there is more. What was removed may have been added again since it was read.
Result<bool> Contacts::Work::ForgetRemoved(const char* collection, JobReport* report) const {
  const Document old = Doc("$lt", store_.Ago(options_.tombstone_retention));
  ASSIGN_OR_RETURN(auto removed, store_.Find(collection, Doc("removed", old),
                                             {.projection = Doc("_id", 1), .limit = kSweepBatch}));
  const auto examined = static_cast<int64_t>(removed.size());
  if (examined > 0) {
    std::vector<bson::OwnedValue> ids;
    for (const Document& one : removed) {
      ids.emplace_back(one["_id"]);
    }
    ASSIGN_OR_RETURN(
        int64_t deleted,
        store_.DeleteMany(collection, Doc("_id", Doc("$in", ListOf(ids)), "removed", old)));
    *report += JobReport{.examined = examined, .changed = deleted, .skipped = examined - deleted};
  }
  return examined == kSweepBatch;
}

Result<JobReport> Contacts::Work::PurgeKeys() const {
  auto forget = [&](JobReport* report) -> Result<bool> {
    ASSIGN_OR_RETURN(bool more, ForgetRemoved(kContacts, report));
    RETURN_IF_ERROR(store_.seams().After("contacts.purge_keys.c2"));
    if (!embedded()) {
      ASSIGN_OR_RETURN(bool more_numbers, ForgetRemoved(kNumbers, report));
      RETURN_IF_ERROR(store_.seams().After("contacts.purge_keys.c3"));
      more = more || more_numbers;
    }
    return more;
  };
  ASSIGN_OR_RETURN(JobReport keys,
                   calls_.Purge({options_.tombstone_retention, options_.worker, options_.lease}));
  ASSIGN_OR_RETURN(
      JobReport report,
      RepeatLeased(Lease(store_, "contacts.purge", options_.worker, options_.lease), forget));
  return report += keys;
}

Result<std::vector<std::string>> Contacts::Work::CheckInvariants() const {
  std::vector<std::string> wrong;
  auto check_contact = [&](const Document& document) {
    const Contact contact = ContactOf(document);
    if (std::adjacent_find(contact.numbers.begin(), contact.numbers.end()) !=
        contact.numbers.end()) {
      wrong.push_back("a number twice: " + contact.id);
    }
    return Status::Ok();
  };
  auto check_number = [&](const Document& number) -> Status {
    Status alive = RequireContact(TextAt(number, "contact_id"));
    if (Is(alive, Error::kNotFound) && !number.view().Has("removed")) {
      wrong.push_back("a number without a contact: " + std::string(TextAt(number, "number")));
      return Status::Ok();
    }
    return Is(alive, Error::kNotFound) ? Status::Ok() : alive;
  };
  RETURN_IF_ERROR(Walk(store_, kContacts, check_contact));
  if (!embedded()) {
    RETURN_IF_ERROR(Walk(store_, kNumbers, check_number));
  }
  return wrong;
}

}  // namespace quire::patterns
