// SPDX-License-Identifier: Apache-2.0
//
// Creating, reading, updating and deleting documents inside the process: people, an index, a page
// of a sorted query, and an error that the program decides by.
#include <iostream>

#include "quire/quire.h"

using quire::Doc;
using quire::List;
using quire::Status;

Status Run(const quire::Client& client) {
  quire::Collection people = client.GetDatabase("app").GetCollection("people");

  auto index = people.CreateIndex(Doc("email", 1), {.unique = true});
  if (!index.ok()) {
    return index.status();
  }
  auto added = people.InsertMany({
      Doc("_id", 1, "name", "Ada", "email", "ada@example.com", "age", 36, "langs",
          List("en", "fr")),
      Doc("_id", 2, "name", "Grace", "email", "grace@example.com", "age", 45),
      Doc("_id", 3, "name", "Edsger", "email", "ewd@example.com", "age", 72),
  });
  if (!added.ok()) {
    return added.status();
  }
  std::cout << "stored " << added->inserted << ", index " << *index << "\n";

  auto twice = people.InsertOne(Doc("name", "Also Ada", "email", "ada@example.com"));
  if (twice.status().code() == quire::kDuplicateKey) {
    std::cout << "ada@example.com is taken\n";
  }

  auto cursor = people.Find(
      Doc("age", Doc("$gt", 30)),
      {.projection = Doc("_id", 0, "name", 1, "age", 1), .sort = Doc("age", -1), .limit = 2});
  if (!cursor.ok()) {
    return cursor.status();
  }
  for (auto& person : *cursor) {
    std::cout << quire::bson::ToJson(person) << "\n";
  }
  if (!cursor->status().ok()) {  // the loop ended before the last document
    return cursor->status();
  }

  auto birthday =
      people.FindOneAndUpdate(Doc("name", "Ada"), Doc("$inc", Doc("age", 1)), {.return_new = true});
  if (!birthday.ok()) {
    return birthday.status();
  }
  if (*birthday) {
    std::cout << "Ada is " << (**birthday)["age"].AsInt32() << " now\n";
  }

  auto gone = people.DeleteMany(Doc("langs", Doc("$exists", false)));
  if (!gone.ok()) {
    return gone.status();
  }
  auto left = people.Count();
  std::cout << "removed " << *gone << ", " << *left << " left\n";
  return left.status();
}

int main(int argc, char** argv) {
  auto client = argc > 1 ? quire::Open(argv[1]) : quire::OpenInMemory();
  Status status = client.ok() ? Run(*client) : client.status();
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
  }
  return status.ok() ? 0 : 1;
}
