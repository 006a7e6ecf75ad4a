// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/inbox.h"

#include "base/try.h"
#include "demo/demos.h"
#include "quire/doc.h"

namespace quire::apps {
namespace {

using patterns::Inbox;
using patterns::InboxDesign;

constexpr int64_t kRecipients = 5;
constexpr int64_t kMessages = 20;  // sent beforehand, per user
constexpr int64_t kPage = 30;

struct Design {
  const char* name;
  InboxDesign design;
  const char* collection;  // that a page is read from
  const char* owner;       // whose inbox it is
  const char* order;       // newest first
};
constexpr Design kDesigns[] = {
    {"on read", InboxDesign::kFanOutOnRead, "inbox_read", "to", "sent"},
    {"on write", InboxDesign::kFanOutOnWrite, "inbox_write", "recipient", "sent"},
    {"buckets", InboxDesign::kBuckets, "inbox_bucket", "owner", "sequence"},
};

std::string UserOf(int64_t i) { return Numbered("user", i); }

Status SendOne(const DesignRun& run, const Inbox& inbox, Chance* chance) {
  std::vector<std::string> to;
  for (int64_t i = 0; i < kRecipients; ++i) {
    to.push_back(UserOf(chance->Skewed(run.size())));
  }
  return inbox.Send(UserOf(chance->Below(run.size())), to, std::string(200, 'x')).status();
}

// Reads the first page, and one message of it.
Status MarkOne(const DesignRun& run, const Inbox& inbox, Chance* chance) {
  const std::string user = UserOf(chance->Skewed(run.size()));
  ASSIGN_OR_RETURN(patterns::InboxPage page, inbox.Read(user, {.limit = kPage}));
  return page.messages.empty() ? Status::Ok() : inbox.MarkRead(user, page.messages[0].id);
}

std::vector<Step> Steps(const DesignRun& run, const Inbox& inbox) {
  return {
      {"send", 20, [&](Worker& w) { return SendOne(run, inbox, &w.chance); }},
      {"read page", 60,
       [&](Worker& w) {
         return inbox.Read(UserOf(w.chance.Skewed(run.size())), {.limit = kPage}).status();
       }},
      {"read and mark", 10, [&](Worker& w) { return MarkOne(run, inbox, &w.chance); }},
      {"count unread", 10,
       [&](Worker& w) { return inbox.UnreadCount(UserOf(w.chance.Skewed(run.size()))).status(); }},
  };
}

// How many messages each user has.
Result<std::string> Holdings(const DesignRun& run, const Inbox& inbox) {
  std::string all;
  for (int64_t i = 0; i < run.size(); ++i) {
    ASSIGN_OR_RETURN(int64_t count, CountPages([&](const patterns::PageRequest& request,
                                                   std::string* next) -> Result<size_t> {
                       ASSIGN_OR_RETURN(patterns::InboxPage page, inbox.Read(UserOf(i), request));
                       *next = page.next;
                       return page.messages.size();
                     }));
    all += std::to_string(count) + " ";
  }
  return all;
}

Status RunDesign(DesignRun* run, const Design& row) {
  Inbox inbox(run->client(), run->database(), {.design = row.design});
  RETURN_IF_ERROR(inbox.CreateIndexes());
  RETURN_IF_ERROR(
      run->Load("users", run->size(), [&](int64_t i) { return inbox.AddUser(UserOf(i)); }));
  RETURN_IF_ERROR(run->Load("messages", run->size() * kMessages, [&](int64_t i) {
    Chance chance(static_cast<uint64_t>(i) + 1);
    return SendOne(*run, inbox, &chance);
  }));
  RETURN_IF_ERROR(run->Work(Steps(*run, inbox)));
  RETURN_IF_ERROR(run->Explain("read page", row.collection, Doc(row.owner, UserOf(0)),
                               Doc(row.order, -1),
                               row.design == InboxDesign::kBuckets ? 2 : kPage + 1));
  ASSIGN_OR_RETURN(std::vector<std::string> wrong, inbox.CheckInvariants());
  run->Check("the invariants of the inbox", wrong);
  ASSIGN_OR_RETURN(std::string mine, Holdings(*run, inbox));
  run->CheckAlike("every user has as many messages as on read", mine);
  return Status::Ok();
}

}  // namespace

Status DemoInbox(DemoRun* run) { return run->Designs(kDesigns, RunDesign); }

}  // namespace quire::apps
