// SPDX-License-Identifier: Apache-2.0
//
// Inboxes in every design, for their tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "patterns/testing/places.h"
#include "quire/patterns/inbox.h"

namespace quire::patterns {

inline constexpr InboxDesign kInboxDesigns[] = {InboxDesign::kFanOutOnRead,
                                                InboxDesign::kFanOutOnWrite, InboxDesign::kBuckets};

inline Inbox InboxOf(World* world, InboxDesign design, const Seams& seams) {
  return Inbox(world->client, world->database, {.design = design, .seams = seams});
}
inline Inbox InboxOf(World* world, InboxDesign design) {
  return InboxOf(world, design, world->seams());
}

inline void AddUsers(World* world, InboxDesign design, const std::vector<std::string>& users) {
  Inbox inbox = InboxOf(world, design);
  ASSERT_TRUE(inbox.CreateIndexes().ok());
  for (const std::string& user : users) {
    ASSERT_TRUE(inbox.AddUser(user).ok());
  }
}

// The whole inbox, by pages of that size.
inline std::vector<InboxMessage> ReadAll(const Inbox& inbox, std::string_view user, int64_t limit) {
  std::vector<InboxMessage> all;
  PageRequest request{.limit = limit};
  do {
    auto page = inbox.Read(user, request);
    EXPECT_TRUE(page.ok()) << page.status().ToString();
    if (!page.ok()) {
      break;
    }
    EXPECT_LE(static_cast<int64_t>(page->messages.size()), limit);
    EXPECT_TRUE(page->next.empty() || static_cast<int64_t>(page->messages.size()) == limit);
    all.insert(all.end(), page->messages.begin(), page->messages.end());
    request.after = page->next;
  } while (!request.after.empty());
  return all;
}

inline std::vector<std::string> Texts(const std::vector<InboxMessage>& messages) {
  std::vector<std::string> texts;
  for (const InboxMessage& message : messages) {
    texts.push_back(message.from + ":" + message.text + (message.read ? "!" : ""));
  }
  return texts;
}

inline void ExpectSoundInbox(const Inbox& inbox) { ExpectNothingWrong(inbox.CheckInvariants()); }

inline void ResumeAll(World* world, InboxDesign design) {
  const Inbox inbox = InboxOf(world, design);
  RunUntilQuiet({[&] { return inbox.Resume(); }});
}

}  // namespace quire::patterns
