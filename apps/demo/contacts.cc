// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/contacts.h"

#include "base/try.h"
#include "demo/demos.h"
#include "quire/doc.h"

namespace quire::apps {
namespace {

using patterns::ContactModel;
using patterns::Contacts;

constexpr int64_t kNumbers = 5;

std::string NumberOf(int64_t contact, int64_t n) {
  return "+41" + std::to_string(contact * 10 + n);
}

Status LoadContact(const Contacts& contacts, int64_t i) {
  const std::string id = Numbered("c", i);
  RETURN_IF_ERROR(contacts.Create(id, Numbered("Name ", i), "01209"));
  for (int64_t n = 0; n < kNumbers; ++n) {
    RETURN_IF_ERROR(contacts.AddNumber(id, NumberOf(i, n)));
  }
  return Status::Ok();
}

// A contact that no other thread changes.
int64_t OwnContact(const DesignRun& run, Worker* worker) {
  const int64_t i = worker->chance.Skewed(run.size());
  const int64_t own = i - i % run.threads() + worker->thread;
  return own < run.size() ? own : worker->thread % run.size();
}

std::vector<Step> Steps(const DesignRun& run, const Contacts& contacts) {
  return {
      {"get", 60,
       [&](Worker& w) {
         return contacts.Get(Numbered("c", w.chance.Skewed(run.size()))).status();
       }},
      {"find by number", 20,
       [&](Worker& w) {
         return contacts.FindByNumber(NumberOf(w.chance.Below(run.size()), 1)).status();
       }},
      {"add number", 14,
       [&](Worker& w) {
         const int64_t i = OwnContact(run, &w);
         return contacts.AddNumber(Numbered("c", i), NumberOf(i, w.chance.Below(10)));
       }},
      {"remove number", 5,
       [&](Worker& w) {
         const int64_t i = OwnContact(run, &w);
         return contacts.RemoveNumber(Numbered("c", i), NumberOf(i, w.chance.Below(10)));
       }},
      {"delete", 1, [&](Worker& w) { return contacts.Delete(Numbered("c", OwnContact(run, &w))); }},
  };
}

// Everything the contact book answers, for the comparison of the models.
std::string Answers(const Contacts& contacts, int64_t size) {
  std::string all;
  for (int64_t i = 0; i < size; ++i) {
    Result<patterns::Contact> contact = contacts.Get(Numbered("c", i));
    all += contact.ok() ? contact->name : patterns::ErrorName(contact.status());
    for (const std::string& number : contact.ok() ? contact->numbers : std::vector<std::string>()) {
      all += "," + number;
    }
    all += "\n";
  }
  return all;
}

Status RunModel(DesignRun* run, ContactModel model, std::string* answers) {
  Contacts contacts(run->client(), run->database(), {.model = model});
  RETURN_IF_ERROR(contacts.CreateIndexes());
  RETURN_IF_ERROR(
      run->Load("contacts", run->size(), [&](int64_t i) { return LoadContact(contacts, i); }));
  RETURN_IF_ERROR(run->Work(Steps(*run, contacts)));
  const bool embedded = model == ContactModel::kEmbedded;
  RETURN_IF_ERROR(run->Explain("find by number", embedded ? "contacts" : "numbers",
                               Doc(embedded ? "numbers" : "number", NumberOf(run->size() - 1, 1))));
  *answers = Answers(contacts, run->size());
  ASSIGN_OR_RETURN(std::vector<std::string> missing, contacts.MissingIndexes());
  run->Check("every declared index exists", missing);
  return run->CheckInvariants(contacts);
}

}  // namespace

Status DemoContacts(DemoRun* run) {
  std::string embedded;
  RETURN_IF_ERROR(run->Design("embedded", [&](DesignRun* design) {
    return RunModel(design, ContactModel::kEmbedded, &embedded);
  }));
  return run->Design("referenced", [&](DesignRun* design) {
    std::string referenced;
    RETURN_IF_ERROR(RunModel(design, ContactModel::kReferenced, &referenced));
    if (run->settings().seconds == 0) {
      design->Check("answers as the embedded model after the same work", referenced == embedded);
    }
    return Status::Ok();
  });
}

}  // namespace quire::apps
