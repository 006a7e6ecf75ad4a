// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/contacts.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "patterns/doc.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kContacts[] = "contacts";
constexpr char kNumbers[] = "numbers";
constexpr int64_t kSweepBatch = 500;

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

Contacts::Contacts(const Client& client, std::string_view database, ContactsOptions options)
    : options_(std::move(options)), store_(client, database, options_.seams) {}

std::vector<IndexSpec> Contacts::Indexes() const {
  if (embedded()) {
    return {{kContacts, R"({"numbers": 1})"}};
  }
  return {{kNumbers, R"({"contact_id": 1, "number": 1})", true}, {kNumbers, R"({"number": 1})"}};
}

std::vector<ShardKeySpec> Contacts::ShardKeys() const {
  if (embedded()) {
    return {{kContacts, R"({"_id": "hashed"})"}};
  }
  return {{kContacts, R"({"_id": "hashed"})"}, {kNumbers, R"({"contact_id": 1})"}};
}

Status Contacts::Create(std::string_view id, std::string_view name,
                        std::string_view zip_code) const {
  Document contact = Doc("_id", id, "name", name, "zip_code", zip_code);
  RETURN_IF_ERROR(store_.Insert(
      kContacts, embedded() ? Doc("_id", id, "name", name, "zip_code", zip_code, "numbers", List())
                            : contact));
  return store_.seams().After("contacts.create.c1");
}

Result<std::vector<Contact>> Contacts::WithNumbers(const std::vector<Document>& found) const {
  std::vector<Contact> contacts;
  for (const Document& document : found) {
    contacts.push_back(ContactOf(document));
    if (embedded()) {
      continue;
    }
    ASSIGN_OR_RETURN(auto numbers, store_.Find(kNumbers, Doc("contact_id", document["_id"]),
                                               {.sort = Doc("contact_id", 1, "number", 1)}));
    for (const Document& number : numbers) {
      contacts.back().numbers.emplace_back(TextAt(number, "number"));
    }
  }
  return contacts;
}

Result<Contact> Contacts::Get(std::string_view id) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kContacts, Doc("_id", id)));
  if (!found) {
    return MakeError(Error::kNotFound, id);
  }
  ASSIGN_OR_RETURN(auto contacts, WithNumbers({*std::move(found)}));
  return contacts.front();
}

Result<std::vector<Contact>> Contacts::FindByNumber(std::string_view number) const {
  Document filter = Doc("numbers", number);
  if (!embedded()) {
    ASSIGN_OR_RETURN(auto numbers, store_.Find(kNumbers, Doc("number", number)));
    std::vector<bson::OwnedValue> ids;
    for (const Document& one : numbers) {
      ids.emplace_back(one["contact_id"]);
    }
    filter = Doc("_id", Doc("$in", ListOf(ids)));
  }
  ASSIGN_OR_RETURN(auto found, store_.Find(kContacts, filter));
  ASSIGN_OR_RETURN(auto contacts, WithNumbers(found));
  std::sort(contacts.begin(), contacts.end(),
            [](const Contact& a, const Contact& b) { return a.id < b.id; });
  return contacts;
}

Status Contacts::RequireContact(std::string_view id) const {
  ASSIGN_OR_RETURN(auto found,
                   store_.FindOne(kContacts, Doc("_id", id), {.projection = Doc("_id", 1)}));
  return found ? Status::Ok() : MakeError(Error::kNotFound, id);
}

// In the referenced model a contact deleted between the two steps leaves an orphan, which nobody
// sees and the sweeper takes.
Status Contacts::AddNumber(std::string_view id, std::string_view number) const {
  if (embedded()) {
    ASSIGN_OR_RETURN(int64_t matched, store_.UpdateOne(kContacts, Doc("_id", id),
                                                       Doc("$addToSet", Doc("numbers", number))));
    return matched == 1 ? store_.seams().After("contacts.add_number.c1")
                        : MakeError(Error::kNotFound, id);
  }
  RETURN_IF_ERROR(RequireContact(id));
  Status inserted = store_.Insert(kNumbers, Doc("_id", store_.seams().ids->Next(), "contact_id", id,
                                                "number", number, "at", store_.Now()));
  if (!IsDuplicateKey(inserted)) {
    RETURN_IF_ERROR(inserted);
  }
  return store_.seams().After("contacts.add_number.c1");
}

Status Contacts::RemoveNumber(std::string_view id, std::string_view number) const {
  if (embedded()) {
    ASSIGN_OR_RETURN(int64_t matched, store_.UpdateOne(kContacts, Doc("_id", id),
                                                       Doc("$pull", Doc("numbers", number))));
    return matched == 1 ? store_.seams().After("contacts.remove_number.c1")
                        : MakeError(Error::kNotFound, id);
  }
  RETURN_IF_ERROR(RequireContact(id));
  RETURN_IF_ERROR(store_.DeleteOne(kNumbers, Doc("contact_id", id, "number", number)).status());
  return store_.seams().After("contacts.remove_number.c1");
}

Status Contacts::Delete(std::string_view id) const {
  if (options_.backend == Backend::kTransactional && !embedded()) {
    return store_.Transact([&](const Store& inside) { return DeleteSteps(inside, id); });
  }
  return DeleteSteps(store_, id);
}

Status Contacts::DeleteSteps(const Store& store, std::string_view id) const {
  ASSIGN_OR_RETURN(int64_t deleted, store.DeleteOne(kContacts, Doc("_id", id)));
  if (deleted == 0) {
    return MakeError(Error::kNotFound, id);
  }
  RETURN_IF_ERROR(store.seams().After("contacts.delete.c1"));
  if (embedded()) {
    return Status::Ok();
  }
  RETURN_IF_ERROR(store.DeleteMany(kNumbers, Doc("contact_id", id)).status());
  return store.seams().After("contacts.delete.c2");
}

Result<JobReport> Contacts::SweepOrphans(std::chrono::milliseconds grace) const {
  JobReport report;
  Document from = Doc();
  for (size_t read = embedded() ? 0 : kSweepBatch; read == kSweepBatch;) {
    ASSIGN_OR_RETURN(auto numbers,
                     store_.Find(kNumbers, from, {.sort = Doc("_id", 1), .limit = kSweepBatch}));
    read = numbers.size();
    for (const Document& number : numbers) {
      report.examined += 1;
      if (number["at"].AsDate().millis >= store_.Ago(grace).millis) {
        report.skipped += 1;
        continue;
      }
      Status alive = RequireContact(TextAt(number, "contact_id"));
      if (Is(alive, Error::kNotFound)) {
        ASSIGN_OR_RETURN(int64_t deleted, store_.DeleteOne(kNumbers, Doc("_id", number["_id"])));
        report.changed += deleted;
        RETURN_IF_ERROR(store_.seams().After("contacts.sweep_orphans.c1"));
      } else {
        RETURN_IF_ERROR(alive);
      }
    }
    if (!numbers.empty()) {
      from = Doc("_id", Doc("$gt", numbers.back()["_id"]));
    }
  }
  return report;
}

}  // namespace quire::patterns
