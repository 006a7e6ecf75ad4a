// SPDX-License-Identifier: Apache-2.0
//
// Two documents that change together or not at all: seats booked and paid for in one transaction,
// by several threads at once. What meets a conflict is run again by WithTransaction.
#include <iostream>
#include <thread>
#include <vector>

#include "quire/quire.h"

using quire::Doc;
using quire::Status;

constexpr int kSoldOut = 900001;  // a code of this program's own

// Books one seat for `who`. Error: kSoldOut; nothing has changed then.
Status Book(const quire::Client& client, const std::string& who) {
  quire::Database theatre = client.GetDatabase("theatre");
  quire::Collection shows = theatre.GetCollection("shows");
  quire::Collection tickets = theatre.GetCollection("tickets");
  auto session = client.StartSession();
  if (!session.ok()) {
    return session.status();
  }
  return session->WithTransaction([&]() -> Status {
    auto ticket = tickets.InsertOne(Doc("_id", who, "show", "hamlet"), {.session = &*session});
    if (!ticket.ok()) {
      return ticket.status();
    }
    auto seat = shows.UpdateOne(Doc("_id", "hamlet", "free", Doc("$gt", 0)),
                                Doc("$inc", Doc("free", -1)), {.session = &*session});
    if (!seat.ok()) {
      return seat.status();
    }
    return seat->matched == 1 ? Status::Ok() : Status(kSoldOut, "no seat is free");
  });
}

int main() {
  auto client = quire::OpenInMemory();
  if (!client.ok()) {
    std::cerr << client.status().ToString() << "\n";
    return 1;
  }
  quire::Database theatre = client->GetDatabase("theatre");
  auto shows = theatre.GetCollection("shows");
  if (!shows.InsertOne(Doc("_id", "hamlet", "free", 5)).ok() ||
      !theatre.CreateCollection("tickets").ok()) {
    return 1;
  }

  std::vector<Status> outcomes(8);
  std::vector<std::thread> customers;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    customers.emplace_back(
        [&, i] { outcomes[i] = Book(*client, "customer " + std::to_string(i)); });
  }
  for (std::thread& customer : customers) {
    customer.join();
  }
  int booked = 0;
  int refused = 0;
  for (const Status& outcome : outcomes) {
    booked += outcome.ok() ? 1 : 0;
    refused += outcome.code() == kSoldOut ? 1 : 0;
  }
  std::cout << booked << " booked, " << refused << " refused\n";
  std::cout << *theatre.GetCollection("tickets").Count() << " tickets\n";
  std::cout << quire::bson::ToJson(**shows.FindOne()) << "\n";
  return 0;
}
