// SPDX-License-Identifier: Apache-2.0
//
// Messages to many readers: sent once however often the call is repeated, read newest first, marked
// and removed by each reader for himself.
#include "quire/patterns/inbox.h"

#include <iostream>

#include "quire/quire.h"

using quire::Status;
using quire::patterns::Inbox;

Status Run(const quire::Client& client) {
  Inbox inbox(client, "social", {.design = quire::patterns::InboxDesign::kBuckets});
  if (Status status = inbox.CreateIndexes(); !status.ok()) {
    return status;
  }
  for (const char* user : {"john", "mike", "billie"}) {
    if (Status status = inbox.AddUser(user); !status.ok()) {
      return status;
    }
  }
  auto hello = inbox.Send("john", {"mike", "billie", "mike"}, "hello", "form-17");
  auto again = inbox.Send("john", {"mike", "billie", "mike"}, "hello", "form-17");
  if (!hello.ok() || !again.ok()) {
    return hello.ok() ? again.status() : hello.status();
  }
  std::cout << (*hello == *again ? "one message" : "two messages") << "\n";
  auto lunch = inbox.Send("billie", {"mike"}, "lunch?");
  auto nobody = inbox.Send("billie", {"nobody"}, "lunch?");
  std::cout << quire::patterns::ErrorName(nobody.status()) << "\n";
  if (!lunch.ok()) {
    return lunch.status();
  }
  if (Status status = inbox.MarkRead("mike", *lunch); !status.ok()) {
    return status;
  }
  auto page = inbox.Read("mike", {.limit = 30});
  if (!page.ok()) {
    return page.status();
  }
  for (const auto& message : page->messages) {
    std::cout << message.from << ": " << message.text << (message.read ? "" : " (new)") << "\n";
  }
  auto unread = inbox.UnreadCount("billie");
  std::cout << "billie has " << *unread << " to read\n";
  return unread.status();
}

int main() {
  auto client = quire::OpenInMemory();
  Status status = client.ok() ? Run(*client) : client.status();
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
  }
  return status.ok() ? 0 : 1;
}
